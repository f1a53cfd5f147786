/**
 * What lanes hand over, with what they add until it can be sent, goes out together, in order, as far as partitions have room; a
 * producer that breaks takes all along.
 */
import { expect, test, vi } from 'vitest';
import { Committer, type LaneCommit, type Writer } from '../../src/lanes/committer.ts';
import { lossOf } from '../../src/lanes/troubles.ts';
import { TransactionFailedError, type TransactionalProducer } from '../../src/producers/transactional-producer.ts';

const REFUSED = new TransactionFailedError('commit failed: too large', { failure: 'refused' });
const LOST = new TransactionFailedError('commit failed: connection lost');

/** What was committed, transaction by transaction; each waits to be let through. */
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

function handOver(writer: Writer, ...commits: readonly LaneCommit[]): Promise<string>[] {
  return commits.map((commit) => fateOf(writer.commit(commit)));
}

test('what lanes hand over while a transaction is under way goes into the next one, in that order', async () => {
  const kafka = new Producers();
  const writer = kafka.committer().writer();
  const first = handOver(writer, of('a'));
  await settled();
  const others = handOver(writer, of('b'), of('c'), of('d'));
  await kafka.next();
  await kafka.next();
  expect(await Promise.all([...first, ...others])).toEqual(Array(4).fill('committed'));
  expect(kafka.committed).toEqual([['a'], ['b', 'c', 'd']]);
});

