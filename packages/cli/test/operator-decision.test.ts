/** "Carried out" is said of the very decision alone: another's, however alike, ends in words that claim nothing. */
import { describe, expect, test } from 'vitest';
import { isMadeBy, publishFailure, refusalIn, type DecidedResult } from '../src/operator-decision.ts';
import type { CommandType } from 'payment-processor-contract/commands';
import { PublishError } from 'payment-processor-client/internal/kafka/record-publisher';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { auditOf, decideByOperator, type OperatorOrder } from '../../../src/ledger/operator.ts';
import { aPolicy, entryAt, unknown } from '../../../test/ledger/entries.ts';

const PLACE = { topic: 'decisions', partition: 4, offset: 17n };
const ours: OperatorOrder = {
  id: 'event-1',
  decision: 'EXECUTED',
  expectedRevision: 1,
  transactionId: 'Transaction:5',
  operator: 'dana',
  reason: 'ticket 4711',
};

/** The result that the processor makes of a decision on an UNKNOWN of revision 1. */
function resultOf(order: OperatorOrder, type: CommandType = 'transfer-in'): DecidedResult {
  const reply = decideByOperator(unknown(entryAt(type)), order, 3_000, aPolicy());
  if (reply.kind !== 'decided' || reply.decision.kind !== 'finish') throw new Error('no result');
  const headers = order.id === null ? {} : { 'decision-id': order.id };
  return { kind: 'result', headers, value: reply.decision.result } as unknown as DecidedResult;
}

function letterAt(changes: Record<string, string> = {}): TopicRecord {
  const place = { 'dlq-topic': 'decisions', 'dlq-partition': '4', 'dlq-offset': '17' };
  const headers = { ...place, 'dlq-reason': 'REFUSED_DECISION', 'dlq-message': 'revision 2', ...changes };
  return { key: Buffer.from('key-1'), headers } as unknown as TopicRecord;
}

describe('the result of a decision', () => {
  test('is the one that names it, and says the same, among earlier ones', () => {
    const result = resultOf(ours);
    result.value.warnings.unshift(auditOf({ ...ours, reason: 'earlier' }));
    expect(isMadeBy(result, ours)).toBe(true);
    expect(isMadeBy(result, { ...ours, expectedRevision: 2 })).toBe(false);
  });

  test('names the transaction that the command is about, where the decision names none', () => {
    const unnamed = { ...ours, transactionId: null };
    const result = resultOf(unnamed, 'execute-quote');
    expect(result.value.transaction?.id).toBe('Transaction:1');
    expect(isMadeBy(result, unnamed)).toBe(true);
    expect(isMadeBy(result, ours)).toBe(false);
  });

  test.each<[string, Partial<OperatorOrder>]>([
    ['an equal decision in another message', { id: 'event-2' }],
    ['an equal decision without an id', { id: null }],
    ['the opposite, by the same name, with the same reason', { decision: 'NOT_EXECUTED', transactionId: null }],
    ['another transaction', { transactionId: 'Transaction:6' }],
    ['another operator', { operator: 'ada' }],
    ['an operator whose name ends alike', { operator: 'not by dana' }],
    ['another reason', { reason: 'ticket 4712' }],
  ])('is not that of %s', (_what, change) => {
    expect(isMadeBy(resultOf(ours), { ...ours, ...change })).toBe(false);
    expect(isMadeBy(resultOf({ ...ours, ...change }), ours)).toBe(false);
  });
});

describe('the refusal of a decision', () => {
  test('is the dead letter of its place', () => {
    const refused = { kind: 'refused', dlqReason: 'REFUSED_DECISION', problem: 'revision 2' };
    expect(refusalIn(letterAt(), PLACE)).toEqual(refused);
  });

  test.each([{ 'dlq-offset': '18' }, { 'dlq-partition': '5' }, { 'dlq-topic': 'commands' }])(
    'is not one of another place: %j',
    (change) => {
      expect(refusalIn(letterAt(change), PLACE)).toBeNull();
    },
  );
});

describe('a decision that Kafka did not confirm', () => {
  test('may be carried out, and is repeated for its revision alone', () => {
    const lost = new PublishError('NOT_CONFIRMED', 'publish it again with the same key', new Error('timed out'));
    const failure = publishFailure(lost, 'order-17', 2);
    expect(failure).toMatchObject({ reason: 'noResult' });
    expect(String(failure)).toContain('(timed out): it may still be carried out.');
    expect(String(failure)).toContain('with --expected-revision 2.');
  });

  test('is not one that Kafka refused', () => {
    const refused = new PublishError('NOT_WRITTEN', 'refused', new Error('not authorized'));
    expect(publishFailure(refused, 'order-17', 2)).toBe(refused);
  });
});
