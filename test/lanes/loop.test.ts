/** Whom the loop of transactions asks, when, and in which order; lanes that leave or fail in the middle of it. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import type { LaneCommit } from '../../src/lanes/commits/lane-commit.ts';
import { Loop, type Filler, type Seat } from '../../src/lanes/commits/loop.ts';
import { lossOf } from '../../src/lanes/commits/troubles.ts';
import type { RecordBatch } from '../../src/producers/record-batch.ts';
import type { PartitionName } from '../../src/producers/transaction-requests.ts';
import { TransactionFailedError, type TransactionalProducer } from '../../src/producers/transactional-producer.ts';

afterEach(() => vi.useRealTimers());

/** One transaction after the other; each waits where the test lets it wait. */
class Kafka {
  /** Partitions, transaction by transaction. */
  readonly announced: number[][] = [];
  readonly written: number[][] = [];
  /** Once the coordinator has ended the transaction before. */
  ended: Promise<unknown> = Promise.resolve();
  /** Once the answer to its end is there. */
  answered: Promise<unknown> = Promise.resolve();
  nowMs = 0;
  readonly loop: Loop;

  constructor(apartUntilMs = -Infinity, clock = { monotonicMs: () => this.nowMs }) {
    const producer: Pick<TransactionalProducer, 'open' | 'commit' | 'drop'> = {
      open: async () => undefined,
      commit: async (expected, wanted) => {
        this.announced.push(partitionsOf(expected));
        await nextTurn();
        await this.ended;
        const batches = await wanted();
        this.written.push(partitionsOf(batches));
        await this.answered;
        return new Map();
      },
      drop: () => undefined,
    };
    this.loop = new Loop('loop', producer as TransactionalProducer, clock, apartUntilMs);
  }
}

function partitionsOf(batches: readonly (PartitionName | RecordBatch)[]): number[] {
  return batches.map(({ partition }) => partition);
}

/** @param share of what a batch to the lane of others may have */
function commitOf(lane: number, share = 0, bytes = 1): LaneCommit {
  const record = { topic: 'ledger', partition: lane, key: 'key', value: null, headers: {} };
  return { lane, records: [record], shares: new Map([['observations', share]]), bytes };
}

/** The same, with the record of another lane. */
function adding(commit: LaneCommit, other: number): LaneCommit {
  return { ...commit, records: [...commit.records, ...commitOf(other).records] };
}

/** What a lane has to commit, and what became of it. */
class Lane implements Filler {
  readonly lane: number;
  readonly seat: Seat;
  /** Instants at which it was asked. */
  readonly askedMs: number[] = [];
  commits = 0;
  fate = 'open';
  onFill: (untilMs: number) => void = () => undefined;
  content = (): LaneCommit => commitOf(this.lane);
  onCommitted = (): void => undefined;
  readonly #kafka: Kafka;

  constructor(kafka: Kafka, lane: number) {
    this.lane = lane;
    this.#kafka = kafka;
    this.seat = kafka.loop.join(this);
  }

  wants(commits = 1): void {
    this.commits += commits;
    this.seat.wake();
  }

  fill(untilMs: number): LaneCommit | null {
    this.askedMs.push(this.#kafka.nowMs);
    this.onFill(untilMs);
    return this.commits > 0 ? this.content() : null;
  }

  committed(): void {
    this.commits -= 1;
    this.onCommitted();
  }

  lost(error: unknown): void {
    this.fate = lossOf(error);
  }
}

function lanesOf(kafka: Kafka, count: number): Lane[] {
  return Array.from({ length: count }, (_, lane) => new Lane(kafka, lane));
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
}

function gate(): { promise: Promise<unknown>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return { promise, open: () => resolve(undefined) };
}

test('an idle lane is asked every second, though another was woken meanwhile', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: 0 });
  const kafka = new Kafka(-Infinity, { monotonicMs: () => Date.now() });
  const [woken, idle] = lanesOf(kafka, 2);
  await turns();
  for (let second = 1; second <= 3; second += 1) {
    await vi.advanceTimersByTimeAsync(900);
    woken?.seat.wake();
    await vi.advanceTimersByTimeAsync(100);
    expect(idle?.askedMs).toHaveLength(1 + second);
  }
  await kafka.loop.close();
});

test('lanes that go out together each time take turns in being asked first', async () => {
  const kafka = new Kafka();
  const first: number[] = [];
  const lanes = lanesOf(kafka, 3);
  let asked: number[] = [];
  for (const lane of lanes) {
    lane.onFill = () => asked.push(lane.lane);
    lane.onCommitted = () => {
      first.push(...asked.slice(0, 1));
      asked = [];
    };
    lane.wants(3);
  }
  await turns();
  expect(kafka.written).toEqual([
    [0, 1, 2],
    [1, 2, 0],
    [2, 0, 1],
  ]);
  expect(first).toEqual([0, 1, 2]);
});

