/** The local store of the ledger: it shows what was applied, survives its process, and is built anew when it must be. */
import { spawn, spawnSync } from 'node:child_process';
import fs, { existsSync, readFileSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { once } from 'node:events';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Entry } from '../../src/ledger/entry.ts';
import type { LedgerRecord } from '../../src/store/ledger-index.ts';
import { encodeEntry } from '../../src/ledger/entry-record.ts';
import { ownerRecords, ENTRY_PREFIX, OWNER_KEY, TRANSACTION_PREFIX } from '../../src/ledger/ledger-records.ts';
import { decodeTransactionState, encodeTransactionState, unseenState } from '../../src/status/transaction-state.ts';
import { donePhase, entryOf, entryRecord, intentPhase } from '../../proofs/bench/ledger-records.ts';
import { otherRelease } from '../ledger/other-release.ts';
import { markStage } from '../../src/store/store-soundness.ts';
import { LANES, openIndex, removeDirectory, temporaryDirectory } from './index-in-test.ts';

const WRITER = fileURLToPath(new URL('writing-process.ts', import.meta.url));
const READER = fileURLToPath(new URL('reading-process.ts', import.meta.url));

/** Of the writer. */
const WRITER_BATCH = 25;

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => removeDirectory(directory));

const FAR_MS = 10_000;
const everything = { doneMs: FAR_MS, transactionMs: FAR_MS };

/** What a record leaves behind; the model of the store is a map of these by key. */
type Change = { key: string; atMs: number } & (
  { kind: 'intent' | 'done' | 'unknown' | 'forgotten' } | { kind: 'transaction'; status: string | null }
);

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('intent', 'done', 'unknown', 'forgotten'),
    key: fc.constantFrom('c:a', 'c:b', 'c:c', 'c:d'),
    atMs: fc.nat(1000),
  }),
  fc.record({
    kind: fc.constant('transaction' as const),
    key: fc.constantFrom('t:1', 't:2'),
    atMs: fc.nat(1000),
    status: fc.constantFrom('PENDING', 'COMPLETED', 'FAILED'),
  }),
  fc.record({ kind: fc.constant('forgotten' as const), key: fc.constantFrom('t:1', 't:2'), atMs: fc.nat(1000) }),
);
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ lane: fc.nat(LANES - 1), changes: fc.array(change, { maxLength: 6 }) }) },
  { weight: 1, arbitrary: fc.constant('reopen' as const) },
  { weight: 1, arbitrary: fc.record({ forgetLane: fc.nat(LANES - 1) }) },
);

function entryFor({ key, kind, atMs }: Change): Entry {
  const name = key.slice(ENTRY_PREFIX.length);
  if (kind === 'intent') return entryOf(name, intentPhase(atMs), atMs, '{"amount":1}');
  const phase = donePhase(name, atMs);
  const commandType = name < 'c' ? 'transfer-in' : 'execute-quote';
  if (kind !== 'unknown' || phase.state !== 'DONE') return { ...entryOf(name, phase, atMs), commandType };
  // What is UNKNOWN has a call that may have taken effect.
  const lost = { firstSentMs: atMs, lastEndedMs: atMs };
  return { ...entryOf(name, { ...phase, outcome: 'UNKNOWN' }, atMs), ...lost, commandType };
}

function valueFor(made: Change, entry: Entry): Buffer | null {
  if (made.kind === 'forgotten') return null;
  if (made.kind !== 'transaction') return encodeEntry(entry);
  return encodeTransactionState({ ...unseenState(made.key.slice(2)), status: made.status, seenEndedMs: made.atMs });
}

interface Known extends LedgerRecord {
  readonly change: Change;
  readonly entry: Entry;
}

/** In the order in which they may be forgotten. */
function expiredOf(lane: ReadonlyMap<string, Known>): string[] {
  const byAge = (left: Known, right: Known): number =>
    left.change.atMs - right.change.atMs || Number(left.offset - right.offset);
  const known = [...lane.values()];
  const done = known.filter((each) => each.change.kind === 'done').sort(byAge);
  const resting = known
    .filter(({ change: { kind, ...rest } }) => kind === 'transaction' && 'status' in rest && rest.status !== 'PENDING')
    .sort(byAge);
  return [...done, ...resting].map(({ key }) => key);
}

interface Unknown {
  readonly key: string;
  readonly command: string;
  readonly completedMs: number;
}

