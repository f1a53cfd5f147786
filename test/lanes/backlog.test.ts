/** A backlog in many lanes leaves the event loop to others: heartbeats, calls and the end of a commit (invariant I7). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Inputs, InputHandlers } from '../../src/lanes/inputs/inputs.ts';
import { Loop } from '../../src/lanes/commits/loop.ts';
import type { LaneTransaction } from '../../src/lanes/commits/transaction.ts';
import type { TransactionalProducer } from '../../src/producers/transactional-producer.ts';
import { inputsOf, newTransaction, offerBatch, silence, topics } from './lane-in-memory.ts';

const LANES = 48;
const MESSAGES = 40;
/** Of one message: reading it, or putting what follows from it into the transaction. */
const WORK_MS = 0.2;
/** Beyond its limit each lane ends the message that it has begun, and begins one at least. */
const BEGUN_MS_MAX = LANES * 2 * WORK_MS;
const FILLING_MS_MAX = 10;

const topic = topics.commands['transfer-in'];

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

test('no turn of the event loop fills transactions for longer than its share, and every lane gets on in each', async () => {
  const clock = new WorkClock();
  const loop = new Loop('loop', {} as unknown as TransactionalProducer, clock, 0);
  let handled = 0;
  const handle = (transaction: LaneTransaction): null => {
    clock.nowMs();
    handled += 1;
    transaction.add({ topic: topics.ledger, partition: 0, key: 'key', value: null, headers: {} });
    return null;
  };
  const handlers = { commands: { name: 'commands', handle, setAside: handle } } as unknown as InputHandlers;
  const buffered = (lane: Inputs): number => lane.status(new Map())[0]?.buffered ?? 0;
  const fill = (lane: Inputs, untilMs: number): void => {
    const before = buffered(lane);
    lane.admit(handlers, newTransaction(), untilMs);
    expect(buffered(lane)).toBeLessThan(before);
  };
  const lanes = Array.from({ length: LANES }, () => inputsOf(['transfer-in'], clock));
  for (const lane of lanes) {
    lane.open(new Map([[topic, 0n]]), null);
    offerBatch(lane, topic, 0, MESSAGES);
  }
  await clock.nextTurn();
  clock.longestTurnMs();

  const waiting = new Set(lanes);
  for (const lane of lanes) {
    const seat = loop.join({
      lane: 0,
      // Nothing is committed: a lane that was cut short is asked again in the next turn.
      fill: (untilMs) => {
        // Begins a turn, unless one has begun. The immediate of the watch comes before the loop's.
        void clock.nextTurn();
        fill(lane, untilMs);
        if (buffered(lane) > 0) {
          seat.wake();
        } else {
          waiting.delete(lane);
          seat.leave();
        }
        return null;
      },
      committed: silence,
      lost: (error) => expect.unreachable(String(error)),
    });
  }
  while (waiting.size > 0) await nextTurn();
  expect(handled).toBe(LANES * MESSAGES);
  expect(clock.longestTurnMs()).toBeLessThanOrEqual(FILLING_MS_MAX + BEGUN_MS_MAX);
});
