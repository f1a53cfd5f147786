/**
 * Random messages against the pure intake: `node proofs/fuzz/intake.ts [--inputs 1000000] [--seed 1] [--first 0]`.
 * Prints what they came to. Exit code 1 when one of them broke a promise; its number, with the seed, is the replay.
 */
import { parseArgs } from 'node:util';
import { fuzzIntake } from './intake-fuzz.ts';

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
    first: { type: 'string', default: '0' },
  },
});

const beganMs = performance.now();
const report = await fuzzIntake({
  seed: Number(values.seed),
  first: Number(values.first),
  inputs: Number(values.inputs),
});
for (const [outcome, count] of Object.entries(report.counts).sort()) console.log(`${outcome.padEnd(28)}${count}`);
console.log(`${report.inputs} inputs in ${Math.round((performance.now() - beganMs) / 1000)} s, seed ${values.seed}`);
for (const { input, problem } of report.wrong) console.log(`input ${input}: ${problem}`);
process.exitCode = report.wrong.length > 0 ? 1 : 0;
