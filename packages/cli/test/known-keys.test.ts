/** From when each lane of the ledger knows all keys, as a redrive of many letters reads it. */
import { expect, test } from 'vitest';
import { topicNames } from 'payment-processor-contract/topics';
import { retentionRecords, RETENTION_KEY } from '../../../src/ledger/key-retention.ts';
import { schemaRecords } from '../../../src/ledger/ledger-value.ts';
import { changeTopics } from '../../../test/support/topic-settings.ts';
import { freshPrefix, kafkaOf, prepare, sendTo, settingsOf } from '../../client/test/fixtures.ts';
import { readKeys } from '../src/ledger.ts';

const DAY_MS = 86_400_000;

test('a lane that lost its record knows none, and none knows more than the topic keeps notes of', async () => {
  const prefix = freshPrefix('known-keys');
  await prepare(prefix);
  const { ledger } = topicNames(prefix);
  const nowMs = Date.now();
  const daysAgo = (days: number): number => nowMs - days * DAY_MS;
  const record = (lane: number, knownFromMs: number, keptForMs: number) => [
    ...Array.from(schemaRecords(), ([key, value]) => ({ key, value, partition: lane })),
    { key: RETENTION_KEY, value: retentionRecords.encode({ knownFromMs, keptForMs }), partition: lane },
  ];
  // Lane 2 has lost its records.
  const messages = [...record(0, daysAgo(2), 30 * DAY_MS), ...record(1, daysAgo(90), 30 * DAY_MS)];
  await sendTo(kafkaOf(prefix), ledger, messages);
  const daysKnown = async (): Promise<number[]> =>
    (await readKeys(settingsOf(prefix), new Set())).knownFromMs.map((ms) => Math.round((Date.now() - ms) / DAY_MS));
  // Tombstones are kept for 7 days, as LEDGER_RETENTION was when the topic was created.
  expect(await daysKnown()).toEqual([2, 7, 0]);
  await changeTopics(kafkaOf(prefix), [ledger], { 'delete.retention.ms': String(60 * DAY_MS) });
  expect(await daysKnown()).toEqual([2, 30, 0]);
});