function unknownOf(lane: ReadonlyMap<string, Known>): Unknown[] {
  return [...lane.values()]
    .filter(({ change: { kind } }) => kind === 'unknown')
    .map(({ change: { atMs }, entry: { commandType, key } }) => ({ key, command: commandType, completedMs: atMs }));
}

function byCommand(unknown: readonly Unknown[]): Record<string, { count: number; oldestMs: number }> {
  const groups = Map.groupBy(unknown, ({ command }) => command);
  return Object.fromEntries(
    [...groups].map(([command, each]) => [
      command,
      { count: each.length, oldestMs: Math.min(...each.map(({ completedMs }) => completedMs)) },
    ]),
  );
}

test('it shows what a map of the last records would show, also after it was closed and opened again', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const run = temporaryDirectory();
      let { index } = await openIndex(run);
      const model = Array.from({ length: LANES }, () => ({ next: 0n, known: new Map<string, Known>() }));
      for (const each of steps) {
        if (each === 'reopen') {
          await index.close();
          ({ index } = await openIndex(run));
        } else if ('forgetLane' in each) {
          index.forgetLane(each.forgetLane);
          model[each.forgetLane] = { next: 0n, known: new Map() };
        } else {
          const lane = model[each.lane]!;
          const records = each.changes.map((made, at): Known => {
            const entry = entryFor(made);
            const value = valueFor(made, entry);
            return { key: made.key, value, offset: lane.next + BigInt(at), timestampMs: 0, change: made, entry };
          });
          lane.next += BigInt(records.length);
          index.applyBatch(each.lane, records, lane.next);
          for (const record of records) {
            if (record.value === null) lane.known.delete(record.key);
            else lane.known.set(record.key, record);
          }
        }
        model.forEach(({ next, known }, lane) => {
          expect(index.checkpoint(lane).nextOffset).toBe(next);
          for (const key of ['a', 'b', 'c', 'd'])
            expect(index.entry(lane, key)).toEqual(known.get(ENTRY_PREFIX + key)?.entry);
          for (const key of ['t:1', 't:2']) expect(index.value(lane, key)).toEqual(known.get(key)?.value ?? undefined);
          const unfinished = [...known.values()].filter(({ change: { kind } }) => kind === 'intent');
          expect(new Set(index.unfinished(lane))).toEqual(new Set(unfinished.map(({ entry }) => entry)));
          const states = [...known.values()].filter(({ key }) => key.startsWith(TRANSACTION_PREFIX));
          expect(new Set([...index.transactions(lane, 0)].flat())).toEqual(new Set(states.map(({ value }) => value)));
          expect(index.expired(lane, everything, 100)).toEqual(expiredOf(known));
          const unknown = unknownOf(known);
          const counted = index.unknown(lane).map(({ command, ...figures }) => [command, figures]);
          expect(Object.fromEntries(counted)).toEqual(byCommand(unknown));
          const listed = index.oldestUnknown(lane, 100);
          expect(new Set(listed)).toEqual(new Set(unknown));
          expect(listed).toEqual(listed.toSorted((left, right) => left.completedMs - right.completedMs));
          expect(index.oldestUnknown(lane, 2)).toEqual(listed.slice(0, 2));
        });
        const entries = model.flatMap(({ known }) => [...known.keys()].filter((key) => key.startsWith(ENTRY_PREFIX)));
        expect(index.size()).toBe(entries.length);
      }
      await index.close();
      removeDirectory(run);
    }),
    { numRuns: 40 },
  );
});

function applyDone(index: Awaited<ReturnType<typeof openIndex>>['index'], count: number): void {
  const records = Array.from({ length: count }, (_, each) =>
    entryRecord(entryOf(`key-${each}`, donePhase(`key-${each}`, each), each), BigInt(each), each),
  );
  index.applyBatch(0, records, BigInt(count));
}

