/** An operator's decision on a result makes the next revision, once and for good; one that does not fit is refused and seen. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { OperatorDecision } from 'payment-processor-contract/types';
import { transferInOf } from '../support/commands.ts';
import type { ResultEvent } from '../support/journal.ts';
import { eventually } from '../support/watch.ts';
import { stackTests } from '../support/with-stack.ts';
import { unknownTransfer } from '../support/lost-answer.ts';

// The service does not honour the key of a transfer-in: without a clear answer only an operator can tell.
const { stack, test } = stackTests({
  name: 'decisions',
  sandbox: { honourKeys: [] },
  settings: { API_IDEMPOTENT_OPERATIONS: '', API_TIMEOUT_MS: '5000' },
});

/** @returns the decision's own mark, which a dead letter of it carries */
async function decide(key: string, decision: Partial<OperatorDecision>): Promise<string> {
  const whole = {
    decision: '',
    expectedRevision: 1,
    transactionId: null,
    operator: 'ada',
    reason: 'looked up',
    ...decision,
  };
  const mark = randomUUID();
  await stack().publishDecision(key, whole, { ce_id: mark });
  return mark;
}

async function expectRefused(key: string, decision: Partial<OperatorDecision>, why: RegExp): Promise<void> {
  const before = stack().journal.results(key).length;
  const mark = await decide(key, decision);
  const letter = await stack().journal.deadLetter(
    (record) => record.headers['ce_id'] === mark,
    `of a decision on ${key}`,
  );
  expect(letter.headers).toMatchObject({
    'dlq-reason': 'REFUSED_DECISION',
    'dlq-topic': stack().topics.operatorDecisions,
    'dlq-message': expect.stringMatching(why) as string,
  });
  expect(stack().journal.results(key)).toHaveLength(before);
}

function revision(key: string, number: number): Promise<ResultEvent> {
  const { journal } = stack();
  const isIt = ({ value }: ResultEvent): boolean => value.revision === number;
  return journal.found(() => journal.results(key).find(isIt), `revision ${number} of ${key}`);
}

async function notExecuted(key: string, expectedRevision: number): Promise<void> {
  await decide(key, { decision: 'NOT_EXECUTED', expectedRevision });
  expect((await revision(key, expectedRevision + 1)).value).toMatchObject({
    outcome: 'EXPIRED',
    settledBy: 'OPERATOR',
  });
}

async function effectsOf(key: string): Promise<number> {
  return (await stack().service.effects()).operations['transfer-in'][key]?.effects ?? 0;
}

/** The answer to a copy of the command: the event that counts now. */
async function answerToCopy(key: string): Promise<ResultEvent> {
  const commandId = randomUUID();
  const { journal, publisher } = stack();
  await publisher.publish('transfer-in', key, transferInOf(key), { commandId });
  const isIt = ({ headers }: ResultEvent): boolean => headers['in-reply-to'] === commandId;
  return journal.found(() => journal.results(key).find(isIt), `the answer to a copy of ${key}`);
}

test('EXECUTED makes UNKNOWN ACCEPTED, with the transaction that was found and who decided; copies get it from then on', async () => {
  const { journal, publisher, service } = stack();
  await stack().startProcessor();
  const unknown = await unknownTransfer(stack(), 'found');
  const { id: transactionId } = await service.simulateUmaReceive('Customer:found-x');
  const mark = await decide('found', { decision: 'EXECUTED', transactionId });
  const decided = await revision('found', 2);
  expect(unknown.headers['decision-id']).toBeUndefined();
  expect(decided.headers['decision-id']).toBe(mark);
  expect(decided.value).toMatchObject({
    outcome: 'ACCEPTED',
    settledBy: 'OPERATOR',
    httpStatus: null,
    error: null,
    commandId: unknown.value.commandId,
    transaction: { id: transactionId, status: null },
    attempts: 1,
  });
  expect(decided.value.warnings).toEqual(['EXECUTED on revision 1 by ada: looked up']);
  expect(decided.id).not.toBe(unknown.id);
  const copy = await answerToCopy('found');
  const headers = { replayed: 'true', 'decision-id': mark };
  expect(copy).toMatchObject({ id: decided.id, value: decided.value, headers });
  expect(await effectsOf('found')).toBe(1);
  // From then on the transaction's events name the command.
  await publisher.publish('reject-transaction', 'found-reject', { transactionId });
  const find = () => journal.transactionEvents(transactionId).find(({ value }) => value.status === 'REJECTED');
  const rejected = await journal.found(find, 'the rejection');
  expect(rejected.value.commandKeys).toEqual(['found', 'found-reject']);
});

