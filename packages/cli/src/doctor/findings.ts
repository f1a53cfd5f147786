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
export type Said = Omit<Finding, 'check'> & Partial<Pick<Finding, 'check'>>;
export type Says = Said | readonly Said[];

export function ok(message: string): Said {
  return { status: 'ok', message };
}

export function problem(message: string): Said {
  return { status: 'problem', message };
}

export function notChecked(why: string): Said {
  return { status: 'not-checked', message: `because ${why}` };
}

/** Runs a check with its settings. A check that cannot run reports the reason, and the others continue. */
export async function withSettings<Name extends SettingName>(
  check: CheckName,
  names: readonly Name[],
  run: (settings: Pick<Config, Name>) => Promise<Says>,
): Promise<Finding[]> {
  const read = readSomeSettings(process.env, names);
  const said = read.ok
    ? await run(read.config).catch((error: unknown) => problem(messageOf(error)))
    : notChecked(`of its settings: ${read.problems.join('; ')}`);
  return [said].flat().map((one) => ({ check, ...one }));
}

export function messageOf(error: unknown): string {
  return (error instanceof CliFailure ? error : failureOf(error)).message;
}
