/**
 * The local store of the ledger, measured: `node proofs/bench/ledger-store.ts --keys 1000000 [--lanes 6] [--json]`.
 *
 *   rebuild   a compacted ledger (per key one finished entry and one transaction) applied in batches, as after a loss
 *   live      commits as an owner makes them (intents, then results), each its own batch
 *   open      the store closed and opened again
 *   read      copies looked up by key, in random order; and keys that are not known
 *   expire    everything tombstoned
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { LedgerRecord } from '../../src/store/ledger-index.ts';
import { LmdbLedgerIndex } from '../../src/store/lmdb-ledger-index.ts';
import { recordRestingSinceMs } from '../../src/status/transaction-state.ts';
import { memoryOf, type Memory } from './process-memory.ts';
import { donePhase, entryOf, entryRecord, intentPhase, positionRecord, transactionRecord } from './ledger-records.ts';

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '1000000' },
    lanes: { type: 'string', default: '6' },
    json: { type: 'boolean', default: false },
  },
});
const keyCount = Number(values.keys);
const laneCount = Number(values.lanes);

/** Records of one fetch of a megabyte. */
const BATCH_RECORDS = 800;
const LIVE_COMMITS = 2_000;
const LIVE_COMMANDS = 20;
const READS = 100_000;
const PROGRESS_MS = 5_000;
const START_MS = 1_767_225_600_000;
const IDENTITY = { topic: 'payments.internal.ledger.v1', laneCount, clusterId: 'bench', topicId: null };

