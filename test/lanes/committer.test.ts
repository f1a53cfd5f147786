/** A producer that breaks takes all lanes along, and what follows; it and former owners are fenced. What goes out: loop.test.ts. */
import { expect, test, vi } from 'vitest';
import { Committer } from '../../src/lanes/commits/committer.ts';
import type { LaneCommit } from '../../src/lanes/commits/lane-commit.ts';
import type { Loop } from '../../src/lanes/commits/loop.ts';
import { lossOf } from '../../src/lanes/commits/troubles.ts';
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
        const batches = await wanted();
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
function of(key: string): LaneCommit {
  const lane = key.charCodeAt(0);
  const record = { topic: 'ledger', partition: lane, key, value: null, headers: {} };
  return { lane, records: [record], shares: new Map(), bytes: 1 };
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

function handOver(loop: Loop, ...commits: readonly LaneCommit[]): Promise<string>[] {
  return commits.map((commit) => fateOf(loop.commit(commit)));
}

test('after a failure every lane is lost, and what comes next is written under another transactional id', async () => {
  const kafka = new Producers();
  const committer = kafka.committer();
  const loop = committer.loop();
  const { promise, reject: lost } = Promise.withResolvers<never>();
  const idle = fateOf(promise);
  loop.join({ lane: 0, fill: () => null, committed: () => undefined, lost });
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
