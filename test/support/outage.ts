/** What outage tests wait for: a readiness reason during the outage, and the results afterwards. */
import { expect } from 'vitest';
import { eventually } from './watch.ts';
import type { TestProcessor, TestStack } from './with-stack.ts';

/** Waits until readiness gives a reason that matches. */
export async function reasonsOf(processor: Pick<TestProcessor, 'readiness'>, pattern: RegExp): Promise<void> {
  await eventually(
    () => processor.readiness(),
    ({ ready, reasons }) => !ready && reasons.some((reason) => pattern.test(reason)),
    `readiness to say ${String(pattern)}`,
  );
}

/** Expects one ACCEPTED result per command, and no dead letters. */
export async function allAccepted({ journal }: Pick<TestStack, 'journal'>, keys: readonly string[]): Promise<void> {
  const results = await journal.resultsOfAll(keys);
  expect(results.map(({ key, value }) => [key, value.outcome])).toEqual(keys.map((key) => [key, 'ACCEPTED']));
  for (const key of keys) expect(journal.results(key)).toHaveLength(1);
  expect(journal.deadLetters()).toEqual([]);
}
