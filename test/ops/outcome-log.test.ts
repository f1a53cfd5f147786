/** The log has one line for each command that someone may ask about, without its key, and none for those that went well. */
import pino from 'pino';
import { expect, test } from 'vitest';
import type { LaneReports } from '../../src/lanes/reports.ts';
import { keyHash } from 'payment-processor-contract/key-hash';
import { withOutcomeLog } from '../../src/ops/outcome-log.ts';
import { resultOf } from '../../packages/client/test/fixtures.ts';
import { A_LETTER } from './fake-processor.ts';

function logged(tell: (reports: LaneReports) => void): { lines: Record<string, unknown>[]; passedOn: string[] } {
  const [lines, passedOn]: [Record<string, unknown>[], string[]] = [[], []];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
  const names = ['deadLettered', 'decided', 'failed', 'quoteExpired', 'resulted'];
  const metrics = Object.fromEntries(names.map((name) => [name, () => passedOn.push(name)])) as unknown as LaneReports;
  tell(withOutcomeLog(metrics, log));
  return { lines, passedOn };
}

test('UNKNOWN and FAILED results, with the hash of the key', () => {
  const { lines, passedOn } = logged((reports) => {
    for (const outcome of ['ACCEPTED', 'REFUSED', 'INVALID', 'EXPIRED', 'UNKNOWN', 'FAILED'])
      reports.resulted(2, resultOf('jane-doe-17', { outcome }));
  });
  expect(passedOn).toHaveLength(6);
  expect(lines.map(({ outcome }) => outcome)).toEqual(['UNKNOWN', 'FAILED']);
  expect(lines[0]).toMatchObject({ event: 'result', lane: 2, keyHash: keyHash('jane-doe-17'), revision: 1 });
  const { source } = resultOf('jane-doe-17', {});
  expect(lines[0]).toMatchObject({
    level: 30,
    topic: source.topic,
    partition: source.partition,
    offset: String(source.offset),
  });
  expect(JSON.stringify(lines)).not.toContain('jane-doe');
});

test('a dead letter with its offset, and a whole batch with its last offset', () => {
  const where = { topic: 'commands', partition: 1, offset: 7n, lastOffset: 12n };
  const letter = { ...A_LETTER, ...where, reason: 'UNREADABLE_BATCH', message: 'what was published' } as const;
  const { lines } = logged((reports) => reports.deadLettered(1, letter));
  const place = { topic: 'commands', partition: 1, offset: '7', lastOffset: '12' };
  expect(lines).toMatchObject([{ event: 'dead-letter', lane: 1, keyHash: null, reason: 'UNREADABLE_BATCH', ...place }]);
  expect(JSON.stringify(lines)).not.toContain('what was published');
});

test("an operator's decision, with the hash of the key and without the reason, which may name a customer", () => {
  const decision = {
    decision: 'RETRY',
    expectedRevision: 1,
    transactionId: null,
    operator: 'ada',
    reason: 'asked Jane',
  };
  const { lines } = logged((reports) => reports.decided(0, 'jane-doe-17', decision, true, 9n));
  expect(lines).toMatchObject([
    { level: 30, event: 'operator-decision', keyHash: keyHash('jane-doe-17'), decision: 'RETRY', offset: '9' },
  ]);
  expect(JSON.stringify(lines)).not.toContain('Jane');
});
