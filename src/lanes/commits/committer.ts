/**
 * Makes this process's transactional producers. They commit for its lanes and fence other producers. They also disown claims of our own
 * failed producers: they mark these claims as fenced.
 *
 * After a failed transaction the next loop gets a new transactional id. No id is used again, so fencing one never affects later
 * work.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from 'payment-processor-contract/clock';
import { sleep } from '../../consumers/signal.ts';
import { settledWithin } from 'payment-processor-contract/settled-within';
import type { TransactionalProducer } from '../../producers/transactional-producer.ts';
import type { LaneCommit } from './lane-commit.ts';
import { Loop } from './loop.ts';

export interface CommitterOptions {
  readonly groupId: string;
  readonly makeProducer: (transactionalId: string) => TransactionalProducer;
  readonly clock: Clock;
}

/** After the broker refuses a transaction of several lanes, each lane commits alone for this long: that shows the culprit. */
const APART_MS = 60_000;
/** Ids remembered as fenced; to forget one only costs fencing it again. */
const FENCED_MAX = 1_000;
const DISOWN_TRIES_MAX = 3;
const DISOWN_AGAIN_MS = 500;
/** How long shutdown waits for claims to be disowned. */
const DISOWN_AT_END_MS_MAX = 2_000;

export class Committer {
  readonly #options: CommitterOptions;
  #loop: Loop | null = null;
  /** The loop that disowns claims. Separate, so that no lane is lost if one of its commits is refused. */
  #disowner: Loop | null = null;
  readonly #fenced = new Set<string>();
  readonly #fencing = new Map<string, Promise<void>>();
  readonly #disowning = new Set<Promise<void>>();
  #apartUntilMs = -Infinity;
  /** Whether records carry the brokers' time, or ours. Switches when a broker refuses a time because clocks differ. */
  #isDatedByBrokers = true;
  #isClosed = false;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  /** The current loop; a new one if the last one broke. */
  loop(): Loop {
    this.#loop = this.#unbroken(this.#loop);
    return this.#loop;
  }

  #unbroken(loop: Loop | null): Loop {
    if (loop?.isBroken() === false) return loop;
    const { clock, groupId, makeProducer } = this.#options;
    if (loop?.wasRefusedTogether() === true) this.#apartUntilMs = clock.monotonicMs() + APART_MS;
    const refusedTime = loop?.refusedTime() ?? null;
    if (refusedTime !== null) this.#isDatedByBrokers = refusedTime === 'own';
    const transactionalId = idPrefixOf(groupId) + randomUUID();
    const producer = makeProducer(transactionalId);
    return new Loop(transactionalId, producer, clock, this.#apartUntilMs, this.#isDatedByBrokers);
  }

  /** Transactional ids that this process has fenced; nobody uses them again. At FENCED_MAX ids the set is emptied. */
  fenced(): ReadonlySet<string> {
    return this.#fenced;
  }

  /**
   * Fences all producers with this transactional id. That is final, because no process uses an id again.
   * @throws TransactionFailedError when that is not certain
   */
  async fence(transactionalId: string): Promise<void> {
    if (this.#fenced.has(transactionalId)) return;
    const fencing = this.#fencing.get(transactionalId) ?? this.#options.makeProducer(transactionalId).fence();
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
   * For a lane whose loop broke while its claim stood: fences the broken producer, then notes that in the ledger through another
   * loop. Nobody relies on the note, so a few tries are enough.
   * @param commit only the claim of the broken producer: the lane may have another owner by now
   */
  disown(transactionalId: string, commit: LaneCommit): void {
    const disowning = this.#disown(transactionalId, commit).finally(() => {
      this.#disowning.delete(disowning);
      if (this.#disowning.size === 0) void this.#disowner?.close();
    });
    this.#disowning.add(disowning);
  }

  /** Waits briefly until claims are disowned. Then commits what lanes have handed over, unless the producer failed. */
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
        this.#disowner = this.#unbroken(this.#disowner);
        await this.#disowner.commit(commit, true);
        return;
      } catch {
        await sleep(DISOWN_AGAIN_MS);
      }
    }
  }
}

/** Prefix of the transactional ids of a group's processes. */
export function idPrefixOf(groupId: string): string {
  return `${groupId}-process-`;
}
