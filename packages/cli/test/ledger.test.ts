import { beforeAll, describe, expect, test } from 'vitest';
import { UNTOUCHED, type Entry, type Phase } from '../../../src/ledger/entry.ts';
import { encodeEntry } from '../../../src/ledger/entry-record.ts';
import { ENTRY_PREFIX } from '../../../src/ledger/ledger-records.ts';
import { laneOf } from 'payment-processor-contract/keys';
import { topicNames } from 'payment-processor-contract/topics';
import { environmentOf, freshPrefix, kafkaOf, LANES, prepare } from '../../client/test/fixtures.ts';
import { runCli } from './run-cli.ts';

const prefix = freshPrefix('ledger');

function entry(key: string, phase: Phase): Buffer {
  const complete: Entry = {
    key,
    commandType: 'transfer-in',
    revision: 1,
    fingerprint: 'print',
    fieldsJson: '{}',
    commandId: null,
    origin: { topic: 'commands', partition: 0, offset: 1n, timestampMs: 0 },
    carried: {},
    deadlineMs: 0,
    expiresAtMs: null,
    isExpiryUnreadable: false,
    step: 'SINGLE',
    immediate: false,
    ...UNTOUCHED,
    attempts: 1,
    firstSentMs: 0,
    lastEndedMs: 0,
    phase,
  };
  return encodeEntry(complete);
}

describe('ledger show', () => {
  beforeAll(async () => {
    await prepare(prefix);
    const intent: Phase = { state: 'INTENT', attemptId: 'a1', processId: 'p1', atMs: 0, timeoutMs: 10_000 };
    const done: Phase = {
      state: 'DONE',
      outcome: 'ACCEPTED',
      completedMs: 0,
      result: { value: Buffer.from('bytes'), headers: { ce_id: 'x' } },
    };
    const producer = kafkaOf(prefix).producer();
    await producer.connect();
    await producer.send({
      topic: topicNames(prefix).ledger,
      messages: [['order-1', intent] as const, ['order-2', intent] as const, ['order-1', done] as const].map(
        ([key, phase]) => ({ key: `${ENTRY_PREFIX}${key}`, value: entry(key, phase), partition: laneOf(key, LANES) }),
      ),
    });
    await producer.disconnect();
  });

  test("prints one command's states in their order", async () => {
    const run = await runCli(environmentOf(prefix), '--output', 'json', 'ledger', 'show', 'order-1');
    expect(run).toMatchObject({ code: 0 });
    expect(run.documents).toMatchObject([
      { entry: { phase: { state: 'INTENT', attemptId: 'a1' } } },
      { entry: { phase: { state: 'DONE', outcome: 'ACCEPTED', result: { valueBase64: 'Ynl0ZXM=' } } } },
    ]);
    const text = await runCli(environmentOf(prefix), 'ledger', 'show', 'order-1');
    expect(text.stdout).toMatch(/INTENT[^\n]*attempt a1[^]*DONE[^\n]*ACCEPTED/);
  });

  test('exits with 3 for a key that it does not know, and with 2 for one that cannot be', async () => {
    expect(await runCli(environmentOf(prefix), 'ledger', 'show', 'unknown')).toMatchObject({ code: 3 });
    expect(await runCli(environmentOf(prefix), 'ledger', 'show', 'a.execute')).toMatchObject({ code: 2 });
  });
});
