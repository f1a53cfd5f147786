/**
 * The proof by chaos: `npm run chaos -- [--scene NAME] [--minutes N] [--seed N] ...`. Kafka, the registry and the sandbox run
 * on this machine. Exit code 0 when every promise held; 1 with what was wrong, and where the logs are; 2 for wrong arguments.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEngine } from 'payment-processor-local-kafka/start';
import { parseArguments } from 'payment-processor-local-kafka/command-line';
import { isCommandType } from 'payment-processor-contract/commands';
import { Endings } from '../gameday/endings.ts';
import { CHAOS_TYPES, type ChaosType } from './chaos-commands.ts';
import { textOf } from './chaos-report.ts';
import { SCENES } from './scenes.ts';

const SEEDS = 100_000;
const MINUTE_MS = 60_000;

const USAGE = `Usage: npm run chaos -- [options]

  --scene NAME                    (default: all)
${Object.entries(SCENES)
  .map(
    ([name, { about, minutes }]) => `      ${name.padEnd(14)}${about}${minutes === null ? '' : `; ${minutes} min`}\n`,
  )
  .join('')}
  --minutes N, --seed N, --commands-per-second N, --processors N
  --types A,B, --honour-keys A,B  of the commands (default: all, transfer-in)
  --poison-every 30s              bad messages among the commands
  --coordinator-outage-every 3m   the coordinator of transactions is lost for a minute
  --only A,B                      outages by parts of their names
  --keep-logs
  --json                          the figures as JSON
`;

/** Null: help was requested. */
function parse(words: string[]) {
  const { values } = parseArgs({
    args: words,
    options: {
      help: { type: 'boolean', default: false },
      scene: { type: 'string', default: 'all' },
      minutes: { type: 'string' },
      seed: { type: 'string', default: String(Date.now() % SEEDS) },
      'honour-keys': { type: 'string', default: 'transfer-in' },
      'commands-per-second': { type: 'string' },
      processors: { type: 'string', default: '2' },
      types: { type: 'string', default: CHAOS_TYPES.join(',') },
      'poison-every': { type: 'string' },
      'coordinator-outage-every': { type: 'string' },
      only: { type: 'string', default: '' },
      'keep-logs': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const scene = SCENES[values.scene];
  if (scene === undefined) throw new Error(`there is no scene ${values.scene}`);
  const perSecond = String(scene.commandsPerSecond ?? 20);
  return {
    scene,
    minutes: numberOf('minutes', values.minutes ?? String(scene.minutes ?? 1)),
    seed: numberOf('seed', values.seed),
    commandsPerSecond: numberOf('commands-per-second', values['commands-per-second'] ?? perSecond),
    processors: numberOf('processors', values.processors),
    honourKeys: listOf(values['honour-keys'], isCommandType),
    types: listOf(values.types, (name): name is ChaosType => (CHAOS_TYPES as readonly string[]).includes(name)),
    poisonEveryMs: durationMsOf('poison-every', values['poison-every']) ?? null,
    coordinatorEveryMs: durationMsOf('coordinator-outage-every', values['coordinator-outage-every']) ?? Infinity,
    only: listOf(values.only, (name): name is string => name !== ''),
    keepsLogs: values['keep-logs'],
    isJson: values.json,
  };
}

function listOf<Name extends string>(text: string, isName: (name: string) => name is Name): Name[] {
  const names = text.split(',').filter((name) => name !== '');
  return names.map((name) => {
    if (isName(name)) return name;
    throw new Error(`${name} is not one of those that can be named here`);
  });
}

function numberOf(name: string, text: string): number {
  if (Number(text) > 0) return Number(text);
  throw new Error(`--${name} ${text} is not a number above 0`);
}

function durationMsOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit] = /^(\d+)(s|m)$/.exec(text) ?? [];
  if (Number(amount) > 0) return Number(amount) * (unit === 's' ? 1_000 : MINUTE_MS);
  throw new Error(`--${name} ${text} is not a time such as 30s or 2m`);
}

const options = parseArguments(USAGE, parse);
const { scene } = options;
const onProgress = (line: string): void => console.error(line);
const endings = new Endings(onProgress);
const directory = await mkdtemp(join(tmpdir(), 'payment-chaos-'));
const engine = await startEngine({ brokers: scene.brokers, directory: join(directory, 'engine'), onProgress });
endings.add(() => engine.stop());
let hasFailed = true;
try {
  const { brokers: kafkaBrokers, registryUrl: schemaRegistryUrl } = engine;
  const report = await scene.run({ engine, kafkaBrokers, schemaRegistryUrl, directory, onProgress }, options);
  hasFailed = report.wrong.length > 0;
  await writeFile(join(directory, 'report.json'), JSON.stringify(report, null, 2));
  console.log(options.isJson ? JSON.stringify(report, null, 2) : textOf(report));
} finally {
  await endings.endAll();
  if (hasFailed || options.keepsLogs) console.error(`seed ${options.seed}; logs and report are in ${directory}`);
  else await rm(directory, { recursive: true, force: true });
  process.exitCode = hasFailed ? 1 : 0;
}
