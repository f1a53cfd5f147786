/**
 * Starts a process's lanes: opens the ledger, reads it to its end while others serve the lanes, joins the group, and waits until
 * it assigns lanes. Each step is retried until Kafka answers, Kafka refuses, or the process is stopped.
 */
import type { Clock } from 'payment-processor-contract/clock';
import type { Config } from 'payment-processor-contract/config';
import type { GroupMember } from '../../consumers/group-member.ts';
import { sleep } from '../../consumers/signal.ts';
import type { KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import type { LedgerCopy } from '../../store/ledger-copy.ts';
import { StateDirectoryError } from '../../store/state-folder.ts';
import type { Committer } from '../commits/committer.ts';
import type { InputWatch } from '../inputs/input-watch.ts';
import { kafkaStep, type StartStep, type StartSteps } from './start-steps.ts';

/** Interval between checks whether the ledger has been read. */
const STEP_MS = 100;
/** After this time the process joins anyway, unless a lane has no records yet. Others may need help, and an endless start must become visible. */
const READ_MS_MAX = 600_000;
/** How long the warm-up waits for what a takeover needs; requests and connections continue after that. Healthy brokers answer sooner. */
const TRIES_MS_MAX = 2_000;

/** The ledger was written with another LANES. With ours, a key may belong to a lane that does not know it: copies would be paid again. */
export class LaneCountError extends Error {}

export interface LaneStartParts {
  readonly settings: KafkaSettings & Pick<Config, 'LANES' | 'TOPIC_PREFIX'>;
  readonly steps: StartSteps;
  readonly ledger: Pick<LedgerCopy, 'open' | 'isRead' | 'hasNewLanes' | 'otherLaneCount'>;
  readonly watch: Pick<InputWatch, 'start'>;
  readonly committer: Pick<Committer, 'loop'>;
  readonly member: Pick<GroupMember, 'start'>;
  /** Requests the inputs' offsets, as a lane's takeover does. */
  readonly askInputs: () => readonly Promise<unknown>[];
  /** Rejects if Kafka does not answer. */
  readonly isServedByOthers: () => Promise<boolean>;
  /** Whether the process is ending. */
  readonly isOver: () => boolean;
  readonly clock: Clock;
}

export class LaneStart {
  readonly #parts: LaneStartParts;
  readonly #joined = Promise.withResolvers<undefined>();
  #isWarmingUp = false;

  constructor(parts: LaneStartParts) {
    this.#parts = parts;
  }

  /** True while the process reads the ledger, before it joins the group. */
  isWarmingUp(): boolean {
    return this.#isWarmingUp;
  }

  /** The group has assigned lanes. */
  joined(): void {
    this.#joined.resolve(undefined);
  }

  /**
   * Resolves once the group has assigned lanes, or the process was stopped before that.
   * @returns whether the group has
   * @throws errors that no retry fixes: a refusal by Kafka, StateDirectoryError, LaneCountError
   */
  async run(): Promise<boolean> {
    const { ledger, watch } = this.#parts;
    if (!(await this.#step('opening the ledger', () => ledger.open()))) return false;
    watch.start();
    this.#isWarmingUp = true;
    if (!(await this.#step('reading the ledger', () => this.#warmUp(), { mayTakeLong: true }))) return false;
    this.#isWarmingUp = false;
    return this.#step('joining the consumer group', () => this.#join());
  }

  /** @returns false: the process was stopped before the step was done */
  async #step(what: string, attempt: () => Promise<void>, more: Pick<StartStep, 'mayTakeLong'> = {}): Promise<boolean> {
    const { isOver, settings, steps } = this.#parts;
    const isFinal = (error: unknown): boolean =>
      error instanceof StateDirectoryError || error instanceof LaneCountError;
    const step = kafkaStep(settings, what, isFinal);
    const { kind } = await steps.run({ ...step, ...more }, attempt);
    return kind === 'done' && !isOver();
  }

  /**
   * Resolves once the process is warm, nobody else serves the lanes, or READ_MS_MAX has passed. A new member gets lanes of others at
   * once. If it were cold, they would wait for the ledger, a producer and connections.
   */
  async #warmUp(): Promise<void> {
    const { askInputs, clock, isOver, isServedByOthers, ledger, steps } = this.#parts;
    // Failures do not matter here: taking a lane retries and reports them.
    const tried = Promise.allSettled([this.#openLoop(), ...askInputs()]);
    const untilMs = clock.monotonicMs() + READ_MS_MAX;
    const isCold = (): boolean => !ledger.isRead() && !isOver() && clock.monotonicMs() < untilMs;
    const mayBeServed = async (): Promise<boolean> => {
      // A lane without records may be a partition that somebody added. Only the other lanes' records can show that, so no lane opens before they are read.
      if (ledger.hasNewLanes()) return true;
      // If the group does not answer, we could not join it either.
      return isServedByOthers().catch((error: unknown) => {
        steps.failed(error);
        return true;
      });
    };
    while (isCold() && (await mayBeServed())) await sleep(STEP_MS);
    await Promise.race([tried, sleep(TRIES_MS_MAX)]);
    if (isOver()) return;
    const laneCount = ledger.otherLaneCount();
    if (laneCount !== null) throw new LaneCountError(wrongLaneCount(laneCount, this.#parts.settings));
    if (ledger.hasNewLanes() && !ledger.isRead()) throw new Error('the ledger has not been read to its end yet');
  }

  /** Opens the loop before the first lane needs it. No lane can use a loop that did not open, so we close its connections. */
  async #openLoop(): Promise<void> {
    const loop = this.#parts.committer.loop();
    try {
      await loop.open();
    } catch (error) {
      await loop.close();
      throw error;
    }
  }

  async #join(): Promise<void> {
    await this.#parts.member.start();
    await this.#joined.promise;
  }
}

function wrongLaneCount(laneCount: number, { LANES, TOPIC_PREFIX }: Pick<Config, 'LANES' | 'TOPIC_PREFIX'>): string {
  return (
    `LANES is ${LANES}, but the commands of ${TOPIC_PREFIX} were divided among ${laneCount} lanes. Keys would move to lanes ` +
    'that do not remember them, and copies would be paid again. If partitions were added to the topics, continue under another ' +
    'TOPIC_PREFIX (docs/runbooks/more-lanes.md)'
  );
}