test('NOT_EXECUTED makes UNKNOWN EXPIRED, and RETRY runs an EXPIRED command', async () => {
  await stack().startProcessor();
  await stack().service.addFaults({ kind: 'drop-before', operation: 'transfer-in', key: 'absent', count: 1 });
  await stack().publisher.publish('transfer-in', 'absent', transferInOf('absent'));
  expect((await stack().journal.result('absent')).value.outcome).toBe('UNKNOWN');
  await decide('absent', { decision: 'NOT_EXECUTED' });
  const expired = await revision('absent', 2);
  expect(expired.value).toMatchObject({ outcome: 'EXPIRED', settledBy: 'OPERATOR', transaction: null });
  expect(expired.value.warnings).toEqual(['NOT_EXECUTED on revision 1 by ada: looked up']);
  expect((await answerToCopy('absent')).id).toBe(expired.id);
  expect(await effectsOf('absent')).toBe(0);

  const mark = await decide('absent', { decision: 'RETRY', expectedRevision: 2 });
  const retried = await revision('absent', 3);
  expect(retried.headers['decision-id']).toBe(mark);
  expect(retried.value).toMatchObject({ outcome: 'ACCEPTED', settledBy: 'ANSWER' });
  expect(retried.value.transaction?.id).toMatch(/^Transaction:/);
  expect(await effectsOf('absent')).toBe(1);
  expect((await answerToCopy('absent')).id).toBe(retried.id);
});

test('RETRY runs a command that was too old, with its age restarted', async () => {
  await stack().publisher.publish('transfer-in', 'late', transferInOf('late'));
  await stack().startProcessor({ COMMAND_MAX_AGE: 'transfer-in=1ms' });
  expect((await stack().journal.result('late')).value).toMatchObject({ outcome: 'EXPIRED', attempts: 0 });
  await stack().endProcessors();
  await stack().startProcessor();
  await decide('late', { decision: 'RETRY' });
  expect((await revision('late', 2)).value).toMatchObject({ outcome: 'ACCEPTED', attempts: 1 });
  expect(await effectsOf('late')).toBe(1);
});

test("RETRY makes no call after the publisher's own time limit", async () => {
  await stack().startProcessor();
  const expiresAt = new Date(Date.now() - 1000);
  await stack().publisher.publish('transfer-in', 'limited', transferInOf('limited'), { expiresAt });
  expect((await stack().journal.result('limited')).value).toMatchObject({ outcome: 'EXPIRED', attempts: 0 });
  await decide('limited', { decision: 'RETRY' });
  expect((await revision('limited', 2)).value).toMatchObject({ outcome: 'EXPIRED', attempts: 0 });
  expect(await effectsOf('limited')).toBe(0);
});

test('RETRY of a command that is still INVALID, or could not be read, is INVALID again', async () => {
  await stack().startProcessor();
  const headers = { 'content-type': 'application/json' };
  await stack().publishRaw('transfer-in', { key: 'wrong', value: '{"amount":1}', headers });
  await stack().publishRaw('transfer-in', { key: 'cut', value: '{"amount', headers });
  for (const key of ['wrong', 'cut']) {
    expect((await stack().journal.result(key)).value.outcome).toBe('INVALID');
    await decide(key, { decision: 'RETRY' });
    const again = await revision(key, 2);
    expect(again.value).toMatchObject({ outcome: 'INVALID', attempts: 0 });
    expect(again.value.warnings).toEqual(['RETRY on revision 1 by ada: looked up']);
  }
});

test('a decision on another revision than the present one is refused', async () => {
  await stack().startProcessor();
  await unknownTransfer(stack(), 'stale');
  await expectRefused('stale', { decision: 'NOT_EXECUTED', expectedRevision: 2 }, /revision 2.*revision 1/);
  await decide('stale', { decision: 'NOT_EXECUTED' });
  await revision('stale', 2);
  await expectRefused('stale', { decision: 'EXECUTED', expectedRevision: 1 }, /revision 1.*revision 2/);
  expect((await answerToCopy('stale')).value).toMatchObject({ outcome: 'EXPIRED', revision: 2 });
});

