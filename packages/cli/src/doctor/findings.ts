/** What a check came to. Every problem says what to do. */
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

export function ok(check: CheckName, message: string): Finding {
  return { check, status: 'ok', message };
}

export function problem(check: CheckName, message: string): Finding {
  return { check, status: 'problem', message };
}

export function notChecked(check: CheckName, why: string): Finding {
  return { check, status: 'not-checked', message: `because ${why}` };
}

/** Runs a check with the settings that it needs; one that cannot be made tells why instead of ending the others. */
export async function withSettings<Name extends SettingName>(
  check: CheckName,
  names: readonly Name[],
  run: (settings: Pick<Config, Name>) => Promise<Finding[]>,
): Promise<Finding[]> {
  const read = readSomeSettings(process.env, names);
  if (!read.ok) return [notChecked(check, `of its settings: ${read.problems.join('; ')}`)];
  try {
    return await run(read.config);
  } catch (error) {
    return [problem(check, messageOf(error))];
  }
}

export function messageOf(error: unknown): string {
  return (error instanceof CliFailure ? error : failureOf(error)).message;
}
