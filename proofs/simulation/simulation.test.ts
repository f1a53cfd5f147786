/** What histories promise: all promises held in a number of them, and the same again for the same seed. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { directChecks } from './direct-checks.ts';
import { runHistory } from './history.ts';
import { MUTATIONS, placesOf } from './mutations.ts';

const HISTORIES = 10;
const EVERY = { kind: 'drawn', without: [] } as const;
/** Enough for the protection below to be missed several times over. */
const HISTORIES_TO_TELL = 120;
/** Of a machine that is busy otherwise. */
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

test('protections that no history reaches hold', async () => {
  const wrong: string[] = [];
  for await (const found of directChecks()) wrong.push(found);
  expect(wrong).toEqual([]);
});

describe('without one protection of the source', () => {
  const [inbox] = MUTATIONS;
  test.each(MUTATIONS)('the source still has the place: $name', (mutation) => {
    expect(placesOf(mutation)).toHaveLength(1);
  });
  test(
    `histories tell that ${inbox?.name}`,
    async () => {
      const given = [
        '--mutations',
        '--mutation',
        inbox?.name ?? '',
        '--histories',
        String(HISTORIES_TO_TELL),
        '--json',
      ];
      const rows = JSON.parse(await outputOf(given)) as { mutation: string; wrong: string }[];
      expect(rows.map(({ mutation }) => mutation)).toEqual([inbox?.name]);
      expect(rows[0]?.wrong).not.toBe('');
    },
    TEST_MS_MAX,
  );
});

function outputOf(given: readonly string[]): Promise<string> {
  const script = fileURLToPath(new URL('simulate.ts', import.meta.url));
  return new Promise((resolve) => {
    // Its exit code says that promises were broken.
    execFile(process.execPath, [script, ...given], { maxBuffer: 16 * 1024 * 1024 }, (_error, stdout) =>
      resolve(stdout),
    );
  });
}
