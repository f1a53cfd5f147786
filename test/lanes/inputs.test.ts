/** What each input takes of a lane's commits and of its time. Which inputs a commit moved: broken-producer.test.ts tells. */
import type { KafkaMessage } from 'kafkajs';
import { afterEach, expect, test, vi } from 'vitest';
import { Inputs, type InputHandlers } from '../../src/lanes/inputs.ts';
import type { LaneParts } from '../../src/lanes/parts.ts';
import { LaneTransaction } from '../../src/lanes/transaction.ts';
import { topicNames } from 'payment-processor-contract/topics';

const silence = (): void => undefined;
const topics = topicNames('test');
const transfers = topics.commands['transfer-in'];

afterEach(() => void vi.useRealTimers());

test('observations wait for something else that their lane commits, and not for long', async () => {
  vi.useFakeTimers();
  let taken = 0;
  let wakes = 0;
  const member = { seek: silence, resume: silence };
  const clock = { monotonicMs: () => 0 };
  const parts = { lane: 0, laneCount: 1, topics, commandTypes: [], member, clock };
  const inputs = new Inputs(parts as unknown as LaneParts, () => (wakes += 1));
  inputs.open(new Map([[topics.observations, 0n]]), null);
  const handlers = {
    observations: { name: 'observation', handle: () => ((taken += 1), null), setAside: silence },
  } as unknown as InputHandlers;
  const observe = async (offset: bigint): Promise<void> => {
    const message = { key: Buffer.from('id'), value: Buffer.from('{}'), offset: String(offset), timestamp: '0' };
    const batch = { fetchedOffset: offset, lastOffset: offset, leaderEpoch: 0, highWatermark: offset + 1n };
    inputs.offer({ topic: topics.observations, lane: 0, messages: [message as KafkaMessage], ...batch });
    await vi.advanceTimersByTimeAsync(0);
  };
  const admitted = (isWanted: boolean): number => {
    taken = 0;
    const inputTopics = new Set<string>();
    const transaction = new LaneTransaction({
      lane: 0,
      commit: 1,
      ledgerTopic: topics.ledger,
      inputTopics,
      unitsMax: 9,
    });
    if (isWanted) transaction.commitAnyway();
    inputs.admit(handlers, transaction, Infinity);
    return taken;
  };

  await observe(0n);
  expect([admitted(false), wakes]).toEqual([0, 0]);
  expect(admitted(true)).toBe(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(wakes).toBe(0);

  await observe(1n);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([wakes, admitted(false)]).toEqual([1, 1]);
});

test('observations take half of the time, and leave commands the other', () => {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const parts = {
    ...{ lane: 0, laneCount: 1, topics, commandTypes: ['transfer-in'], clock },
    ...{ member: { seek: silence, resume: silence }, intake: { laneCount: 1, maxAgeMs: { 'transfer-in': 1 } } },
  };
  const inputs = new Inputs(parts as unknown as LaneParts, silence);
  inputs.open(new Map(), null);
  for (const topic of [topics.observations, transfers]) {
    const messages = Array.from({ length: 9 }, (_, offset) => {
      const headers = { 'content-type': 'application/json' };
      return { key: Buffer.from('id'), value: Buffer.from('{}'), offset: String(offset), timestamp: '0', headers };
    });
    const range = { fetchedOffset: 0n, lastOffset: 8n, leaderEpoch: 0, highWatermark: 9n };
    inputs.offer({ topic, lane: 0, messages: messages as unknown as KafkaMessage[], ...range });
  }
  const taken = { observations: 0, commands: 0 };
  const handler = (name: keyof typeof taken) => ({
    name,
    handle: () => {
      nowMs += 10;
      taken[name] += 1;
      return null;
    },
    setAside: silence,
  });
  const options = { lane: 0, commit: 1, ledgerTopic: topics.ledger, inputTopics: new Set<string>(), unitsMax: 18 };
  const transaction = new LaneTransaction(options);
  transaction.commitAnyway();
  const handlers = { observations: handler('observations'), commands: handler('commands') };
  inputs.admit(handlers as unknown as InputHandlers, transaction, 60);
  // Half of the time is for each.
  expect(taken).toEqual({ observations: 3, commands: 3 });
});

test('an input with nothing to take leaves its turn to the next: where time is short, each that has something gets on', () => {
  const clock = { nowMs: () => 0, monotonicMs: () => 0 };
  const commandTypes = ['transfer-in', 'create-quote', 'execute-quote'] as const;
  const maxAgeMs = { 'transfer-in': 1, 'create-quote': 1, 'execute-quote': 1 };
  const parts = {
    ...{ lane: 0, laneCount: 1, topics, commandTypes, clock, intake: { laneCount: 1, maxAgeMs } },
    member: { seek: silence, resume: silence },
  };
  const inputs = new Inputs(parts as unknown as LaneParts, silence);
  inputs.open(new Map(), null);
  const filled = [topics.operatorDecisions, transfers];
  for (const topic of filled) {
    const headers = { 'content-type': 'application/json' };
    const message = { key: Buffer.from('id'), value: Buffer.from('{}'), offset: '0', timestamp: '0', headers };
    const range = { fetchedOffset: 0n, lastOffset: 0n, leaderEpoch: 0, highWatermark: 1n };
    inputs.offer({ topic, lane: 0, messages: [message as unknown as KafkaMessage], ...range });
  }
  const handler = { name: 'any', handle: () => null, setAside: silence };
  const handlers = { holds: handler, decisions: handler, observations: handler, commands: handler };
  const options = { lane: 0, commit: 1, ledgerTopic: topics.ledger, inputTopics: new Set<string>() };
  const transaction = new LaneTransaction({ ...options, unitsMax: Infinity });
  inputs.admit(handlers, transaction, -1);
  expect([...transaction.positions().keys()]).toEqual(filled);
  expect(transaction.isCutShort()).toBe(false);
});