test('a lane that leaves while others are asked is asked no more', async () => {
  const kafka = new Kafka();
  const [leaver, left] = lanesOf(kafka, 2);
  if (leaver !== undefined) leaver.onFill = () => left?.seat.leave();
  await turns();
  expect(left?.askedMs).toEqual([]);
  await kafka.loop.close();
  expect([leaver?.fate, left?.fate]).toEqual(['with-others', 'open']);
});

test('what was announced goes out first: an idle lane that is woken meanwhile does not take its place', async () => {
  const kafka = new Kafka(Infinity);
  const [idle, busy] = lanesOf(kafka, 2);
  await turns();
  const before = gate();
  kafka.ended = before.promise;
  busy?.wants();
  await turns();
  idle?.wants();
  before.open();
  await turns();
  expect(kafka.announced).toEqual([[1], [0]]);
  expect(kafka.written).toEqual([[1], [0]]);
});

test('a lane that fails when it is notified of its commit is lost alone', async () => {
  const kafka = new Kafka();
  const [failing, other] = lanesOf(kafka, 2);
  if (failing !== undefined)
    failing.onCommitted = () => {
      throw new TypeError('the store is full');
    };
  failing?.wants();
  other?.wants(2);
  await turns();
  expect([failing?.fate, other?.fate]).toEqual(['own-failure', 'open']);
  expect(kafka.written).toEqual([[0, 1], [1]]);
  expect(other?.commits).toBe(0);
});

test('a lane that leaves while its commit is under way is notified of it, and its release is written after it', async () => {
  const kafka = new Kafka();
  const [leaving] = lanesOf(kafka, 1);
  const end = gate();
  kafka.answered = end.promise;
  leaving?.wants(2);
  await turns();
  leaving?.seat.leave();
  const release = kafka.loop.commit(commitOf(0));
  await turns();
  expect(kafka.written).toEqual([[0]]);
  end.open();
  await release;
  expect(kafka.written).toEqual([[0], [0]]);
  expect(leaving?.commits).toBe(1);
  expect(leaving?.askedMs).toHaveLength(2);
});

test('a lane that leaves before its commit is sent takes it along', async () => {
  const kafka = new Kafka();
  const [leaving, other] = lanesOf(kafka, 2);
  const before = gate();
  kafka.ended = before.promise;
  leaving?.wants();
  other?.wants();
  await turns();
  leaving?.seat.leave();
  before.open();
  await turns();
  expect(kafka.announced).toEqual([[0, 1]]);
  expect(kafka.written).toEqual([[1]]);
  expect([leaving?.commits, leaving?.fate]).toEqual([1, 'open']);
});

test('what fails before anything is sent loses who was announced, and all others with them', async () => {
  const kafka = new Kafka();
  const [left, announced, idle] = lanesOf(kafka, 3);
  const before = Promise.withResolvers<undefined>();
  kafka.ended = before.promise;
  left?.wants();
  announced?.wants();
  await turns();
  left?.seat.leave();
  before.reject(new TransactionFailedError('commit failed: the coordinator does not answer'));
  await turns();
  expect([left, announced, idle].map((lane) => lane?.fate)).toEqual(['open', 'not-committed', 'with-others']);
  const late = new Lane(kafka, 3);
  expect(late.fate).toBe('with-others');
});

test('a lane that always has more to look at leaves the event loop to others, and is asked no more once it has left', async () => {
  const kafka = new Kafka();
  const [restless] = lanesOf(kafka, 1);
  if (restless !== undefined) restless.onFill = () => restless.seat.wake();
  let fired = false;
  setTimeout(() => (fired = true), 1);
  await vi.waitFor(() => expect(fired).toBe(true));
  const asked = restless?.askedMs.length ?? 0;
  expect(asked).toBeGreaterThan(1);
  restless?.seat.leave();
  await turns();
  expect(restless?.askedMs).toHaveLength(asked);
});

test('a transaction takes no more of one partition than a batch there may have, and no more bytes than are bounded', async () => {
  const kafka = new Kafka();
  const large = 5 * 1024 * 1024;
  const all = [commitOf(5), commitOf(1, 0.6), commitOf(2, 0.5), commitOf(3, 0, large), commitOf(4, 0, large)];
  await Promise.all(all.map((commit) => kafka.loop.commit(commit)));
  expect(kafka.written).toEqual([[5, 1], [2, 3], [4]]);
});

