/**
 * Poison through a real Kafka: `npm run fuzz -- [--minutes 10] [--seed 1]` mixes it at random; `npm run fuzz -- --kinds
 * [--only text]` tries each kind of the kit, as the tests do, and prints what each came to.
 *
 * TEST_KAFKA_BROKERS and TEST_SCHEMA_REGISTRY_URL name a Kafka and a registry that run; without them both are started.
 * Exit code 1 when a promise was broken.
 */
import { parseArgs } from 'node:util';
import { startEngine } from '../../dev/engine/start.ts';
import { Draws } from '../simulation/draws.ts';
import { POISON_KINDS } from '../../test/support/poison.ts';
import { LANES } from '../../test/support/stack.ts';
import { fuzzMixture } from './mixture.ts';
import { PoisonBench, type BenchOptions } from './poison-bench.ts';
import { tryPoison } from './poison-trial.ts';

const MINUTE_MS = 60_000;
const MEBIBYTE = 1024 * 1024;
/** Rounds of one processor; then another on new topics, for what was read is kept to the end. */
const ROUNDS_PER_BENCH = 500;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    kinds: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
});

const brokers = process.env['TEST_KAFKA_BROKERS'];
const registryUrl = process.env['TEST_SCHEMA_REGISTRY_URL'];
const engine =
  brokers === undefined || registryUrl === undefined
    ? await startEngine({ onProgress: (line) => console.error(line) })
    : null;
const options: BenchOptions = {
  kafkaBrokers: engine?.brokers ?? brokers?.split(',') ?? [],
  schemaRegistryUrl: engine?.registryUrl ?? registryUrl ?? '',
};
try {
  const isSound = values.kinds ? await tryKinds() : await fuzz();
  process.exitCode = isSound ? 0 : 1;
} finally {
  await engine?.stop();
}

async function tryKinds(): Promise<boolean> {
  let bench: PoisonBench | null = null;
  let failed = 0;
  const kinds = POISON_KINDS.filter(({ name }) => name.includes(values.only));
  for (const [index, kind] of kinds.entries()) {
    bench ??= await PoisonBench.open(options);
    const { wrong, seen } = await tryPoison(bench, kind, index % LANES);
    console.log(`${wrong.length === 0 ? 'ok   ' : 'WRONG'} ${kind.input}: ${kind.name} (${seen})`);
    for (const problem of wrong) console.log(`        ${problem}`);
    if (wrong.length > 0) failed += 1;
    if (bench.isSpoilt()) {
      await bench.close();
      bench = null;
    }
  }
  await bench?.close();
  console.log(`${kinds.length} kinds, ${failed} wrong`);
  return failed === 0;
}

async function fuzz(): Promise<boolean> {
  const untilMs = performance.now() + Number(values.minutes) * MINUTE_MS;
  const totals: Record<'taken' | 'refused' | 'outcomes', Record<string, number>> = {
    taken: {},
    refused: {},
    outcomes: {},
  };
  let rounds = 0;
  let residentBytesMax = 0;
  let wrong: string[] = [];
  for (let turn = 0; performance.now() < untilMs && wrong.length === 0; turn += 1) {
    const bench = await PoisonBench.open(options);
    try {
      let roundsLeft = ROUNDS_PER_BENCH;
      const report = await fuzzMixture(bench, new Draws(Number(values.seed), `turn ${turn}`), () => {
        roundsLeft -= 1;
        return roundsLeft < 0 || performance.now() > untilMs;
      });
      for (const part of ['taken', 'refused', 'outcomes'] as const) {
        for (const [name, count] of Object.entries(report[part])) {
          totals[part][name] = (totals[part][name] ?? 0) + count;
        }
      }
      rounds += report.rounds;
      residentBytesMax = Math.max(residentBytesMax, report.residentBytesMax);
      wrong = report.wrong;
      if (wrong.length > 0) console.log(bench.stack.logs());
    } finally {
      await bench.close();
    }
  }
  console.log(JSON.stringify({ seed: values.seed, rounds, ...totals }, null, 2));
  console.log(`${Math.round(residentBytesMax / MEBIBYTE)} MiB at most; ${wrong.length} wrong`);
  for (const problem of wrong) console.log(`  ${problem}`);
  return wrong.length === 0;
}
