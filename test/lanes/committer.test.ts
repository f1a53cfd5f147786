/**
 * What lanes commit, with what they add until it can be sent, goes out together, in order, as far as partitions have room; a
 * producer that breaks takes all along.
 */
import { expect, test, vi } from 'vitest';
import { Committer } from '../../src/lanes/committer.ts';
import type { LaneCommit } from '../../src/lanes/lane-commit.ts';
import type { Loop, Seat } from '../../src/lanes/loop.ts';
import { lossOf } from '../../src/lanes/troubles.ts';
import { TransactionFailedError, type TransactionalProducer } from '../../src/producers/transactional-producer.ts';

const REFUSED = new TransactionFailedError('commit failed: too large', { failure: 'refused' });
const LOST = new TransactionFailedError('commit failed: connection lost');

/** Committed batches, transaction by transaction; each waits until the test lets it through. */
class Producers {
  readonly committed: string[][] = [];
  readonly fenced: string[] = [];
  readonly made: string[] = [];
  failure: Error | null = null;
  fenceFailure: Error | null = null;
  /** Once the coordinator has ended the transaction before. */
  ended: Promise<unknown> = Promise.resolve();
  nowMs = 0;
  #letThrough: (() => void)[] = [];

  committer(): Committer {
    const clock = { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs };
    return new Committer({ groupId: 'group', clock, makeProducer: (id) => this.#make(id) });
  }

  async next(): Promise<void> {
    await settled();
    this.#letThrough.shift()?.();
    await settled();
  }

  #make(transactionalId: string): TransactionalProducer {
    const producer: Pick<TransactionalProducer, 'open' | 'commit' | 'drop' | 'fence'> = {
      open: async () => void this.made.push(transactionalId),
      commit: async (_expected, wanted) => {
        await this.ended;
        const batches = await wanted();
        if (batches.length === 0) return new Map();
        await new Promise<void>((resolve) => this.#letThrough.push(resolve));
        if (this.failure !== null) throw this.failure;
        this.committed.push(batches.map(({ partition }) => String.fromCharCode(partition)));
        return new Map();
      },
      drop: () => undefined,
      fence: async () => {
        this.fenced.push(transactionalId);
        if (this.fenceFailure !== null) throw this.fenceFailure;
      },
    };
    return producer as TransactionalProducer;
  }
}

/** Each from a lane of its own. */
function of(key: string, shares: Record<string, number> = {}, bytes = 1): LaneCommit {
  const lane = key.charCodeAt(0);
  const record = { topic: 'ledger', partition: lane, key, value: null, headers: {} };
  return { lane, records: [record], shares: new Map(Object.entries(shares)), bytes };
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/** How the lane was lost, or that it was not. */
async function fateOf(commit: Promise<unknown>): Promise<string> {
  return commit.then(
    () => 'committed',
    (error: unknown) => lossOf(error),
  );
}

/** A lane that has this to commit each time that it is asked, until it has committed it so often. */
function joined(loop: Loop, lane: string, fill: (untilMs: number) => LaneCommit | null, times = 1): Promise<string> {
  const { promise, reject, resolve } = Promise.withResolvers<undefined>();
  let left = times;
  const seat: Seat = loop.join({
    lane: lane.charCodeAt(0),
    fill: (untilMs) => (left > 0 ? fill(untilMs) : null),
    committed: () => {
      left -= 1;
      if (left > 0) return;
      seat.leave();
      resolve(undefined);
    },
    lost: reject,
  });
  return fateOf(promise);
}

function handOver(loop: Loop, ...commits: readonly LaneCommit[]): Promise<string>[] {
  return commits.map((commit) => fateOf(loop.commit(commit)));
}

test('what lanes hand over while a transaction is under way goes into the next one, in that order', async () => {
  const kafka = new Producers();
  const loop = kafka.committer().loop();
  const first = handOver(loop, of('a'));
  await settled();
  const others = handOver(loop, of('b'), of('c'), of('d'));
  await kafka.next();
  await kafka.next();
  expect(await Promise.all([...first, ...others])).toEqual(Array(4).fill('committed'));
  expect(kafka.committed).toEqual([['a'], ['b', 'c', 'd']]);
});

test('a transaction takes no more of one partition than a batch there may have, and no more bytes than are bounded', async () => {
  const kafka = new Producers();
  const loop = kafka.committer().loop();
  const large = 5 * 1024 * 1024;
  const all = handOver(
    loop,
    of('f'),
    of('b', { 'observations/1': 0.6 }),
    of('c', { 'observations/1': 0.5 }),
    of('d', { 'observations/2': 0.5 }, large),
    of('e', {}, large),
  );
  for (let transaction = 0; transaction < 4; transaction += 1) await kafka.next();
  expect(await Promise.all(all)).toEqual(Array(5).fill('committed'));
  expect(kafka.committed).toEqual([['f', 'b'], ['c', 'd'], ['e']]);
});

test('while the transaction before is still being ended, lanes add to what goes into the next one', async () => {
  const kafka = new Producers();
  const loop = kafka.committer().loop();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  kafka.ended = promise;
  const first = of('a');
  let filled = 0;
  const adding = joined(loop, 'a', () => {
    filled += 1;
    return filled === 1 ? first : { ...first, records: [...first.records, ...of('b').records] };
  });
  await settled();
  const later = handOver(loop, of('c'));
  resolve(undefined);
  await kafka.next();
  expect(await Promise.all([adding, ...later])).toEqual(['committed', 'committed']);
  expect(kafka.committed).toEqual([['a', 'b', 'c']]);
});

test('lanes share a turn: each has its part of the remaining time, and the lane that committed last comes last', async () => {
  const kafka = new Producers();
  const loop = kafka.committer().loop();
  const parts: string[] = [];
  const all = ['a', 'b'].map((lane) =>
    joined(
      loop,
      lane,
      (untilMs) => {
        parts.push(`${lane} ${untilMs - kafka.nowMs}`);
        // The first leaves half of its part to the other.
        kafka.nowMs = parts.length % 2 === 1 ? (kafka.nowMs + untilMs) / 2 : untilMs;
        return of(lane, { 'observations/1': 0.6 });
      },
      2,
    ),
  );
  for (let transaction = 0; transaction < 4; transaction += 1) await kafka.next();
  expect(await Promise.all(all)).toEqual(['committed', 'committed']);
  expect(kafka.committed).toEqual([['a'], ['b'], ['a'], ['b']]);
  expect(parts.slice(0, 4)).toEqual(['a 5', 'b 7.5', 'a 5', 'b 7.5']);
});

test('a lane that fails to add is lost alone, and nothing of it is committed', async () => {
  const kafka = new Producers();
  const loop = kafka.committer().loop();
  const failing = joined(loop, 'a', () => {
    throw new TypeError('a bug');
  });
  const other = handOver(loop, of('b'));
  await kafka.next();
  expect(await Promise.all([failing, ...other])).toEqual(['own-failure', 'committed']);
  expect(kafka.committed).toEqual([['b']]);
  expect(loop.isBroken()).toBe(false);
});

test('what finds no room is asked again what it adds, and goes out whole', async () => {
  const kafka = new Producers();
  const loop = kafka.committer().loop();
  let asked = 0;
  const waiting = of('b', { 'observations/1': 0.6 });
  const first = handOver(loop, of('a', { 'observations/1': 0.6 }));
  const second = joined(loop, 'b', () => {
    asked += 1;
    return { ...waiting, records: [...waiting.records, ...of(String(asked)).records] };
  });
  await kafka.next();
  await kafka.next();
  expect(await Promise.all([...first, second])).toEqual(['committed', 'committed']);
  expect(kafka.committed).toEqual([['a'], ['b', '4']]);
});

test('where all is taken back before it can be sent, no transaction is written', async () => {
  const kafka = new Producers();
  const loop = kafka.committer().loop();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  kafka.ended = promise;
  const commit = of('a');
  const handed = handOver(loop, commit);
  await settled();
  loop.cancel(commit);
  resolve(undefined);
  expect(await Promise.all(handed)).toEqual(['with-others']);
  const next = handOver(loop, of('b'));
  await kafka.next();
  expect(await Promise.all(next)).toEqual(['committed']);
  expect(kafka.committed).toEqual([['b']]);
});

test('a lane that ends takes back the commits that are not under way, and nothing else', async () => {
  const kafka = new Producers();
  const loop = kafka.committer().loop();
  const [underWay, waiting] = [of('u'), of('w')];
  const first = handOver(loop, underWay);
  await settled();
  const second = handOver(loop, waiting);
  loop.cancel(underWay);
  loop.cancel(waiting);
  await kafka.next();
  expect(await Promise.all([...first, ...second])).toEqual(['committed', 'with-others']);
  expect(kafka.committed).toEqual([['u']]);
});

test('after a failure every lane is lost, and what comes next is written under another transactional id', async () => {
  const kafka = new Producers();
  const committer = kafka.committer();
  const loop = committer.loop();
  const idle = joined(loop, 'i', () => null);
  kafka.failure = LOST;
  const first = handOver(loop, of('a'), of('b'));
  await settled();
  const waiting = handOver(loop, of('c'));
  await kafka.next();
  expect(await Promise.all([...first, ...waiting])).toEqual(['not-committed', 'not-committed', 'with-others']);
  expect(await fateOf(loop.commit(of('d')))).toBe('with-others');
  expect(await idle).toBe('with-others');
  kafka.failure = null;
  const again = handOver(committer.loop(), of('e'));
  await kafka.next();
  expect(await Promise.all(again)).toEqual(['committed']);
  expect(new Set(kafka.made).size).toBe(2);
});

test('what the broker refuses of several lanes together is nobody’s; then each commits apart, and it shows whose it is', async () => {
  const kafka = new Producers();
  const committer = kafka.committer();
  kafka.failure = REFUSED;
  const together = handOver(committer.loop(), of('a'), of('b'));
  await kafka.next();
  expect(await Promise.all(together)).toEqual(['with-others', 'with-others']);
  kafka.failure = null;
  const apart = handOver(committer.loop(), of('a'), of('b'));
  await kafka.next();
  expect(kafka.committed).toEqual([['a']]);
  kafka.failure = REFUSED;
  await kafka.next();
  expect(await Promise.all(apart)).toEqual(['committed', 'refused']);
  kafka.failure = null;
  kafka.nowMs += 60_000;
  const later = handOver(committer.loop(), of('c'), of('d'));
  await kafka.next();
  expect(await Promise.all(later)).toEqual(['committed', 'committed']);
  expect(kafka.committed).toEqual([['a'], ['c', 'd']]);
});

test('a transactional id is fenced once, however many lanes ask', async () => {
  const kafka = new Producers();
  const committer = kafka.committer();
  await Promise.all(['former', 'former', 'other'].map((id) => committer.fence(id)));
  await committer.fence('former');
  expect(kafka.fenced).toEqual(['former', 'other']);
  expect([...committer.fenced()]).toEqual(['former', 'other']);
});

test('of a broken loop that cannot be fenced nothing is said, and it is not tried for ever', async () => {
  vi.useFakeTimers();
  const kafka = new Producers();
  kafka.fenceFailure = LOST;
  const committer = kafka.committer();
  committer.disown('broken', of('c'));
  await vi.runAllTimersAsync();
  expect(kafka.fenced).toEqual(['broken', 'broken', 'broken']);
  expect(kafka.made).toEqual([]);
  await committer.close();
  vi.useRealTimers();
});

test('what a broken loop claimed is said by a loop of its own: where the ledger takes nothing, no lane is lost', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const kafka = new Producers();
  const committer = kafka.committer();
  const present = committer.loop();
  kafka.failure = LOST;
  committer.disown('broken', of('claim'));
  for (let tries = 0; tries < 3; tries += 1) {
    await kafka.next();
    await vi.runAllTimersAsync();
  }
  expect(kafka.made).toHaveLength(3);
  expect(present.isBroken()).toBe(false);
  expect(committer.loop()).toBe(present);
  kafka.failure = null;
  const handedOver = handOver(present, of('a'));
  await kafka.next();
  expect(await Promise.all(handedOver)).toEqual(['committed']);
  vi.useRealTimers();
});