describe('a record that was applied a moment ago', () => {
  const record = (key: string, offset: bigint): LedgerRecord =>
    entryRecord(entryOf(key, donePhase(key, 1), 1), offset, 1);

  test('is found before it is written, and in the tick in which it is', async () => {
    const { index } = await openIndex(directory);
    expect(index.entry(0, 'key-1')).toBeUndefined();
    index.applyBatch(0, [record('key-1', 0n)], 1n);
    expect(index.entry(0, 'key-1')?.key).toBe('key-1');
    // Asks the tables, which have it from here on.
    expect(index.size()).toBe(1);
    expect(index.entry(0, 'key-1')?.key).toBe('key-1');
    index.applyBatch(0, [{ key: 'c:key-1', value: null, offset: 1n, timestampMs: 1 }], 2n);
    expect(index.entry(0, 'key-1')).toBeUndefined();
    expect(index.size()).toBe(0);
    expect(index.entry(0, 'key-1')).toBeUndefined();
    await index.close();
  });

  test('is written by itself, soon, or once it is much, of all lanes', async () => {
    const { index, folder } = await openIndex(directory);
    index.applyBatch(0, [record('key-1', 0n)], 1n);
    index.applyBatch(1, [record('key-2', 0n)], 1n);
    const data = join(folder, 'data.mdb');
    expect(readFileSync(data).includes('c:key-1')).toBe(false);
    await vi.waitFor(() => expect(readFileSync(data).includes('c:key-1')).toBe(true), { timeout: 5_000 });
    expect(readFileSync(data).includes('c:key-2')).toBe(true);
    const many = Array.from({ length: 2_000 }, (_, each) => record(`many-${each}`, BigInt(each + 1)));
    index.applyBatch(0, many, 2_001n);
    expect(readFileSync(data).includes('c:many-1999')).toBe(true);
    await index.close();
  });
});

test('entries that did not change are the same objects when they are asked for again', async () => {
  const { index } = await openIndex(directory);
  const intent = (key: string, offset: bigint): LedgerRecord =>
    entryRecord(entryOf(key, intentPhase(1), 1, '{}'), offset, 1);
  index.applyBatch(0, [intent('a', 0n), intent('b', 1n)], 2n);
  const [first] = index.unfinished(0);
  index.applyBatch(0, [intent('b', 2n)], 3n);
  expect(index.unfinished(0).map((entry) => entry.key)).toEqual(['a', 'b']);
  expect(index.unfinished(0)[0]).toBe(first);
  await index.close();
});

test('a ledger of JSON is refused, and its records are not taken', async () => {
  const { index, fatal } = await openIndex(directory);
  const json = { key: 'c:a', value: Buffer.from('{"v":1}'), offset: 0n, timestampMs: 0 };
  expect(() => index.applyBatch(0, [json], 1n)).toThrow(/JSON format of builds before/);
  expect([fatal, index.size()]).toEqual([[], 0]);
  await index.close();
});

test('schemas of other releases are known again after a restart', async () => {
  const newer = otherRelease('LedgerEntry', ({ fields }) => {
    fields.push({ name: 'addedIn3', type: ['null', 'string'] });
  });
  const value = newer.written(encodeEntry(entryOf('a', donePhase('a', 1), 1)), { addedIn3: 'x' });
  const first = await openIndex(directory);
  const records = [newer.schema, { key: 'c:a', value }].map((each, at) => ({
    ...each,
    offset: BigInt(at),
    timestampMs: 1,
  }));
  first.index.applyBatch(0, records, 2n);
  expect(first.index.entry(0, 'a')?.key).toBe('a');
  expect(first.index.expired(0, everything, 10)).toEqual(['c:a']);
  await first.index.close();
  // In a process that has met the schema nowhere else.
  const read = spawnSync(process.execPath, [READER, directory, 'a'], { encoding: 'utf8' });
  expect(read.stdout.trim()).toBe('DONE');
});

test('what may be forgotten is bounded by age and number, the oldest first', async () => {
  const { index } = await openIndex(directory);
  applyDone(index, 20);
  expect(index.expired(0, { doneMs: 10, transactionMs: 0 }, 100)).toHaveLength(10);
  expect(index.expired(0, { doneMs: 10, transactionMs: 0 }, 3)).toEqual(['c:key-0', 'c:key-1', 'c:key-2']);
  await index.close();
});

function transactionRecords(count: number): LedgerRecord[] {
  return Array.from({ length: count }, (_, each) => {
    const isOpen = each % 3 === 0;
    const state = {
      ...unseenState(`Transaction:${each}`),
      status: isOpen ? 'PENDING' : 'COMPLETED',
      seenEndedMs: each,
    };
    const value = encodeTransactionState(state);
    return { key: TRANSACTION_PREFIX + state.id, value, offset: BigInt(each), timestampMs: each };
  });
}

