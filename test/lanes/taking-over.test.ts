/** A lane that is taken over with intents of its former owner, more than one filling has time for (invariants I2, I3). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KafkaMessage } from 'kafkajs';
import { expect, test } from 'vitest';
import { commandFingerprint } from 'payment-processor-contract/command-fields';
import { topicNames } from 'payment-processor-contract/topics';
import { Calls, type CallsOptions } from '../../src/lanes/calls.ts';
import { CommitReports } from '../../src/lanes/commit-reports.ts';
import { Inputs } from '../../src/lanes/inputs.ts';
import { LaneWriter } from '../../src/lanes/lane-writer.ts';
import { Loop } from '../../src/lanes/loop.ts';
import { OpenLane } from '../../src/lanes/open-lane.ts';
import type { LaneParts } from '../../src/lanes/parts.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import type { TransactionalProducer } from '../../src/producers/transactional-producer.ts';
import { aPolicy, entryAt } from '../ledger/entries.ts';

const INTENTS = 50;
const TURNS = 200;
const topics = topicNames('test');
const transfers = topics.commands['transfer-in'];
const silence = (): void => undefined;

test.each(['process', 'former process'])(
  'a copy whose command has an intent of the %s that was not judged yet loses no lane',
  async (of) => {
    let nowMs = 2_000;
    // Each look at the clock takes as long as the work around it.
    const clock = { nowMs: () => (nowMs += 1), monotonicMs: () => (nowMs += 1) };
    const closure = { cause: 'breaker', reason: 'no call begins in this test' };
    const api = { onChange: silence, closure: () => closure, perform: () => expect.unreachable('it was called') };
    const calls = new Calls({ api, slots: 1, clock } as unknown as CallsOptions);
    const unfinished = Array.from({ length: INTENTS }, (_, at): Entry => {
      const entry = entryAt('transfer-in');
      const phase = { state: 'INTENT', attemptId: `attempt-${at}`, processId: of, atMs: 0, timeoutMs: 1_000 } as const;
      const fingerprint = commandFingerprint('transfer-in', entry.fieldsJson ?? '');
      return { ...entry, key: `key-${at}`, fingerprint, phase };
    });
    const parts = {
      ...{ lane: 0, laneCount: 1, processId: 'process', topics, commandTypes: ['transfer-in'], clock, calls },
      index: {
        unfinished: () => unfinished,
        owner: () => undefined,
        value: () => undefined,
        entry: () => undefined,
        expired: () => [],
        checkpoint: () => ({ timestampMs: 0 }),
      },
      ...{ policy: aPolicy(), retention: { doneMs: 1, transactionMs: 1 }, sessionTimeoutMs: 1, unfinishedMax: 2_000 },
      intake: { laneCount: 1, maxAgeMs: { 'transfer-in': 3_600_000 } },
      member: { seek: silence, resume: silence },
      traces: { admitted: silence },
      reports: {
        committed: silence,
        failed: (_lane: number, _what: string, error: unknown) => expect.unreachable(String(error)),
      },
      onMoved: silence,
    } as unknown as LaneParts;
    const inputs = new Inputs(parts, silence);
    inputs.open(new Map([[transfers, 0n]]), null);
    const last = unfinished[INTENTS - 1];
    const copy = {
      key: Buffer.from(last?.key ?? ''),
      value: Buffer.from(last?.fieldsJson ?? ''),
      headers: { 'content-type': 'application/json' },
      ...{ offset: '0', timestamp: '0', attributes: 0 },
    } satisfies KafkaMessage;
    inputs.offer({ topic: transfers, lane: 0, messages: [copy], fetchedOffset: 0n, lastOffset: 0n, highWatermark: 1n });
    const producer = {
      open: async () => undefined,
      commit: async (_expected: unknown, wanted: () => Promise<unknown>) => {
        await wanted();
        return new Map();
      },
      drop: silence,
    } as unknown as TransactionalProducer;
    const loop = new Loop('loop', producer, clock, 0);
    const writer = new LaneWriter({ disown: silence, loop: () => loop }, { topic: topics.ledger, partition: 0 });
    const ownership = { writer, token: 'token', careful: null, holdsEnd: 0n };
    const lane = new OpenLane(parts, inputs, new CommitReports(), ownership);

    const over = lane.run();
    over.catch(silence);
    for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
    const noted = lane.status().entries.find(({ key }) => key === last?.key);
    lane.end();
    await expect(over).resolves.toBeUndefined();
    expect(noted?.copies).toHaveLength(1);
    await writer.end();
    await loop.close();
  },
);
