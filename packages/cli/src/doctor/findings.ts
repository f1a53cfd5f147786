/** The finding of a check. Every problem names its remedy. */
import type { Config, SettingName } from 'payment-processor-contract/config';
import { readSomeSettings } from 'payment-processor-contract/config';
import { CliFailure } from '../exit-codes.ts';
import { failureOf } from '../failures.ts';

export type CheckName =
  | 'settings'
  | 'kafka'
  | 'topics'
  | 'rights'
  | 'registry'
  | 'schemas'
  | 'payment-service'
  | 'group'
  | 'lag'
  | 'holds'
  | 'unknown-results'
  | 'dead-letters'
  | 'processor';

export interface Finding {
  check: CheckName;
  status: 'ok' | 'problem' | 'not-checked';
  message: string;
}

/** One sentence of a check, about that check unless it names another. */
export type CheckMessage = Omit<Finding, 'check'> & Partial<Pick<Finding, 'check'>>;
export type CheckMessages = CheckMessage | readonly CheckMessage[];

export function ok(message: string): CheckMessage {
  return { status: 'ok', message };
}

export function problem(message: string): CheckMessage {
  return { status: 'problem', message };
}

export function notChecked(why: string): CheckMessage {
  return { status: 'not-checked', message: `because ${why}` };
}

/** Runs a check with its settings. A check that cannot run reports the reason, and the others continue. */
export async function withSettings<Name extends SettingName>(
  check: CheckName,
  names: readonly Name[],
  run: (settings: Pick<Config, Name>) => Promise<CheckMessages>,
): Promise<Finding[]> {
  const read = readSomeSettings(process.env, names);
  const said = read.ok
    ? await run(read.config).catch((error: unknown) => problem(failureText(error)))
    : notChecked(`of these settings: ${read.problems.join('; ')}`);
  return [said].flat().map((one) => ({ check, ...one }));
}

export function failureText(error: unknown): string {
  return (error instanceof CliFailure ? error : failureOf(error)).message;
}
