/**
 * Applies batches to lane 0 until it is killed: `node writing-process.ts <state directory> <first offset>`. Prints the
 * folder, then after each batch the offset that follows it. Entry n is at offset n and has the key `key-<n>`.
 */
import { donePhase, entryOf, entryRecord } from '../../proofs/bench/ledger-records.ts';
import { openIndex } from './index-in-test.ts';

const BATCH = 25;
const [stateDirectory = '', first = '0'] = process.argv.slice(2);
const { folder, index } = await openIndex(stateDirectory);
console.log(folder);
for (let next = Number(first); ; next += BATCH) {
  const records = Array.from({ length: BATCH }, (_, each) => {
    const key = `key-${next + each}`;
    return entryRecord(entryOf(key, donePhase(key, next + each), next), BigInt(next + each), next);
  });
  index.applyBatch(0, records, BigInt(next + BATCH));
  console.log(next + BATCH);
  await new Promise((resolve) => setImmediate(resolve));
}
