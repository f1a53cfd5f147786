/**
 * Steps of the start that need an answer from the schema registry or Kafka. A failed try is retried with growing pauses, because an
 * outage is not a failure (invariant I5). That ends when the step is done, no retry can help, or the process must end.
 *
 *   run   tried -> (failed: logged, a pause, retried) -> done, or ended at once by `end`
 *
 * Readiness and the log show the step under way, whom it waits for, how long and why. A failed try leaves nothing open
 * when the next one begins.
 */
import type { Logger } from 'pino';
import type { Clock } from 'payment-processor-contract/clock';
import type { KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import { failureInWords, kafkaFailure, kafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';
import { settledWithin } from 'payment-processor-contract/settled-within';
import { Repeats } from 'payment-processor-contract/repeats';

export interface StartStep {
  /** Who must answer, and where. */
  readonly whom: string;
  /** The step in a few words, such as 'opening the ledger'. */
  readonly what: string;
  /** Name of the log lines while nobody answers. */
  readonly event: 'kafka-not-answering' | 'registry-not-answering';
  /** True if it may take long without a fault; then only failures are logged. */
  readonly mayTakeLong?: boolean;
  /** Why a try failed; null: no retry can help. */
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
/** A try that lasts this long is logged: with an answer it would end much sooner. */
const SLOW_MS = 10_000;

interface UnderWay {
  readonly step: StartStep;
  readonly beganMs: number;
  failedTries: number;
  problem: string | null;
  isLogged: boolean;
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

  /** The step under way; null: there is none. */
  now(): StartWait | null {
    if (this.#underWay === null) return null;
    const { beganMs, failedTries, problem, step } = this.#underWay;
    const waitedMs = Math.round(this.#clock.monotonicMs() - beganMs);
    return { whom: step.whom, what: step.what, waitedMs, failedTries, problem };
  }

  /** The process must end: no step continues, none begins. If a try is still running, its caller closes whatever it opens after this. */
  end(): void {
    this.#isEnded = true;
    this.#ended.resolve({ kind: 'ended' });
  }

  /**
   * One step at a time.
   * @param attempt leaves nothing open when it rejects
   * @throws errors that no retry fixes
   */
  async run<Value>(step: StartStep, attempt: () => Promise<Value>): Promise<StepOutcome<Value>> {
    const underWay = { step, beganMs: this.#clock.monotonicMs(), failedTries: 0, problem: null, isLogged: false };
    this.#underWay = underWay;
    const slowLog = setInterval(() => this.#logSlow(), SLOW_MS);
    try {
      for (let pauseMs = PAUSE_MS_MIN; !this.#isEnded; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
        try {
          const done = attempt().then((value): StepOutcome<Value> => ({ kind: 'done', value }));
          const outcome = await Promise.race([done, this.#ended.promise]);
          if (outcome.kind === 'done') this.#logDone(underWay);
          return outcome;
        } catch (error) {
          if (step.inWords(error) === null) throw error;
          this.failed(error);
        }
        await settledWithin(this.#ended.promise, pauseMs);
      }
      return { kind: 'ended' };
    } finally {
      clearInterval(slowLog);
      this.#underWay = null;
    }
  }

  /** Reports a failed try, or a failure within a try that continues. Ignored if no step is under way. */
  failed(error: unknown): void {
    if (this.#underWay === null) return;
    this.#underWay.failedTries += 1;
    this.#underWay.problem = this.#underWay.step.inWords(error) ?? String(error);
    this.#logWait(this.#underWay);
  }

  #logSlow(): void {
    if (this.#underWay !== null && this.#underWay.step.mayTakeLong !== true) this.#logWait(this.#underWay);
  }

  #logWait(underWay: UnderWay): void {
    const { failedTries, step } = underWay;
    const problem = underWay.problem ?? 'no answer yet';
    const repeated = this.#repeats.unlogged(`${step.what} ${problem}`);
    if (repeated === null) return;
    underWay.isLogged = true;
    const waitedMs = Math.round(this.#clock.monotonicMs() - underWay.beganMs);
    const fields = { event: step.event, waitsFor: step.whom, step: step.what, problem, waitedMs, failedTries };
    this.#log.warn({ ...fields, ...(repeated > 0 && { repeated }) });
  }

  #logDone({ beganMs, failedTries, isLogged, step }: UnderWay): void {
    if (!isLogged) return;
    const waitedMs = Math.round(this.#clock.monotonicMs() - beganMs);
    this.#log.info({ event: 'start-continues', step: step.what, waitedMs, failedTries });
  }
}

/** A step that needs an answer from Kafka. Only Kafka's refusals, and errors that `isFinal` accepts, end its retries. */
export function kafkaStep(
  settings: Pick<KafkaSettings, 'KAFKA_BROKERS'>,
  what: string,
  isFinal: (error: unknown) => boolean,
): StartStep {
  return {
    whom: `Kafka at ${settings.KAFKA_BROKERS.join(',')}`,
    what,
    event: 'kafka-not-answering',
    inWords: (error) => {
      if (isFinal(error) || kafkaRefusal(error) !== null) return null;
      const failure = kafkaFailure(error);
      // We reword Kafka's errors. Our own errors keep their text.
      return failure.kind === 'other' ? failure.detail : failureInWords(failure, settings);
    },
  };
}
