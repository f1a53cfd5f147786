/**
 * Invariant I6 against malicious publishers: kinds of poison by name and drawn at random through a real Kafka, and random
 * messages against the pure intake. Several kinds are tried at a time. One that fails spoils its bench for them; the next ones
 * get another.
 */
import { afterAll, describe, expect, inject, test } from 'vitest';
import { fuzzIntake } from '../../proofs/fuzz/intake-fuzz.ts';
import { PoisonBench } from '../../proofs/fuzz/poison-bench.ts';
import { tryPoison } from '../../proofs/fuzz/poison-trial.ts';
import { randomKind } from '../../proofs/fuzz/random-kinds.ts';
import { POISON_KINDS } from '../support/poison.ts';
import { LANES } from '../support/stack.ts';

const TRIAL_MS_MAX = 90_000;
const INTAKE_MS_MAX = 300_000;
const SEED = 1;
const IS_ALL = process.env['POISON_KINDS'] === 'all';
const INTAKE_INPUTS = IS_ALL ? 100_000 : 1_500;
const RANDOM_KINDS = Array.from({ length: IS_ALL ? 500 : 50 }, (_, number) => randomKind(SEED, number));
/** Each kind is tried each night. For each change, each fourth: some of every family, in each of its variants. */
const KINDS = [...POISON_KINDS.filter((_, index) => IS_ALL || index % 4 === 0), ...RANDOM_KINDS];

/** Each but the last is spoilt; trials that began on it may still be under way. */
const benches: Promise<PoisonBench>[] = [];

async function soundBench(): Promise<PoisonBench> {
  const last = benches.at(-1);
  if (last !== undefined && !(await last).isSpoilt()) return last;
  // Others may have seen it at the same time.
  if (benches.at(-1) === last) {
    const kafkaBrokers = inject('kafkaBrokers');
    benches.push(PoisonBench.open({ kafkaBrokers, schemaRegistryUrl: inject('schemaRegistryUrl') }));
  }
  return soundBench();
}

afterAll(async () => {
  for (const bench of benches) await (await bench).close();
});

describe('what lies behind it is handled, and it comes to what it should', () => {
  test.concurrent.each(KINDS.map((kind, index) => ({ name: `${kind.input}: ${kind.name}`, kind, index })))(
    '$name',
    async ({ kind, index }) => {
      const { wrong, seen } = await tryPoison(await soundBench(), kind, index % LANES);
      expect(wrong, seen).toEqual([]);
    },
    TRIAL_MS_MAX,
  );
});

test(
  'the pure intake is total: random messages come to an outcome, and to the same one again',
  () => fuzzIntake({ seed: SEED, inputs: INTAKE_INPUTS }),
  INTAKE_MS_MAX,
);
