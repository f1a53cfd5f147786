/** Poison alone, for a while: random messages against the pure intake, then random mixtures through a real Kafka. */
import { inWords, type SceneReport } from '../chaos/chaos-report.ts';
import type { Place } from '../chaos/rig.ts';
import { Draws } from '../simulation/draws.ts';
import { fuzzIntake } from './intake-fuzz.ts';
import { fuzzMixture } from './mixture.ts';
import { PoisonBench } from './poison-bench.ts';

const MINUTE_MS = 60_000;
const MEBIBYTE = 1024 * 1024;
const INTAKE_INPUTS_PER_MINUTE = 100_000;
/** Rounds of one processor; then another on new topics, because everything read is kept to the end. */
const ROUNDS_PER_BENCH = 500;

export async function runPoison(
  place: Place,
  { minutes, seed }: { minutes: number; seed: number },
): Promise<SceneReport> {
  const intake = await fuzzIntake({ seed, first: 0, inputs: minutes * INTAKE_INPUTS_PER_MINUTE });
  place.onProgress(`${intake.inputs} random messages are read`);
  const untilMs = performance.now() + minutes * MINUTE_MS;
  const totals = { taken: {}, refused: {}, outcomes: {} } as Record<string, Record<string, number>>;
  const wrong = intake.wrong.map(({ input, problem }) => `intake, input ${input}: ${problem}`);
  let rounds = 0;
  let residentBytesMax = 0;
  for (let turn = 0; performance.now() < untilMs && wrong.length === 0; turn += 1) {
    const bench = await PoisonBench.open(place);
    try {
      let roundsLeft = ROUNDS_PER_BENCH;
      const report = await fuzzMixture(bench, new Draws(seed, `turn ${turn}`), () => {
        roundsLeft -= 1;
        return roundsLeft < 0 || performance.now() > untilMs;
      });
      for (const [part, counts] of Object.entries(totals))
        for (const [name, count] of Object.entries(report[part as 'taken' | 'refused' | 'outcomes']))
          counts[name] = (counts[name] ?? 0) + count;
      rounds += report.rounds;
      residentBytesMax = Math.max(residentBytesMax, report.residentBytesMax);
      wrong.push(...report.wrong);
      if (report.wrong.length > 0) place.onProgress(bench.stack.logs());
    } finally {
      await bench.close();
    }
  }
  return {
    rows: [
      ['intake', `${intake.inputs} messages, seed ${seed}`],
      ['came to', inWords(intake.counts)],
      ['rounds', String(rounds)],
      ...Object.entries(totals).map(([part, counts]) => [part, inWords(counts)] as const),
      ['memory', `${Math.round(residentBytesMax / MEBIBYTE)} MiB at most`],
    ],
    wrong,
  };
}
