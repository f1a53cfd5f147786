/**
 * The proof by endurance: `npm run soak -- --minutes 60 --rate 130 [--output DIRECTORY]`, or
 * `npm run soak -- --judge DIRECTORY` to judge again what a run has written there.
 *
 * Kafka, the registry and the sandbox run on this machine. Exit code 0 when every command had its one result and nothing
 * grew; 1 with what was wrong; 2 for wrong arguments. The directory gets samples, commands, logs, table and curves.
 */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startEngine } from '../../dev/engine/start.ts';
import { TRANSACTIONS_MAX } from '../../dev/sandbox/state.ts';
import { Endings } from '../gameday/endings.ts';
import { curvesOf } from './curves.ts';
import { readEvidence, writeEvidence } from './evidence-file.ts';
import { judgeSoak } from './soak-judgement.ts';
import { textOf } from './soak-report.ts';
import { runSoak, type SoakEvidence } from './soak-scenario.ts';

const EXIT_CODE_ARGUMENTS = 2;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '130' },
    output: { type: 'string' },
    judge: { type: 'string' },
  },
});
const onProgress = (line: string): void => console.error(`${new Date().toISOString()} ${line}`);

function refuse(problem: string): never {
  console.error(problem);
  process.exit(EXIT_CODE_ARGUMENTS);
}

function numberOf(text: string, name: string): number {
  const value = Number(text);
  return value > 0 ? value : refuse(`--${name} ${text} is not a number above 0`);
}

async function run(directory: string): Promise<SoakEvidence> {
  const minutes = numberOf(values.minutes, 'minutes');
  const commandsPerSecond = numberOf(values.rate, 'rate');
  if (minutes * 60 * commandsPerSecond > TRANSACTIONS_MAX)
    refuse(`the sandbox holds ${TRANSACTIONS_MAX} transactions: fewer minutes or a lower rate`);
  const endings = new Endings(onProgress);
  const engine = await startEngine({ onProgress });
  endings.add(() => engine.stop());
  try {
    const evidence = await runSoak({ engine, directory, minutes, commandsPerSecond, onProgress });
    await writeEvidence(directory, evidence);
    return evidence;
  } finally {
    await endings.endAll();
  }
}

const directory = resolve(values.judge ?? values.output ?? (await mkdtemp(join(tmpdir(), 'payment-soak-'))));
await mkdir(directory, { recursive: true });
const evidence = values.judge === undefined ? await run(directory) : await readEvidence(directory);
const judgement = judgeSoak(evidence);
const table = textOf(evidence, judgement);
await writeFile(join(directory, 'table.txt'), `${table}\n`);
await writeFile(join(directory, 'curves.svg'), curvesOf(evidence));
console.log(table);
onProgress(`samples, commands, logs, table and curves are in ${directory}`);
process.exitCode = judgement.wrong.length > 0 ? 1 : 0;
