/** What histories promise: several keep all promises, and the same seed gives the same history. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runHistory } from './history.ts';
import { MUTATIONS, placesOf, ROOT } from './mutations.ts';

/** CI runs a thousand, and removes each protection in turn: `.ci/run`. */
const HISTORIES = 3;
const EVERY = { kind: 'drawn', without: [] } as const;
/** For a machine that is busy with other work. */
const TEST_MS_MAX = 240_000;

test(
  `${HISTORIES} histories of crashes, frozen processes and lost answers keep every promise`,
  async () => {
    const wrong: string[] = [];
    for (let seed = 1; seed <= HISTORIES; seed += 1) {
      const report = await runHistory({ seed, choice: EVERY });
      for (const line of report.wrong) wrong.push(`seed ${seed} (npm run simulate -- --one ${seed} --trace): ${line}`);
    }
    expect(wrong).toEqual([]);
  },
  TEST_MS_MAX,
);

test(
  'a seed is the same history every time, whatever ran before it',
  async () => {
    const first = await runHistory({ seed: 5, choice: EVERY });
    await runHistory({ seed: 6, choice: EVERY });
    expect(await runHistory({ seed: 5, choice: EVERY })).toEqual(first);
  },
  TEST_MS_MAX,
);

test.each(MUTATIONS)('the source still has the place of a protection: $name', (mutation) => {
  expect(placesOf(mutation)).toHaveLength(1);
  if (mutation.toldBy !== undefined) expect(existsSync(new URL(`${mutation.toldBy}.test.ts`, ROOT))).toBe(true);
});
