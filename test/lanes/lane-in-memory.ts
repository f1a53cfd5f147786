/** What an open lane works with, without Kafka: an index of these entries, a loop that commits at once, messages as they come. */
import { expect } from 'vitest';
import type { Clock } from 'payment-processor-contract/clock';
import type { CommandType } from 'payment-processor-contract/commands';
import { topicNames } from 'payment-processor-contract/topics';
import type { FetchedBatch } from '../../src/consumers/group-member.ts';
import { LaneWriter } from '../../src/lanes/commits/lane-writer.ts';
import { Loop } from '../../src/lanes/commits/loop.ts';
import type { LaneParts } from '../../src/lanes/parts.ts';
import { Inputs } from '../../src/lanes/inputs/inputs.ts';
import { LaneTransaction } from '../../src/lanes/commits/transaction.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import type { TransactionalProducer } from '../../src/producers/transactional-producer.ts';
import { received } from '../consumers/received.ts';
import { aPolicy } from '../ledger/entries.ts';

export const HOUR_MS = 3_600_000;
export const topics = topicNames('test');
export const silence = (): void => undefined;

/** Parts of the one lane of a process, over which `given` goes. */
export function partsWith(
  unfinished: readonly Entry[],
  commandTypes: readonly CommandType[],
  given: { readonly [Name in keyof LaneParts]?: unknown },
): LaneParts {
  const parts: { readonly [Name in keyof LaneParts]?: unknown } = {
    ...{ lane: 0, laneCount: 1, processId: 'process', topics, commandTypes },
    index: {
      unfinished: () => unfinished,
      owner: () => undefined,
      value: () => undefined,
      entry: () => undefined,
      expired: () => [],
      checkpoint: () => ({ timestampMs: Date.now() }),
    },
    ...{ policy: aPolicy(), retention: { doneMs: 1, transactionMs: 1 }, sessionTimeoutMs: 1, unfinishedMax: 2_000 },
    intake: { laneCount: 1, maxAgeMs: Object.fromEntries(commandTypes.map((type) => [type, HOUR_MS])) },
    ...{ member: { seek: silence, resume: silence }, isConfirmed: () => true, onMoved: silence },
    traces: { admitted: silence, called: silence, resulted: silence },
    reports: {
      committed: silence,
      resulted: silence,
      failed: (_lane: number, _what: string, error: unknown) => expect.unreachable(String(error)),
    },
    ...given,
  };
  return parts as LaneParts;
}

/** The inputs of a lane of these commands. */
export function inputsOf(
  commandTypes: readonly CommandType[],
  clock: Partial<Clock>,
  wake: () => void = silence,
  intake: object = {},
): Inputs {
  const maxAgeMs = Object.fromEntries(commandTypes.map((type) => [type, HOUR_MS]));
  const parts = {
    ...{ lane: 0, laneCount: 1, topics, commandTypes, clock },
    ...{ member: { seek: silence, resume: silence }, intake: { laneCount: 1, maxAgeMs, ...intake } },
  };
  return new Inputs(parts as unknown as LaneParts, wake);
}

export function newTransaction(unitsMax = Infinity): LaneTransaction {
  return new LaneTransaction({ lane: 0, commit: 1, ledgerTopic: topics.ledger, inputTopics: new Set(), unitsMax });
}

const JSON_HEADERS: Readonly<Record<string, string>> = { 'content-type': 'application/json' };

/** A batch of messages with this value. */
export function batchOf(topic: string, first: number, count = 1, headers = JSON_HEADERS, value = '{}'): FetchedBatch {
  const messages = Array.from({ length: count }, (_, index) => {
    const offset = String(first + index);
    return received(value, { key: Buffer.from(offset), offset, headers });
  });
  const [fetchedOffset, highWatermark] = [BigInt(first), BigInt(first + count)];
  return { topic, lane: 0, messages, fetchedOffset, lastOffset: highWatermark - 1n, leaderEpoch: 0, highWatermark };
}

/** A batch of empty objects arrives. */
export function offerBatch(inputs: Inputs, ...given: Parameters<typeof batchOf>): void {
  inputs.offer(batchOf(...given));
}

/** One command arrives. */
export function offer(inputs: Inputs, type: CommandType, { fieldsJson, key }: Pick<Entry, 'fieldsJson' | 'key'>): void {
  const batch = batchOf(topics.commands[type], 0, 1, JSON_HEADERS, fieldsJson ?? '');
  inputs.offer({ ...batch, messages: batch.messages.map((message) => ({ ...message, key: Buffer.from(key) })) });
}

/** @param committed its promise ends each commit whose records are written */
export function writing(
  clock: Clock,
  committed: () => Promise<void>,
): { writer: LaneWriter; end: () => Promise<void> } {
  const producer = {
    open: async () => undefined,
    commit: async (_expected: unknown, wanted: () => Promise<unknown>) => {
      await wanted();
      await committed();
      return new Map();
    },
    drop: silence,
  } as unknown as TransactionalProducer;
  const loop = new Loop('loop', producer, clock, 0);
  const writer = new LaneWriter({ disown: silence, loop: () => loop }, { topic: topics.ledger, partition: 0 });
  const end = async (): Promise<void> => {
    await writer.end();
    await loop.close();
  };
  return { writer, end };
}