test('of two decisions on one revision the first counts, and the second is refused', async () => {
  await stack().startProcessor();
  await unknownTransfer(stack(), 'both');
  const marks = await Promise.all([
    decide('both', { decision: 'EXECUTED' }),
    decide('both', { decision: 'RETRY', operator: 'grace' }),
    decide('both', { decision: 'NOT_EXECUTED', operator: 'grace' }),
  ]);
  await revision('both', 2);
  const letters = (): string[] =>
    stack()
      .journal.deadLetters()
      .map((record) => record.headers['ce_id'] ?? '')
      .filter((id) => marks.includes(id));
  await stack().journal.until(() => letters().length === 2, 'two refusals');
  expect(
    stack()
      .journal.results('both')
      .map(({ value }) => value.revision),
  ).toEqual([1, 2]);
});

test('a key that is ACCEPTED, REFUSED or unknown cannot be decided on', async () => {
  await stack().startProcessor();
  await stack().publisher.publish('transfer-in', 'good', transferInOf('good'));
  expect((await stack().journal.result('good')).value.outcome).toBe('ACCEPTED');
  await expectRefused('good', { decision: 'RETRY' }, /ACCEPTED/);
  await expectRefused('good', { decision: 'EXECUTED' }, /ACCEPTED/);
  await expectRefused('good', { decision: 'NOT_EXECUTED' }, /ACCEPTED/);
  await expectRefused('never-heard-of', { decision: 'RETRY' }, /no command/);
  await expectRefused('good', { decision: 'PERHAPS' }, /PERHAPS/);
  expect(await effectsOf('good')).toBe(1);
});

test('EXECUTED and NOT_EXECUTED are for UNKNOWN alone', async () => {
  await stack().startProcessor();
  await stack().publisher.publish('transfer-in', 'expired', transferInOf('expired'), { expiresAt: new Date(0) });
  expect((await stack().journal.result('expired')).value.outcome).toBe('EXPIRED');
  await expectRefused('expired', { decision: 'EXECUTED' }, /EXPIRED/);
  await expectRefused('expired', { decision: 'NOT_EXECUTED' }, /EXPIRED/);
});

test('a decision stands across a kill, and one that came while no process ran is carried out by the next', async () => {
  const first = await stack().startProcessor();
  await unknownTransfer(stack(), 'killed-after');
  await unknownTransfer(stack(), 'killed-before');
  await decide('killed-after', { decision: 'EXECUTED', transactionId: 'Transaction:18' });
  const decided = await revision('killed-after', 2);
  await first.kill9();
  await decide('killed-before', { decision: 'RETRY' });
  await stack().startProcessor();
  expect((await revision('killed-before', 2)).value).toMatchObject({ outcome: 'UNKNOWN' });
  expect(await effectsOf('killed-before')).toBe(1);
  expect(await answerToCopy('killed-after')).toMatchObject({ id: decided.id, value: decided.value });
  await expectRefused('killed-after', { decision: 'RETRY', expectedRevision: 2 }, /ACCEPTED/);
  expect(
    stack()
      .journal.results('killed-after')
      .filter((result) => result.headers['replayed'] !== 'true'),
  ).toHaveLength(2);
});

test('a process that is killed during a retried call leaves it to be settled, and does not run it a third time', async () => {
  const first = await stack().startProcessor();
  await unknownTransfer(stack(), 'killed-within');
  await notExecuted('killed-within', 1);
  await stack().service.addFaults({
    kind: 'delay',
    operation: 'transfer-in',
    key: 'killed-within',
    delayMs: 60_000,
    at: 'after',
    count: 1,
  });
  await decide('killed-within', { decision: 'RETRY', expectedRevision: 2 });
  const calls = async (): Promise<number> =>
    (await stack().service.effects()).operations['transfer-in']['killed-within']?.calls ?? 0;
  await eventually(calls, (count) => count === 2, 'the retried call');
  await first.kill9();
  await stack().startProcessor();
  expect((await revision('killed-within', 3)).value).toMatchObject({ outcome: 'UNKNOWN' });
  expect(await effectsOf('killed-within')).toBe(2);
  await decide('killed-within', { decision: 'EXECUTED', expectedRevision: 3 });
  expect((await revision('killed-within', 4)).value).toMatchObject({ outcome: 'ACCEPTED', settledBy: 'OPERATOR' });
  expect(await effectsOf('killed-within')).toBe(2);
});
