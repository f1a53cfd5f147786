/**
 * The transactional producers of this process: the one that its lanes commit through, and those that it fences.
 *
 * Once a transaction did not go through, the next loop has another transactional id. None is used again, so fencing one ends
 * what it was used for, and nothing that came later.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from 'payment-processor-contract/clock';
import { sleep } from '../consumers/signal.ts';
import { settledWithin } from 'payment-processor-contract/kafka/settled-within';
import type { TransactionalProducer } from '../producers/transactional-producer.ts';
import type { LaneCommit } from './lane-commit.ts';
import { Loop } from './loop.ts';

export interface CommitterOptions {
  readonly groupId: string;
  readonly makeProducer: (transactionalId: string) => TransactionalProducer;
  readonly clock: Clock;
}

/** After the broker refused what several lanes had together, each has transactions of its own: then it shows whose it was. */
const APART_MS = 60_000;
/** Ids of producers long gone; to forget one costs fencing it once more. */
const FENCED_MAX = 1_000;
/** After them the next owner has waited, and has fenced the producer itself. */
const DISOWN_TRIES_MAX = 3;
const DISOWN_AGAIN_MS = 500;
/** A process that ends waits so long for it. */
const DISOWN_AT_END_MS_MAX = 2_000;

export class Committer {
  readonly #options: CommitterOptions;
  #loop: Loop | null = null;
  /** Of claims that are disowned: where a partition takes none, no lane is lost with it. */
  #disowner: Loop | null = null;
  readonly #fenced = new Set<string>();
  readonly #fencing = new Map<string, Promise<void>>();
  readonly #disowning = new Set<Promise<void>>();
  #apartUntilMs = -Infinity;
  #isClosed = false;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  /** The present one; another one once it broke. */
  loop(): Loop {
    this.#loop = this.#whole(this.#loop);
    return this.#loop;
  }

  #whole(loop: Loop | null): Loop {
    if (loop?.isBroken() === false) return loop;
    const { clock, groupId, makeProducer } = this.#options;
    if (loop?.wasRefusedTogether() === true) this.#apartUntilMs = clock.monotonicMs() + APART_MS;
    const transactionalId = idPrefixOf(groupId) + randomUUID();
    return new Loop(transactionalId, makeProducer(transactionalId), clock, this.#apartUntilMs);
  }

  /** Transactional ids that this process has fenced, and that nobody uses again; the set changes as it fences more. */
  fenced(): ReadonlySet<string> {
    return this.#fenced;
  }

  /**
   * Ends every producer of the transactional id for good, for none comes back under it.
   * @throws TransactionFailedError when that is not certain
   */
  async fence(transactionalId: string): Promise<void> {
    if (this.#fenced.has(transactionalId)) return;
    const known = this.#fencing.get(transactionalId);
    const fencing = known ?? this.#options.makeProducer(transactionalId).fence();
    this.#fencing.set(transactionalId, fencing);
    try {
      await fencing;
      if (this.#fenced.size >= FENCED_MAX) this.#fenced.clear();
      this.#fenced.add(transactionalId);
    } finally {
      this.#fencing.delete(transactionalId);
    }
  }

  /**
   * Of a lane whose loop broke while its claim stood: ends the broken producer for good, and only then says so in the ledger,
   * through a loop of its own. Nobody relies on it; it is tried a few times.
   * @param commit the claim of the broken producer, and nothing else: the lane may have another owner by now
   */
  disown(transactionalId: string, commit: LaneCommit): void {
    const disowning = this.#disown(transactionalId, commit).finally(() => {
      this.#disowning.delete(disowning);
      if (this.#disowning.size === 0) void this.#disowner?.close();
    });
    this.#disowning.add(disowning);
  }

  /** Once nothing is left to commit, or the producer broke. */
  async close(): Promise<void> {
    await settledWithin(Promise.all(this.#disowning), DISOWN_AT_END_MS_MAX);
    this.#isClosed = true;
    await this.#loop?.close();
  }

  async #disown(transactionalId: string, commit: LaneCommit): Promise<void> {
    for (let tries = 0; tries < DISOWN_TRIES_MAX; tries += 1) {
      try {
        await this.fence(transactionalId);
        if (this.#isClosed) return;
        this.#disowner = this.#whole(this.#disowner);
        await this.#disowner.commit(commit);
        return;
      } catch {
        await sleep(DISOWN_AGAIN_MS);
      }
    }
  }
}

/** Of the transactional ids of a group's processes. */
export function idPrefixOf(groupId: string): string {
  return `${groupId}-process-`;
}
