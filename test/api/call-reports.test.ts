/** Reports of a call: a definite refusal is an answer, whatever its status; silence and pages of other servers are none. */
import { expect, test } from 'vitest';
import type { CallReport } from '../../src/api/payment-api.ts';
import { startedPair, transferIn, TRANSACTION_BODY } from './payment-api-in-test.ts';
import { always, servingReads, type Script } from './scripted-service.ts';

const answers: [string, Script, string, boolean][] = [
  ['201', always(201, TRANSACTION_BODY), 'accepted', true],
  ['422', always(422, '{"code":"LIMIT"}'), 'refused', true],
  ['409', always(409, '{"code":"ALREADY_DONE"}'), 'conflict', true],
  ['404 with an error code', always(404, '{"code":"ACCOUNT_NOT_FOUND"}'), 'not-here', true],
  ['404 of something else', always(404, '<html>'), 'not-here', false],
  ['503', always(503, '{}'), 'doubt', false],
];

test.each(answers)('%s', async (_name, script, outcomeKind, isAnswered) => {
  const reports: CallReport[] = [];
  const { api } = await startedPair(servingReads(script), { onCall: (report) => void reports.push(report) });
  await api.perform(transferIn, { idempotencyKey: 'k' });
  const [report] = reports.filter(({ operation }) => operation === 'transfer-in');
  expect(report).toMatchObject({ outcomeKind, isAnswered });
});