test('releases go into the next transaction, whatever others have to commit; also while each lane has its own', async () => {
  for (const apartUntilMs of [-Infinity, Infinity]) {
    const kafka = new Kafka(apartUntilMs);
    const end = gate();
    kafka.answered = end.promise;
    for (const lane of lanesOf(kafka, 12)) {
      lane.content = () => commitOf(lane.lane, 0, 5 * 1024 * 1024);
      lane.wants(2);
    }
    await turns();
    const released = [20, 21].map((lane) => kafka.loop.commit(commitOf(lane), true));
    end.open();
    await Promise.all(released);
    const [first, second] = kafka.written;
    expect(first).toEqual([0]);
    expect(second?.slice(0, 2)).toEqual([21, 20]);
  }
});

test('while the transaction before is still being ended, lanes add to what goes into the next one', async () => {
  const kafka = new Kafka();
  const [lane] = lanesOf(kafka, 1);
  const before = gate();
  kafka.ended = before.promise;
  if (lane !== undefined) lane.content = () => (lane.askedMs.length === 1 ? commitOf(0) : adding(commitOf(0), 1));
  lane?.wants();
  await turns();
  const later = kafka.loop.commit(commitOf(2));
  before.open();
  await later;
  expect(kafka.written).toEqual([[0, 1, 2]]);
});

test('lanes share a turn: each has its part of the remaining time, and the lane that committed last comes last', async () => {
  const kafka = new Kafka();
  const parts: string[] = [];
  for (const lane of lanesOf(kafka, 2)) {
    lane.onFill = (untilMs) => {
      parts.push(`${lane.lane} ${untilMs - kafka.nowMs}`);
      // The first leaves half of its part to the other.
      kafka.nowMs = parts.length % 2 === 1 ? (kafka.nowMs + untilMs) / 2 : untilMs;
    };
    lane.content = () => commitOf(lane.lane, 0.6);
    lane.wants(2);
  }
  await turns();
  expect(kafka.written).toEqual([[0], [1], [0], [1]]);
  expect(parts.slice(0, 4)).toEqual(['0 5', '1 7.5', '0 5', '1 7.5']);
});

test('a lane that fails to add is lost alone, and nothing of it is committed', async () => {
  const kafka = new Kafka();
  const [failing, other] = lanesOf(kafka, 2);
  if (failing !== undefined)
    failing.onFill = () => {
      throw new TypeError('a bug');
    };
  failing?.wants();
  other?.wants();
  await turns();
  expect(kafka.written).toEqual([[1]]);
  expect([failing?.fate, other?.fate, new Lane(kafka, 2).fate]).toEqual(['own-failure', 'open', 'open']);
});

test('what finds no room is asked again what it adds, and goes out whole', async () => {
  const kafka = new Kafka();
  const [first, second] = lanesOf(kafka, 2);
  if (first !== undefined) first.content = () => commitOf(0, 0.6);
  if (second !== undefined) second.content = () => adding(commitOf(1, 0.6), second.askedMs.length);
  first?.wants();
  second?.wants();
  await turns();
  expect(kafka.written).toEqual([[0], [1, 4]]);
});

test('what is taken back before it can be sent is not written, and what is under way cannot be taken back', async () => {
  const kafka = new Kafka();
  const [alone, underWay, waiting] = [commitOf(0), commitOf(1), commitOf(2)];
  const handOver = (commit: LaneCommit): Promise<string> => kafka.loop.commit(commit).then(() => 'committed', lossOf);
  const [before, end] = [gate(), gate()];
  kafka.ended = before.promise;
  const fates = [handOver(alone)];
  await turns();
  kafka.loop.cancel(alone);
  before.open();
  await turns();
  kafka.answered = end.promise;
  fates.push(handOver(underWay));
  await turns();
  fates.push(handOver(waiting));
  for (const commit of [underWay, waiting]) kafka.loop.cancel(commit);
  end.open();
  expect(await Promise.all(fates)).toEqual(['with-others', 'committed', 'with-others']);
  expect(kafka.written).toEqual([[], [1]]);
});

test('closing commits what waits, and every lane that is left is lost; it may be closed twice', async () => {
  const kafka = new Kafka();
  const end = gate();
  kafka.answered = end.promise;
  const [idle] = lanesOf(kafka, 1);
  const commits = [1, 1, 2].map((lane) => kafka.loop.commit(commitOf(lane)));
  const closed = [kafka.loop.close(), kafka.loop.close()];
  end.open();
  await Promise.all([...commits, ...closed]);
  expect(kafka.written).toEqual([[1], [1, 2]]);
  expect(idle?.fate).toBe('with-others');
  await expect(kafka.loop.commit(commitOf(1))).rejects.toThrow('the process is shutting down');
});