const directory = mkdtempSync(join(tmpdir(), 'ledger-store-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

const keys = (index: number): string => `order-${String(index).padStart(9, '0')}-2f6c0a`;
const laneOfIndex = (index: number): number => Math.floor(index / BATCH_RECORDS) % laneCount;
const offsets = Array.from({ length: laneCount }, () => 0n);
const nextOffset = (lane: number): bigint => {
  const offset = offsets[lane] ?? 0n;
  offsets[lane] = offset + 1n;
  return offset;
};

const memoryNow = (): Memory => {
  globalThis.gc?.();
  return memoryOf(process.pid);
};

/** LMDB's readers, and the pages that they hold, go on with the event loop; so does the processor between two fetches. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

let shownMs = performance.now();
/** A line from time to time: on a busy machine the whole takes many minutes. */
function progress(stage: string, done: number): void {
  const nowMs = performance.now();
  if (nowMs - shownMs < PROGRESS_MS) return;
  shownMs = nowMs;
  console.error(`${stage}: ${done}, ${perSecond(done, spentMs)} per second of CPU`);
}

let spentMs = 0;
/** Counts the store's own time, not that of making what goes in. */
function timed<Value>(work: () => Value): Value {
  const began = process.cpuUsage();
  const value = work();
  const { user, system } = process.cpuUsage(began);
  spentMs += (user + system) / 1000;
  return value;
}
function takeSpentMs(): number {
  const taken = spentMs;
  spentMs = 0;
  return taken;
}

async function openIndex(): Promise<LmdbLedgerIndex> {
  const index = new LmdbLedgerIndex({
    stateDirectory: directory,
    laneCount,
    restingSince: recordRestingSinceMs,
    nowMs: () => Date.now(),
    onFatal: (error) => {
      throw error;
    },
  });
  const { rebuiltBecause } = await index.open(IDENTITY);
  if (rebuiltBecause !== null) throw new Error(rebuiltBecause);
  return index;
}

const perSecond = (count: number, ms: number): number => Math.round((count / ms) * 1000);

const fileBytes = (): number => {
  const file = join(directory, '0', 'data.mdb');
  return existsSync(file) ? statSync(file).size : 0;
};

const emptyMemory = memoryNow();
let index = await openIndex();
let inputBytes = 0;
for (let first = 0; first < keyCount; first += BATCH_RECORDS / 2) {
  const lane = laneOfIndex(first);
  const records: LedgerRecord[] = [];
  for (let each = first; each < Math.min(first + BATCH_RECORDS / 2, keyCount); each += 1) {
    const atMs = START_MS + each;
    records.push(entryRecord(entryOf(keys(each), donePhase(keys(each), atMs), atMs), nextOffset(lane), atMs));
    records.push(transactionRecord(`Transaction:${randomUUID()}`, atMs, nextOffset(lane)));
  }
  records.push(positionRecord(randomUUID(), 1, nextOffset(lane), START_MS + first));
  inputBytes += records.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0);
  timed(() => index.applyBatch(lane, records, offsets[lane] ?? 0n));
  await turn();
  progress('keys rebuilt', Math.min(first + BATCH_RECORDS / 2, keyCount));
}
const rebuildMs = takeSpentMs();
const rebuiltBytes = fileBytes();
const rebuiltMemory = memoryNow();

let slowestCommitMs = 0;
for (let commit = 0; commit < LIVE_COMMITS; commit += 1) {
  const lane = commit % laneCount;
  const atMs = START_MS + keyCount + commit;
  const live = Array.from({ length: LIVE_COMMANDS }, (_, each) => `live-${commit}-${each}`);
  const intents = live.map((key) => entryRecord(entryOf(key, intentPhase(atMs), atMs, '{}'), nextOffset(lane), atMs));
  const results = live.map((key) => entryRecord(entryOf(key, donePhase(key, atMs), atMs), nextOffset(lane), atMs));
  for (const records of [intents, results]) {
    const beganMs = performance.now();
    timed(() => index.applyBatch(lane, records, nextOffset(lane) + 1n));
    slowestCommitMs = Math.max(slowestCommitMs, performance.now() - beganMs);
    await turn();
  }
}
const liveMs = takeSpentMs();

await index.close();
const openBeganMs = performance.now();
index = await openIndex();
const openMs = performance.now() - openBeganMs;

let found = 0;
timed(() => {
  for (let read = 0; read < READS; read += 1) {
    const each = Math.floor(Math.random() * keyCount);
    const lane = laneOfIndex(Math.floor(each / (BATCH_RECORDS / 2)) * (BATCH_RECORDS / 2));
    if (index.entry(lane, keys(each)) !== undefined) found += 1;
  }
});
const readMs = takeSpentMs();
timed(() => {
  for (let read = 0; read < READS; read += 1) if (index.entry(0, `unknown-${read}`) !== undefined) found += 1;
});
const missMs = takeSpentMs();
if (found !== READS) throw new Error(`${found} of ${READS} keys were found`);

let tombstones = 0;
const farMs = START_MS * 2;
for (let lane = 0; lane < laneCount; lane += 1) {
  for (;;) {
    const expired = timed(() => index.expired(lane, { doneMs: farMs, transactionMs: farMs }, 500));
    if (expired.length === 0) break;
    const records = expired.map((key) => ({ key, value: null, state: null, offset: nextOffset(lane), timestampMs: 0 }));
    timed(() => index.applyBatch(lane, records, offsets[lane] ?? 0n));
    tombstones += expired.length;
    progress('rows expired', tombstones);
    await turn();
  }
}
const expireMs = takeSpentMs();
if (index.size() !== 0) throw new Error(`${index.size()} keys were not forgotten`);
await index.close();

const report = {
  keys: keyCount,
  lanes: laneCount,
  inputBytesPerKey: Math.round(inputBytes / keyCount),
  diskBytesPerKey: Math.round(rebuiltBytes / keyCount),
  diskMegabytes: Math.round(rebuiltBytes / 1e6),
  mebibytesEmpty: emptyMemory.resident,
  mebibytesRebuilt: rebuiltMemory.resident,
  mebibytesRebuiltOfFiles: rebuiltMemory.files,
  rebuildSeconds: Number((rebuildMs / 1000).toFixed(1)),
  rebuildKeysPerSecond: perSecond(keyCount, rebuildMs),
  liveCommandsPerSecond: perSecond(LIVE_COMMITS * LIVE_COMMANDS, liveMs),
  liveMsPerCommit: Number((liveMs / LIVE_COMMITS / 2).toFixed(2)),
  liveMsPerCommitSlowest: Math.round(slowestCommitMs),
  openMs: Math.round(openMs),
  readsPerSecond: perSecond(READS, readMs),
  missesPerSecond: perSecond(READS, missMs),
  tombstonesPerSecond: perSecond(tombstones, expireMs),
};
if (values.json) console.log(JSON.stringify(report, null, 2));
else for (const [name, value] of Object.entries(report)) console.log(`${name.padEnd(26)}${value}`);
