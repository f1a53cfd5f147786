/**
 * Random messages against the pure intake: `node proofs/fuzz/intake.ts [--inputs 1000000] [--seed 1] [--first 0]`.
 * Prints what they came to. Exit code 1 when one of them broke a promise; its number, with the seed, is the replay.
 */
import { parseArgs } from 'node:util';
import { fuzzIntake } from './intake-fuzz.ts';

/** As many at a time, with a line of progress after each. */
const SLICE = 50_000;

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
    first: { type: 'string', default: '0' },
  },
});

const seed = Number(values.seed);
const first = Number(values.first);
const end = first + Number(values.inputs);
const counts = new Map<string, number>();
const wrong: string[] = [];
const beganMs = performance.now();
const seconds = (): number => Math.round((performance.now() - beganMs) / 1000);

for (let from = first; from < end; from += SLICE) {
  const report = await fuzzIntake({ seed, first: from, inputs: Math.min(SLICE, end - from) });
  for (const [outcome, count] of Object.entries(report.counts)) {
    counts.set(outcome, (counts.get(outcome) ?? 0) + count);
  }
  wrong.push(...report.wrong.map(({ input, problem }) => `input ${input}: ${problem}`));
  console.error(`${from + report.inputs - first} inputs after ${seconds()} s, ${wrong.length} wrong`);
}
for (const [outcome, count] of [...counts].sort()) console.log(`${outcome.padEnd(28)}${count}`);
console.log(`${end - first} inputs in ${seconds()} s, seed ${seed}`);
for (const problem of wrong) console.log(problem);
process.exitCode = wrong.length > 0 ? 1 : 0;
