/**
 * The proof by chaos: `npm run chaos -- --minutes 20 --seed 7 --honour-keys transfer-in [--commands-per-second 20]
 * [--processors 2] [--types transfer-in,...] [--poison-every 30s] [--coordinator-outage-every 3m] [--json] [--keep-logs]`.
 *
 * Three real brokers, the registry and the sandbox on this machine. Exit code 0 when every promise held; 1 with what was
 * wrong, and where the logs are; 2 for wrong arguments.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEngine } from '../../dev/engine/start.ts';
import { isCommandType, type CommandType } from '../../src/records/commands.ts';
import { Endings } from '../gameday/endings.ts';
import { CHAOS_TYPES, type ChaosType } from './chaos-commands.ts';
import { judgeChaos } from './chaos-judgement.ts';
import { reportOf, textOf, type RunNames } from './chaos-report.ts';
import { runChaos } from './chaos-scenario.ts';

const EXIT_CODE_ARGUMENTS = 2;
const SEEDS = 100_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string', default: String(Date.now() % SEEDS) },
    'honour-keys': { type: 'string', default: 'transfer-in' },
    'commands-per-second': { type: 'string', default: '20' },
    processors: { type: 'string', default: '2' },
    types: { type: 'string', default: CHAOS_TYPES.join(',') },
    'poison-every': { type: 'string' },
    'coordinator-outage-every': { type: 'string' },
    json: { type: 'boolean', default: false },
    'keep-logs': { type: 'boolean', default: false },
  },
});

function listOf<Name extends string>(text: string, isName: (name: string) => name is Name): Name[] {
  return text
    .split(',')
    .filter((name) => name !== '')
    .map((name) => {
      if (isName(name)) return name;
      console.error(`${name} is not one of those that can be named here`);
      process.exit(EXIT_CODE_ARGUMENTS);
    });
}

function numberOf(text: string, name: string): number {
  const value = Number(text);
  if (value > 0) return value;
  console.error(`--${name} ${text} is not a number above 0`);
  process.exit(EXIT_CODE_ARGUMENTS);
}

function durationMsOf(text: string, name: string): number {
  const [, amount, unit] = /^(\d+)(s|m)$/.exec(text) ?? [];
  if (Number(amount) > 0) return Number(amount) * (unit === 's' ? SECOND_MS : MINUTE_MS);
  console.error(`--${name} ${text} is not a time such as 30s or 2m`);
  process.exit(EXIT_CODE_ARGUMENTS);
}

const run: RunNames = {
  seed: Number(values.seed),
  minutes: numberOf(values.minutes, 'minutes'),
  commandsPerSecond: numberOf(values['commands-per-second'], 'commands-per-second'),
};
const processors = numberOf(values.processors, 'processors');
const honourKeys: CommandType[] = listOf(values['honour-keys'], isCommandType);
const types = listOf(values.types, (name): name is ChaosType => (CHAOS_TYPES as readonly string[]).includes(name));
const poisonEvery = values['poison-every'];
const poisonEveryMs = poisonEvery === undefined ? null : durationMsOf(poisonEvery, 'poison-every');
const coordinatorEvery = values['coordinator-outage-every'];
const coordinatorEveryMs =
  coordinatorEvery === undefined ? Infinity : durationMsOf(coordinatorEvery, 'coordinator-outage-every');
const onProgress = (line: string): void => console.error(line);

const endings = new Endings(onProgress);
const directory = await mkdtemp(join(tmpdir(), 'payment-chaos-'));
const engine = await startEngine({ brokers: 3, directory: join(directory, 'engine'), onProgress });
endings.add(() => engine.stop());
let hasFailed = true;
try {
  const evidence = await runChaos({
    ...run,
    engine,
    directory,
    processors,
    honourKeys,
    types,
    poisonEveryMs,
    coordinatorEveryMs,
    onProgress,
  });
  const judgement = judgeChaos(evidence);
  const report = reportOf(run, evidence, judgement);
  hasFailed = judgement.wrong.length > 0;
  await writeFile(join(directory, 'report.json'), JSON.stringify(report, null, 2));
  console.log(values.json ? JSON.stringify(report, null, 2) : textOf(report));
} finally {
  await endings.endAll();
  if (hasFailed || values['keep-logs']) console.error(`seed ${run.seed}; logs and report are in ${directory}`);
  else await rm(directory, { recursive: true, force: true });
  process.exitCode = hasFailed ? 1 : 0;
}
