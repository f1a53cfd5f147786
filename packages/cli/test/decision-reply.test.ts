/** "Carried out" is said of the very decision alone: another's, however alike, ends in words that claim nothing. */
import { describe, expect, test } from 'vitest';
import { DecisionReplies, type DecidedResult } from '../src/decision-reply.ts';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { auditOf, decideByOperator, type OperatorOrder } from '../../../src/ledger/operator.ts';
import { aPolicy, entryAt, unknown } from '../../../test/ledger/entries.ts';

const TOPIC = 'decisions';
const ours: OperatorOrder = {
  id: 'event-1',
  decision: 'EXECUTED',
  expectedRevision: 1,
  transactionId: 'Transaction:5',
  operator: 'dana',
  reason: 'ticket 4711',
};

/** The result that the processor makes of a decision on an UNKNOWN of revision 1. */
function resultOf(order: OperatorOrder): DecidedResult {
  const reply = decideByOperator(unknown(entryAt('transfer-in')), order, 3_000, aPolicy());
  if (reply.kind !== 'decided' || reply.decision.kind !== 'finish') throw new Error('no result');
  const headers = order.id === null ? {} : { 'decision-id': order.id };
  return { kind: 'result', headers, value: reply.decision.result } as unknown as DecidedResult;
}

function letterAt(offset: bigint, changes: Record<string, string> = {}): TopicRecord {
  const place = { 'dlq-topic': TOPIC, 'dlq-partition': '4', 'dlq-offset': String(offset) };
  const headers = { ...place, 'dlq-reason': 'REFUSED_DECISION', 'dlq-message': 'revision 2', ...changes };
  return { key: Buffer.from('key-1'), headers } as unknown as TopicRecord;
}

const replies = (): DecisionReplies => new DecisionReplies(TOPIC, 'key-1', ours);

describe('the result of a decision', () => {
  test('is the one that names it, and says the same', () => {
    const result = resultOf(ours);
    expect(replies().takeResult(result)).toEqual({ kind: 'decided', result });
  });

  test.each<[string, Partial<OperatorOrder>]>([
    ['an equal decision in another message', { id: 'event-2' }],
    ['an equal decision without an id', { id: null }],
    ['the opposite, by the same name, with the same reason', { decision: 'NOT_EXECUTED', transactionId: null }],
    ['another transaction', { transactionId: 'Transaction:6' }],
    ['no transaction', { transactionId: null }],
    ['another operator', { operator: 'ada' }],
    ['an operator whose name ends alike', { operator: 'not by dana' }],
    ['another reason', { reason: 'ticket 4712' }],
  ])('is not that of %s', (_what, change) => {
    const result = resultOf({ ...ours, ...change });
    const waiting = replies();
    expect(waiting.takeResult(result)).toBeNull();
    // The refusal of ours may come later than any grace.
    waiting.published({ partition: 4, offset: 17n });
    expect(waiting.timeUp()).toEqual({ kind: 'no-reply', result });
    expect(waiting.takeLetter(letterAt(17n))).toMatchObject({ kind: 'refused', problem: 'revision 2' });
  });

  test('is not one of another revision', () => {
    const waiting = new DecisionReplies(TOPIC, 'key-1', { ...ours, expectedRevision: 2 });
    expect(waiting.takeResult(resultOf(ours))).toBeNull();
    expect(waiting.timeUp()).toEqual({ kind: 'no-reply', result: null });
  });

  test('is known by the decision on that revision, among earlier ones', () => {
    const result = resultOf(ours);
    result.value.warnings.unshift(auditOf({ ...ours, reason: 'earlier' }));
    expect(replies().takeResult(result)?.kind).toBe('decided');
  });
});

describe('the refusal of a decision', () => {
  test('is the dead letter of its place, also one that came before the place was known', () => {
    const early = replies();
    expect(early.takeLetter(letterAt(17n))).toBeNull();
    expect(early.published({ partition: 4, offset: 17n })).toMatchObject({ kind: 'refused' });
  });

  test.each<[string, TopicRecord]>([
    ['another offset', letterAt(18n)],
    ['another partition', letterAt(17n, { 'dlq-partition': '5' })],
    ['another topic', letterAt(17n, { 'dlq-topic': 'commands' })],
  ])('is not one of %s', (_what, letter) => {
    const waiting = replies();
    expect(waiting.takeLetter(letter)).toBeNull();
    expect(waiting.published({ partition: 4, offset: 17n })).toBeNull();
    expect(waiting.takeLetter(letter)).toBeNull();
  });
});
