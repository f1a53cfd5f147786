/**
 * The steps of a start at which others must answer: the schema registry, Kafka. What fails is tried again with growing pauses,
 * for an outage is no failure (invariant I5), until it is done, no retry can mend it, or the process is told to end.
 *
 *   run   tried -> (failed: told, a pause, tried) -> done, or ended by `end`, at once
 *
 * Knows which step is under way, whom it waits for, how long already and why, for readiness and the log. Tries clean up after
 * themselves: nothing of a failed one is left when the next begins.
 */
import type { Logger } from 'pino';
import type { Clock } from 'payment-processor-contract/clock';
import type { KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import { failureInWords, kafkaFailure, kafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';
import { settledWithin } from 'payment-processor-contract/kafka/settled-within';
import { Repeats } from 'payment-processor-contract/repeats';

export interface StartStep {
  /** Who must answer, and where. */
  readonly whom: string;
  /** What is done, as a sentence. */
  readonly what: string;
  /** Of the lines of the log while nobody answers. */
  readonly event: 'kafka-not-answering' | 'registry-not-answering';
  /** It may take long although all answer: only failures are told. */
  readonly mayLast?: boolean;
  /** Why a try failed; null: no retry mends it. */
  readonly inWords: (error: unknown) => string | null;
}

/** What a start waits for. */
export interface StartWait {
  readonly whom: string;
  readonly what: string;
  readonly waitedMs: number;
  readonly failedTries: number;
  /** Of the last failed try; null: none has failed yet. */
  readonly problem: string | null;
}

export type StepOutcome<Value> = { readonly kind: 'done'; readonly value: Value } | { readonly kind: 'ended' };

/** Between tries, doubled after each. */
const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 10_000;
/** A try that lasts is told; whoever answers does so much sooner. */
const LASTS_MS = 10_000;

interface UnderWay {
  readonly step: StartStep;
  readonly beganMs: number;
  failedTries: number;
  problem: string | null;
  isTold: boolean;
}

export class StartSteps {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #repeats: Repeats;
  readonly #ended = Promise.withResolvers<{ kind: 'ended' }>();
  #isEnded = false;
  #underWay: UnderWay | null = null;

  constructor({ clock, log }: { clock: Clock; log: Logger }) {
    this.#clock = clock;
    this.#log = log;
    this.#repeats = new Repeats(() => clock.monotonicMs());
  }

  /** What is waited for now; null: no step is under way. */
  now(): StartWait | null {
    if (this.#underWay === null) return null;
    const { beganMs, failedTries, problem, step } = this.#underWay;
    const waitedMs = Math.round(this.#clock.monotonicMs() - beganMs);
    return { whom: step.whom, what: step.what, waitedMs, failedTries, problem };
  }

  /** The process is to end: no step goes on, none begins. What a try still opens, its owner closes. */
  end(): void {
    this.#isEnded = true;
    this.#ended.resolve({ kind: 'ended' });
  }

  /**
   * One step at a time.
   * @param attempt leaves nothing open when it rejects
   * @throws what no retry mends
   */
  async run<Value>(step: StartStep, attempt: () => Promise<Value>): Promise<StepOutcome<Value>> {
    const underWay = { step, beganMs: this.#clock.monotonicMs(), failedTries: 0, problem: null, isTold: false };
    this.#underWay = underWay;
    const lasting = setInterval(() => this.#lasts(), LASTS_MS);
    try {
      for (let pauseMs = PAUSE_MS_MIN; !this.#isEnded; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
        try {
          const done = attempt().then((value): StepOutcome<Value> => ({ kind: 'done', value }));
          const outcome = await Promise.race([done, this.#ended.promise]);
          if (outcome.kind === 'done') this.#goesOn(underWay);
          return outcome;
        } catch (error) {
          if (step.inWords(error) === null) throw error;
          this.failed(error);
        }
        await settledWithin(this.#ended.promise, pauseMs);
      }
      return { kind: 'ended' };
    } finally {
      clearInterval(lasting);
      this.#underWay = null;
    }
  }

  /** A try failed, or part of one that goes on by itself. Without a step under way it is not the start's. */
  failed(error: unknown): void {
    if (this.#underWay === null) return;
    this.#underWay.failedTries += 1;
    this.#underWay.problem = this.#underWay.step.inWords(error) ?? String(error);
    this.#tell(this.#underWay);
  }

  #lasts(): void {
    if (this.#underWay !== null && this.#underWay.step.mayLast !== true) this.#tell(this.#underWay);
  }

  #tell(underWay: UnderWay): void {
    const { failedTries, step } = underWay;
    const problem = underWay.problem ?? 'no answer yet';
    const repeated = this.#repeats.unsaid(`${step.what} ${problem}`);
    if (repeated === null) return;
    underWay.isTold = true;
    const waitedMs = Math.round(this.#clock.monotonicMs() - underWay.beganMs);
    const said = { event: step.event, whom: step.whom, step: step.what, problem, waitedMs, failedTries };
    this.#log.warn({ ...said, ...(repeated > 0 && { repeated }) });
  }

  #goesOn({ beganMs, failedTries, isTold, step }: UnderWay): void {
    if (!isTold) return;
    const waitedMs = Math.round(this.#clock.monotonicMs() - beganMs);
    this.#log.info({ event: 'start-goes-on', step: step.what, waitedMs, failedTries });
  }
}

/** A step at which Kafka must answer; what it refuses is passed on, and whatever else `isLasting` says. */
export function kafkaStep(
  settings: Pick<KafkaSettings, 'KAFKA_BROKERS'>,
  what: string,
  isLasting: (error: unknown) => boolean,
): StartStep {
  return {
    whom: `Kafka at ${settings.KAFKA_BROKERS.join(',')}`,
    what,
    event: 'kafka-not-answering',
    inWords: (error) => {
      if (isLasting(error) || kafkaRefusal(error) !== null) return null;
      const failure = kafkaFailure(error);
      // Kafka's own words are put into ours; what we say ourselves stays.
      return failure.kind === 'other' ? failure.detail : failureInWords(failure, settings);
    },
  };
}