test('states of transactions come in groups, open ones first, without those at rest since long ago', async () => {
  const { index } = await openIndex(directory);
  index.applyBatch(0, transactionRecords(1000), 1000n);
  const ids: number[] = [];
  for (const group of index.transactions(0, 500)) {
    expect(group.length).toBeLessThanOrEqual(200);
    for (const value of group) ids.push(Number(decodeTransactionState(value).id.split(':')[1]));
    // Records that come between two groups change nothing about the records already there.
    const offset = BigInt(1000 + ids.length);
    index.applyBatch(0, [{ key: `t:new-${offset}`, value: null, offset, timestampMs: 0 }], offset + 1n);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const all = Array.from({ length: 1000 }, (_, each) => each);
  expect(ids).toEqual([
    ...all.filter((each) => each % 3 === 0),
    ...all.filter((each) => each % 3 !== 0 && each >= 500),
  ]);
  await index.close();
});

interface Writer {
  readonly folder: string;
  /** The offset after the last batch that it said it had applied. */
  readonly next: () => number;
  readonly kill: () => Promise<void>;
}

async function startWriter(first: number): Promise<Writer> {
  const child = spawn(process.execPath, [WRITER, directory, String(first)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  let folder = '';
  let next = first;
  let batches = 0;
  await new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (folder === '') folder = line;
      else next = Number(line);
      batches += 1;
      // Several times as much as is gathered.
      if (batches > 250) resolve();
    });
  });
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  return { folder, next: () => next, kill };
}

describe('a process that is killed', () => {
  test('leaves a store that the next one goes on with, at the end of a batch', async () => {
    let first = 0;
    for (let round = 0; round < 3; round += 1) {
      const writer = await startWriter(first);
      expect(writer.folder).toBe(join(directory, '0'));
      await writer.kill();
      const { index, rebuiltBecause } = await openIndex(directory);
      expect(rebuiltBecause).toBeNull();
      const applied = Number(index.checkpoint(0).nextOffset);
      // What it had gathered is read from the ledger again.
      expect(applied).toBeGreaterThan(first);
      expect((applied - first) % WRITER_BATCH).toBe(0);
      expect(index.size()).toBe(applied);
      for (let each = 0; each < applied; each += 1) {
        expect(index.entry(0, `key-${each}`)?.phase).toMatchObject({ state: 'DONE', completedMs: each });
      }
      expect(index.entry(0, `key-${applied}`)).toBeUndefined();
      await index.close();
      first = applied;
    }
  });

  test('held its folder until then: another process had one of its own', async () => {
    const [one, two] = await Promise.all([startWriter(0), startWriter(0)]);
    expect(new Set([one.folder, two.folder])).toEqual(new Set([join(directory, '0'), join(directory, '1')]));
    const third = await openIndex(directory);
    expect(third.folder).toBe(join(directory, '2'));
    await Promise.all([one.kill(), two.kill()]);
    await third.index.close();
    const fullest = await openIndex(directory);
    expect([one.folder, two.folder]).toContain(fullest.folder);
    expect(fullest.index.size()).toBeGreaterThan(0);
    await fullest.index.close();
  });
});

