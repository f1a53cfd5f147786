/** Handlers of several keys at once: of one key in order, and an offset is passed only once all before it are handled. */
import { describe, expect, test } from 'vitest';
import { KeyedWork } from '../src/kafka/keyed-work.ts';

/** Work that ends on request. */
class Records {
  readonly log: string[] = [];
  readonly passed: number[] = [];
  readonly #ends: ((isDone: boolean) => void)[] = [];
  readonly #work: KeyedWork;

  constructor(work: KeyedWork) {
    this.#work = work;
  }

  begin(index: number, key: string, afterwards: () => Promise<void> = async () => undefined): void {
    const done = new Promise<boolean>((resolve) => (this.#ends[index] = resolve));
    const work = async (): Promise<boolean> => {
      this.log.push(`${key}${index}`);
      return done;
    };
    this.#work.begin(key, work, () => this.passed.push(index), afterwards);
  }

  async end(index: number, isDone = true): Promise<void> {
    this.#ends[index]?.(isDone);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('work by key', () => {
  test('runs several keys at once, one key in order, and passes in order', async () => {
    const work = new KeyedWork(3);
    const records = new Records(work);
    for (const [index, key] of ['a', 'b', 'a'].entries()) records.begin(index, key);
    await records.end(1);
    expect(records.log).toEqual(['a0', 'b1']);
    expect(records.passed).toEqual([]);
    await records.end(0);
    expect(records.log).toEqual(['a0', 'b1', 'a2']);
    expect(records.passed).toEqual([0, 1]);
    await records.end(2);
    await work.finish();
    expect(records.passed).toEqual([0, 1, 2]);
  });

  test('gives out no more places than its limit, and passes nothing after what failed', async () => {
    const work = new KeyedWork(2);
    const records = new Records(work);
    records.begin(0, 'a');
    records.begin(1, 'b');
    let hasSlot = false;
    const slot = work.slot().then(() => (hasSlot = true));
    await records.end(1);
    await slot;
    expect(hasSlot).toBe(true);
    await records.end(0, false);
    await work.settled();
    expect(records.passed).toEqual([]);
  });

  test('hands on what a commit threw, and begins nothing after it', async () => {
    const work = new KeyedWork(1);
    const records = new Records(work);
    records.begin(0, 'a', async () => Promise.reject(new Error('the coordinator moved')));
    await records.end(0);
    await expect(work.slot()).rejects.toThrow('the coordinator moved');
    await expect(work.finish()).rejects.toThrow('the coordinator moved');
  });
});
