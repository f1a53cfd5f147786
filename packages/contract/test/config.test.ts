import { expect, test } from 'vitest';
import { readSomeSettings } from '../src/config.ts';

test.each([
  ['72h', { ok: true, config: { POLL_TERMINAL_FOR: 72 * 3_600_000 } }],
  ['36500d', { ok: true }],
  ['36501d', { ok: false, problems: [expect.stringMatching(/POLL_TERMINAL_FOR.* is longer than 36500d/)] }],
  ['3 days', { ok: false, problems: [expect.stringMatching(/POLL_TERMINAL_FOR.* is not a duration such as/)] }],
])('a duration of %s', (text, read) => {
  expect(readSomeSettings({ POLL_TERMINAL_FOR: text }, ['POLL_TERMINAL_FOR'])).toMatchObject(read);
});

test.each([
  ['5000', true],
  // The group would count a healthy member out before it learns of the rebalance.
  ['5001', false],
])('a heartbeat interval of %s ms', (text, ok) => {
  const read = readSomeSettings({ KAFKA_HEARTBEAT_INTERVAL_MS: text }, ['KAFKA_HEARTBEAT_INTERVAL_MS']);
  expect(read).toMatchObject({ ok });
});
