/**
 * What an open lane knows: its unfinished entries, in full, and records that the index may not show yet, also those of
 * the transaction being filled. Everything else is in the index. A lost lane discards this memory; the ledger has all
 * commits.
 */
import type { CommandType } from 'payment-processor-contract/commands';
import type { Entry } from '../ledger/entry.ts';
import { ENTRY_PREFIX, TRANSACTION_PREFIX } from '../ledger/ledger-records.ts';
import { decodeTransactionState, type TransactionState } from '../status/transaction-state.ts';
import type { LedgerIndex } from './parts.ts';

interface Recent<Value> {
  readonly value: Value;
  /** Number of the commit that contains it. */
  readonly commit: number;
}

export class Memory {
  readonly #index: LedgerIndex;
  readonly #lane: number;
  readonly #token: string;
  readonly unfinished = new Map<string, Entry>();
  #quotesOpen = 0;
  readonly #waiting = new Map<CommandType, number>();
  readonly #done = new Map<string, Recent<Entry>>();
  readonly #transactions = new Map<string, Recent<TransactionState>>();
  #unfinishedBytes = 0;

  /** @param token of the ownership that it is for */
  constructor(index: LedgerIndex, lane: number, token: string) {
    this.#index = index;
    this.#lane = lane;
    this.#token = token;
    for (const entry of index.unfinished(lane)) {
      this.unfinished.set(entry.key, entry);
      this.#count(entry, 1);
    }
  }

  /** Roughly: characters of the fields of unfinished commands, as JSON. */
  unfinishedBytes(): number {
    return this.#unfinishedBytes;
  }

  /** Two-step quotes that are being created, or are QUOTED. */
  quotesOpen(): number {
    return this.#quotesOpen;
  }

  /** Entries of the type that are PARKED or DOUBTFUL. */
  waitingOf(type: CommandType): number {
    return this.#waiting.get(type) ?? 0;
  }

  entry(key: string): Entry | undefined {
    return this.unfinished.get(key) ?? this.#done.get(key)?.value ?? this.#index.entry(this.#lane, key);
  }

  putEntry(entry: Entry, commit: number): void {
    const before = this.unfinished.get(entry.key);
    if (before !== undefined) this.#count(before, -1);
    if (entry.phase.state === 'DONE') {
      this.unfinished.delete(entry.key);
      this.#done.set(entry.key, { value: entry, commit });
    } else {
      this.#done.delete(entry.key);
      this.unfinished.set(entry.key, entry);
      this.#count(entry, 1);
    }
  }

  #count(entry: Entry, change: 1 | -1): void {
    const { commandType, fieldsJson, phase, step } = entry;
    this.#unfinishedBytes += change * (fieldsJson?.length ?? 0);
    if (phase.state === 'QUOTED' || (phase.state === 'INTENT' && step === 'CREATE')) this.#quotesOpen += change;
    if (phase.state !== 'PARKED' && phase.state !== 'DOUBTFUL') return;
    this.#waiting.set(commandType, this.waitingOf(commandType) + change);
  }

  transaction(id: string): TransactionState | undefined {
    const recent = this.#transactions.get(id);
    if (recent !== undefined) return recent.value;
    const value = this.#index.value(this.#lane, TRANSACTION_PREFIX + id);
    return value === undefined ? undefined : decodeTransactionState(value);
  }

  putTransaction(state: TransactionState, commit: number): void {
    this.#transactions.set(state.id, { value: state, commit });
  }

  /** True if the lane may hold a newer version of the record than the index. */
  isAhead(ledgerKey: string): boolean {
    if (ledgerKey.startsWith(TRANSACTION_PREFIX))
      return this.#transactions.has(ledgerKey.slice(TRANSACTION_PREFIX.length));
    const key = ledgerKey.slice(ENTRY_PREFIX.length);
    return this.unfinished.has(key) || this.#done.has(key);
  }

  /** The index now shows everything up to this owner's commit; another owner's commits say nothing about ours. */
  applied(token: string, commit: number): void {
    if (token !== this.#token) return;
    for (const recents of [this.#done, this.#transactions]) {
      for (const [key, recent] of recents) {
        // Ordered by first insertion, but a key that was set again keeps its place: so skip entries, never stop.
        if (recent.commit <= commit) recents.delete(key);
      }
    }
  }
}