test('a transaction takes no more of one partition than a batch there may have, and no more bytes than are bounded', async () => {
  const kafka = new Producers();
  const writer = kafka.committer().writer();
  const large = 5 * 1024 * 1024;
  const all = handOver(
    writer,
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

test('while the transaction before is still being ended, lanes hand over and add to what goes into the next one', async () => {
  const kafka = new Producers();
  const writer = kafka.committer().writer();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  kafka.ended = promise;
  const [first, added] = [of('a'), of('b')];
  const both = { ...first, records: [...first.records, ...added.records] };
  const handed = writer.commit(first, () => both);
  await settled();
  const later = writer.commit(of('c'));
  resolve(undefined);
  await kafka.next();
  expect((await handed).commit).toBe(both);
  expect((await later).commit.records).toHaveLength(1);
  expect(kafka.committed).toEqual([['a', 'b', 'c']]);
});

test('lanes of one transaction begin their next in another order: the first has most of the turn that they share', async () => {
  const kafka = new Producers();
  const writer = kafka.committer().writer();
  const begun: string[] = [];
  const lane = async (name: string): Promise<void> => {
    for (let commits = 0; commits < 3; commits += 1) {
      begun.push(name);
      await writer.commit(of(name));
    }
  };
  const all = ['a', 'b', 'c'].map((name) => lane(name));
  for (let transaction = 0; transaction < 3; transaction += 1) await kafka.next();
  await Promise.all(all);
  expect(begun.join('')).toBe('abc' + 'bca' + 'cab');
});

test('a lane that fails to add is lost alone, and nothing of it is committed', async () => {
  const kafka = new Producers();
  const writer = kafka.committer().writer();
  const failing = fateOf(
    writer.commit(of('a'), () => {
      throw new TypeError('a bug');
    }),
  );
  const other = fateOf(writer.commit(of('b')));
  await kafka.next();
  expect(await Promise.all([failing, other])).toEqual(['own-failure', 'committed']);
  expect(kafka.committed).toEqual([['b']]);
  expect(writer.isBroken()).toBe(false);
});

test('what finds no room is asked again what it adds, and goes out whole', async () => {
  const kafka = new Producers();
  const writer = kafka.committer().writer();
  let asked = 0;
  const waiting = of('b', { 'observations/1': 0.6 });
  const handed = [
    writer.commit(of('a', { 'observations/1': 0.6 })),
    writer.commit(waiting, () => {
      asked += 1;
      return { ...waiting, records: [...waiting.records, ...of(String(asked)).records] };
    }),
  ];
  await kafka.next();
  await kafka.next();
  await Promise.all(handed);
  expect(kafka.committed).toEqual([['a'], ['b', '2']]);
});

test('where all is taken back before it can be sent, no transaction is written', async () => {
  const kafka = new Producers();
  const writer = kafka.committer().writer();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  kafka.ended = promise;
  const commit = of('a');
  const handed = handOver(writer, commit);
  await settled();
  writer.cancel(commit);
  resolve(undefined);
  expect(await Promise.all(handed)).toEqual(['with-others']);
  const next = handOver(writer, of('b'));
  await kafka.next();
  expect(await Promise.all(next)).toEqual(['committed']);
  expect(kafka.committed).toEqual([['b']]);
});

test('a lane that ends takes back what is not under way, and nothing else', async () => {
  const kafka = new Producers();
  const writer = kafka.committer().writer();
  const [underWay, waiting] = [of('u'), of('w')];
  const first = handOver(writer, underWay);
  await settled();
  const second = handOver(writer, waiting);
  writer.cancel(underWay);
  writer.cancel(waiting);
  await kafka.next();
  expect(await Promise.all([...first, ...second])).toEqual(['committed', 'with-others']);
  expect(kafka.committed).toEqual([['u']]);
});

test('two commits of one lane are never in one transaction: where each lies in its ledger follows from the answer', async () => {
  const kafka = new Producers();
  const writer = kafka.committer().writer();
  const handed = handOver(writer, of('a'), of('b'), of('a'), of('c'));
  for (const together of [
    ['a', 'b'],
    ['a', 'c'],
  ]) {
    await kafka.next();
    expect(kafka.committed.at(-1)).toEqual(together);
  }
  expect(await Promise.all(handed)).toEqual(Array(4).fill('committed'));
});

test('after a failure every lane is lost, and what comes next is written under another transactional id', async () => {
  const kafka = new Producers();
  const committer = kafka.committer();
  const writer = committer.writer();
  let told = 0;
  writer.onBroken(() => (told += 1));
  kafka.failure = LOST;
  const first = handOver(writer, of('a'), of('b'));
  await settled();
  const waiting = handOver(writer, of('c'));
  await kafka.next();
  expect(await Promise.all([...first, ...waiting])).toEqual(['not-committed', 'not-committed', 'with-others']);
  expect(await fateOf(writer.commit(of('d')))).toBe('with-others');
  expect(() => writer.assertWhole()).toThrow();
  expect(told).toBe(1);
  kafka.failure = null;
  const again = handOver(committer.writer(), of('e'));
  await kafka.next();
  expect(await Promise.all(again)).toEqual(['committed']);
  expect(new Set(kafka.made).size).toBe(2);
});

test('what the broker refuses of several lanes together is nobody’s; then each commits apart, and it shows whose it is', async () => {
  const kafka = new Producers();
  const committer = kafka.committer();
  kafka.failure = REFUSED;
  const together = handOver(committer.writer(), of('a'), of('b'));
  await kafka.next();
  expect(await Promise.all(together)).toEqual(['with-others', 'with-others']);
  kafka.failure = null;
  const apart = handOver(committer.writer(), of('a'), of('b'));
  await kafka.next();
  expect(kafka.committed).toEqual([['a']]);
  kafka.failure = REFUSED;
  await kafka.next();
  expect(await Promise.all(apart)).toEqual(['committed', 'refused']);
  kafka.failure = null;
  kafka.nowMs += 60_000;
  const later = handOver(committer.writer(), of('c'), of('d'));
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

test('of a broken writer that cannot be fenced nothing is said, and it is not tried for ever', async () => {
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

test('what a broken writer claimed is said by a writer of its own: where the ledger takes nothing, no lane is lost', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const kafka = new Producers();
  const committer = kafka.committer();
  const present = committer.writer();
  kafka.failure = LOST;
  committer.disown('broken', of('claim'));
  for (let tries = 0; tries < 3; tries += 1) {
    await kafka.next();
    await vi.runAllTimersAsync();
  }
  expect(kafka.made).toHaveLength(3);
  expect(present.isBroken()).toBe(false);
  expect(committer.writer()).toBe(present);
  kafka.failure = null;
  const handedOver = handOver(present, of('a'));
  await kafka.next();
  expect(await Promise.all(handedOver)).toEqual(['committed']);
  vi.useRealTimers();
});
