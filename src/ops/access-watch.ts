/**
 * Asks Kafka what it allows us while something is amiss, so that readiness can tell a refusal from an outage. Owned by the
 * process; asks one question at a time, and none while all is well.
 *
 *   started -> (amiss? asked -> known) every interval -> stopped
 */
import type { KafkaAccess } from '../producers/kafka-access.ts';
import type { ProcessorState } from './processor-state.ts';

export interface AccessWatchOptions {
  /** Never rejects. */
  readonly ask: () => Promise<KafkaAccess>;
  /** Whether there is something to explain; may reject, and is asked again. */
  readonly isAmiss: () => Promise<boolean>;
  /** Told of each change. */
  readonly onChange: (access: KafkaAccess) => void;
  readonly intervalMs?: number;
}

/** Rights and certificates change by people's hands. */
const INTERVAL_DEFAULT_MS = 15_000;
/** Scrapes and samples ask for the ends every few seconds. */
const ENDS_AGE_MAX_SECONDS = 30;

/** Whether a state of the process may have a refusal of Kafka behind it. */
export function isAmiss({
  lagEndsAgeSeconds,
  reasons,
}: Pick<ProcessorState, 'lagEndsAgeSeconds' | 'reasons'>): boolean {
  return reasons.length > 0 || lagEndsAgeSeconds > ENDS_AGE_MAX_SECONDS;
}

export class AccessWatch {
  readonly #options: AccessWatchOptions;
  #known: KafkaAccess = { kind: 'allowed' };
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  constructor(options: AccessWatchOptions) {
    this.#options = options;
  }

  /** What was found last; `allowed` until something was amiss. */
  known(): KafkaAccess {
    return this.#known;
  }

  start(): void {
    this.#timer = setTimeout(() => void this.#look(), this.#options.intervalMs ?? INTERVAL_DEFAULT_MS);
    this.#timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const { ask, isAmiss, onChange } = this.#options;
    const amiss = await isAmiss().catch(() => true);
    const found: KafkaAccess = amiss ? await ask() : { kind: 'allowed' };
    if (this.#isStopped) return;
    const hasChanged = JSON.stringify(found) !== JSON.stringify(this.#known);
    this.#known = found;
    if (hasChanged) onChange(found);
    this.start();
  }
}
