/** The evidence of a run as files, so that it can be judged again: samples by themselves, for they are what is looked at. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SoakEvidence } from './soak-scenario.ts';

const SAMPLES_FILE = 'samples.json';
const COMMANDS_FILE = 'commands.json';

export async function writeEvidence(directory: string, evidence: SoakEvidence): Promise<void> {
  const { commands, contradictions, copied, effects, first, loadFailures, ...samples } = evidence;
  await writeFile(join(directory, SAMPLES_FILE), JSON.stringify(samples));
  await writeFile(
    join(directory, COMMANDS_FILE),
    JSON.stringify({
      commands: [...commands],
      copied: [...copied],
      first: [...first],
      contradictions,
      loadFailures,
      effects,
    }),
  );
}

/** @throws Error when the directory holds no whole run */
export async function readEvidence(directory: string): Promise<SoakEvidence> {
  type Listed = Pick<SoakEvidence, 'contradictions' | 'effects' | 'loadFailures'> & {
    commands: [string, NonNullable<ReturnType<SoakEvidence['commands']['get']>>][];
    copied: string[];
    first: [string, NonNullable<ReturnType<SoakEvidence['first']['get']>>][];
  };
  const read = async (name: string): Promise<unknown> => JSON.parse(await readFile(join(directory, name), 'utf8'));
  const samples = (await read(SAMPLES_FILE)) as Omit<SoakEvidence, keyof Listed>;
  const listed = (await read(COMMANDS_FILE)) as Listed;
  return {
    ...samples,
    ...listed,
    commands: new Map(listed.commands),
    copied: new Set(listed.copied),
    first: new Map(listed.first),
  };
}
