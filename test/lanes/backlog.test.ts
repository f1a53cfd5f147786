/** A backlog in many lanes leaves the event loop to others: heartbeats, calls and the end of a commit (invariant I7). */
import type { KafkaMessage } from 'kafkajs';
import { expect, test } from 'vitest';
import { LoopTurn } from '../../src/consumers/loop-turn.ts';
import { Inputs, type InputHandlers } from '../../src/lanes/inputs.ts';
import type { LaneParts } from '../../src/lanes/parts.ts';
import { LaneTransaction } from '../../src/lanes/transaction.ts';
import { topicNames } from 'payment-processor-contract/topics';

const LANES = 48;
const MESSAGES = 200;
/** Of one message: reading it, or putting what follows from it into the transaction. */
const WORK_MS = 0.2;
/** Beyond its limit each lane ends the message that it has begun. */
const BEGUN_MS_MAX = (LANES + 1) * WORK_MS;
const READING_MS_MAX = 10;
const FILLING_MS_MAX = 25;

const topics = topicNames('test');
const topic = topics.commands['transfer-in'];
const silence = (): void => undefined;

/** Time is what the work takes; a turn of the event loop is over when an immediate runs. */
class WorkClock {
  #ms = 0;
  #turnBeganMs = 0;
  #longestTurnMs = 0;
  #next: Promise<void> | null = null;

  readonly nowMs = (): number => (this.#ms += WORK_MS);
  readonly monotonicMs = (): number => this.#ms;

  /** The same for all who ask in one turn. */
  nextTurn(): Promise<void> {
    return (this.#next ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#longestTurnMs = Math.max(this.#longestTurnMs, this.#ms - this.#turnBeganMs);
        this.#turnBeganMs = this.#ms;
        this.#next = null;
        resolve();
      });
    }));
  }

  /** Since this was asked last. */
  longestTurnMs(): number {
    const longestTurnMs = this.#longestTurnMs;
    this.#longestTurnMs = 0;
    return longestTurnMs;
  }
}

function backlog(): KafkaMessage[] {
  return Array.from({ length: MESSAGES }, (_, index): KafkaMessage => {
    const headers = { 'content-type': 'application/json' };
    const offset = String(index);
    return { key: Buffer.from(offset), value: Buffer.from('{}'), offset, timestamp: '0', attributes: 0, headers };
  });
}

test('no turn of the event loop reads more than its share of it, nor fills transactions for longer', async () => {
  const clock = new WorkClock();
  let read = 0;
  let handled = 0;
  const parts = {
    ...{ lane: 0, laneCount: 1, topics, commandTypes: ['transfer-in'], clock, turn: new LoopTurn(clock) },
    ...{ member: { seek: silence, resume: silence }, intake: { laneCount: 1, maxAgeMs: { 'transfer-in': 1 } } },
  } as unknown as LaneParts;
  const handle = async (transaction: LaneTransaction): Promise<null> => {
    clock.nowMs();
    handled += 1;
    transaction.add({ topic: topics.ledger, partition: 0, key: 'key', value: null, headers: {} });
    return null;
  };
  const handlers = { commands: { name: 'commands', handle, setAside: handle } } as unknown as InputHandlers;
  const lanes = Array.from({ length: LANES }, () => new Inputs(parts, () => (read += 1)));

  // Ahead of the immediates of what it watches.
  const begun = clock.nextTurn();
  for (const lane of lanes) {
    lane.open(new Map([[topic, 0n]]), null);
    const end = BigInt(MESSAGES);
    const batch = { messages: backlog(), fetchedOffset: 0n, lastOffset: end - 1n, highWatermark: end };
    lane.offer({ topic, lane: 0, ...batch });
  }
  await begun;
  while (read < LANES * MESSAGES) await clock.nextTurn();
  await clock.nextTurn();
  expect(clock.longestTurnMs()).toBeLessThanOrEqual(READING_MS_MAX + BEGUN_MS_MAX);

  const fill = async (lane: Inputs): Promise<void> => {
    while (lane.status(new Map())[0]?.held !== 0) {
      const options = { lane: 0, commit: 1, ledgerTopic: topics.ledger, inputTopics: new Set<string>() };
      const transaction = new LaneTransaction({ ...options, unitsMax: Infinity });
      transaction.beginFilling(clock.monotonicMs());
      await lane.admit(handlers, transaction);
      // All lanes have one commit.
      await clock.nextTurn();
    }
  };
  await Promise.all(lanes.map(fill));
  await clock.nextTurn();
  expect(handled).toBe(LANES * MESSAGES);
  expect(clock.longestTurnMs()).toBeLessThanOrEqual(FILLING_MS_MAX + BEGUN_MS_MAX);
});
