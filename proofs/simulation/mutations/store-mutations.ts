/** Of the local store and of what the ledger is read by. */
import type { Mutation } from '../mutations.ts';

export const STORE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'reads do not see what was applied and is not written yet',
    find: 'if (pending !== undefined) return pending.value ?? undefined;',
    toldBy: 'test/store/lmdb-index',
    toldByTest: 'it shows what a map of the last records would show',
  },
  {
    name: 'reads see through what was forgotten and is not written yet',
    find: 'if (pending !== undefined) return pending.value ?? undefined;',
    replace: 'if (pending?.value) return pending.value;',
    toldBy: 'test/store/lmdb-index',
    toldByTest: 'it shows what a map of the last records would show',
  },
  {
    name: 'what is pending is let go without being written',
    find: 'places.putSync(keyHash, place);',
    toldBy: 'test/store/lmdb-index',
    toldByTest: 'it shows what a map of the last records would show',
  },
  {
    name: 'what an open lane commits is applied over what others wrote before it',
    find: 'if ((this.#next[lane] ?? 0n) < neededOffset) {',
    replace: 'if (neededOffset < 0n) {',
  },
  {
    name: 'a new owner does not say by which schemas it writes',
    find: 'const schemas = [...schemaRecords()].filter(',
    replace: 'const schemas = [...schemaRecords()].slice(0, 0).filter(',
    toldBy: 'test/lanes/ownership',
  },
];