describe('a store is built anew', () => {
  async function madeStore(): Promise<string> {
    const { index, folder } = await openIndex(directory);
    applyDone(index, 300);
    await index.close();
    return folder;
  }
  async function reopened(identity: Parameters<typeof openIndex>[1] = {}): Promise<string | null> {
    const { index, rebuiltBecause } = await openIndex(directory, identity);
    expect(index.size()).toBe(rebuiltBecause === null && existsSync(join(directory, '0')) ? 300 : 0);
    await index.close();
    return rebuiltBecause;
  }
  const dataFile = (folder: string): string => join(folder, 'data.mdb');
  const changeFile = (change: (file: string) => void) => (folder: string) => change(dataFile(folder));
  const stop = (at: object) => (folder: string) => writeFileSync(join(folder, 'stage.json'), JSON.stringify(at));

  /** As `deaths` killed processes leave it. */
  const dieAfterOpening =
    (deaths: number, lastedMs = 0) =>
    (folder: string) => {
      for (let death = 1; death <= deaths; death += 1) {
        markStage(folder, 'opening');
        markStage(folder, 'open');
        const writtenMs = statSync(join(folder, 'stage.json')).mtimeMs + lastedMs;
        utimesSync(dataFile(folder), writtenMs / 1000, writtenMs / 1000);
      }
    };

  const removeOpen = (folder: string): void => {
    dieAfterOpening(1)(folder);
    rmSync(dataFile(folder));
  };

  test.each([
    ['nothing is wrong', () => undefined],
    ['four processes in a row died soon after they opened it', dieAfterOpening(4)],
    ['processes died that had worked for more than a minute', dieAfterOpening(7, 70_000)],
  ])('not when %s', async (_what, prepare) => {
    prepare(await madeStore());
    expect(await reopened()).toBeNull();
  });

  test.each([
    ['another cluster', { clusterId: 'cluster-2' }],
    ['another topic', { topic: 'other.internal.ledger.v1' }],
    ['another number of lanes', { laneCount: LANES + 1 }],
  ])('when it is of %s', async (_what, identity) => {
    await madeStore();
    expect(await reopened(identity)).toContain('another ledger');
  });

  test.each([
    [
      'a part of its file is missing',
      'its data.mdb',
      changeFile((file) => truncateSync(file, statSync(file).size >> 1)),
    ],
    ['its file is empty', 'its data.mdb', changeFile((file) => truncateSync(file, 0))],
    ['its file is something else', 'its data.mdb', changeFile((file) => writeFileSync(file, 'x'.repeat(100_000)))],
    ['the machine ended before it was closed', 'machine', stop({ stage: 'open', bootId: 'an earlier one' })],
    ['opening it killed the process', 'killed the process', stop({ stage: 'opening', bootId: null })],
    ['using it killed five processes in a row', '5 processes in a row', dieAfterOpening(5)],
  ])('when %s', async (_what, reason, harm) => {
    harm(await madeStore());
    expect(await reopened()).toContain(reason);
  });

  test.each([
    ['it was removed', (folder: string) => rmSync(folder, { recursive: true })],
    ['only its file was removed while it was open', removeOpen],
  ])('when %s', async (_what, harm) => {
    harm(await madeStore());
    const { index, rebuiltBecause } = await openIndex(directory);
    expect([rebuiltBecause, index.size(), index.checkpoint(0).nextOffset]).toEqual([null, 0, 0n]);
    await index.close();
  });

  test('after a row was found damaged, which ends the process', async () => {
    const file = dataFile(await madeStore());
    const bytes = readFileSync(file);
    for (let at = bytes.indexOf('c:key-7'); at !== -1; at = bytes.indexOf('c:key-7', at + 1)) bytes.write('X', at + 2);
    writeFileSync(file, bytes);
    const { index, fatal } = await openIndex(directory);
    expect(() => Array.from({ length: 300 }, (_, each) => index.entry(0, `key-${each}`))).toThrow('checksum');
    expect(fatal).toHaveLength(1);
    await index.close();
  });
});

test.each([
  ['', 1, 'fsync of its last writes failed: EIO: i/o error, fsync'],
  [', and the mark that says so,', 2, null],
])('a store whose last writes%s the disk refused at its close is built anew', async (_also, failures, reason) => {
  const { index } = await openIndex(directory);
  applyDone(index, 300);
  const { fsyncSync } = fs;
  let failed = 0;
  fs.fsyncSync = () => {
    failed += 1;
    if (failed === failures) restore();
    throw new Error('EIO: i/o error, fsync');
  };
  const restore = (): void => {
    fs.fsyncSync = fsyncSync;
    syncBuiltinESMExports();
  };
  syncBuiltinESMExports();
  await expect(index.close()).rejects.toThrow('EIO');
  const next = await openIndex(directory);
  expect(next.rebuiltBecause).toBe(reason);
  expect(next.index.size()).toBe(0);
  await next.index.close();
});

test('the owner and the last timestamp are kept with the checkpoint', async () => {
  const ids = { token: 'token-1', processId: 'process-1', transactionalId: 'group-lane-1' };
  const owner = { ...ids, atMs: 5, barren: 0, fencedCallUntilMs: 0, laneCount: 1 };
  const first = await openIndex(directory);
  const record = { key: OWNER_KEY, value: ownerRecords.encode(owner), offset: 7n, timestampMs: 1234 };
  first.index.applyBatch(1, [record], 9n);
  await first.index.close();
  const { index } = await openIndex(directory);
  expect(index.owner(1)).toEqual(owner);
  expect(index.checkpoint(1)).toMatchObject({ nextOffset: 9n, timestampMs: 1234 });
  expect(index.owner(0)).toBeUndefined();
  await index.close();
});
