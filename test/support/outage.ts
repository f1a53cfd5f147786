/** What tests of outages await: the reason while one lasts, and the results once it is over. */
import { expect } from 'vitest';
import { eventually } from './watch.ts';
import type { TestProcessor, TestStack } from './with-stack.ts';

/** @returns once readiness gives such a reason */
export async function reasonsOf(processor: Pick<TestProcessor, 'readiness'>, pattern: RegExp): Promise<void> {
  await eventually(
    () => processor.readiness(),
    ({ ready, reasons }) => !ready && reasons.some((reason) => pattern.test(reason)),
    `readiness to say ${String(pattern)}`,
  );
}

/** Each command is answered once, ACCEPTED, and nothing is buried. */
export async function allAccepted({ journal }: Pick<TestStack, 'journal'>, keys: readonly string[]): Promise<void> {
  const results = await journal.resultsOfAll(keys);
  expect(results.map(({ key, value }) => [key, value.outcome])).toEqual(keys.map((key) => [key, 'ACCEPTED']));
  for (const key of keys) expect(journal.results(key)).toHaveLength(1);
  expect(journal.deadLetters()).toEqual([]);
}
