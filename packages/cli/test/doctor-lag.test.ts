/** What doctor says of the lag, by what could be asked. Pure; the brokers' part is in doctor.test.ts. */
import { expect, test } from 'vitest';
import { lagFindings } from '../src/doctor/kafka-checks.ts';

const lane = { topic: 'seen', lane: 0, endOffset: 5n, groupOffset: 5n, lag: 0n, oldestTimestampMs: null };

test('that every command is admitted is not said of a topic that is hidden', () => {
  expect(lagFindings({ lanes: [lane], missing: [] }, [], 0)).toMatchObject([
    { status: 'ok', message: 'every command is admitted' },
  ]);
  const late = { ...lane, lag: 2n, oldestTimestampMs: 0 };
  const hidden = { status: 'not-checked', message: 'because hidden is not there, or is hidden' };
  expect(lagFindings({ lanes: [lane], missing: ['hidden'] }, [], 0)).toMatchObject([hidden]);
  expect(lagFindings({ lanes: [late], missing: ['hidden'] }, [], 1_000)).toMatchObject([hidden]);
  expect(lagFindings({ lanes: [late], missing: ['hidden'] }, [], 61_000)).toMatchObject([
    hidden,
    { status: 'problem' },
  ]);
});
