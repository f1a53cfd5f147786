/**
 * Asks those we depend on what they allow us, so that readiness can tell a refusal from an outage: Kafka while something is
 * amiss, the registry always, for nothing else would tell that the next start will fail. Owned by the process; asks one
 * question at a time.
 *
 *   started -> (amiss? asked -> known) every interval -> stopped
 */
import type { ProcessorState } from './processor-state.ts';

export interface AccessWatchOptions<Access> {
  /** What is known until something is amiss. */
  readonly allowed: Access;
  /** Never rejects. */
  readonly ask: () => Promise<Access>;
  /** Whether there is something to explain; may reject, and is asked again. Always, if not given. */
  readonly isAmiss?: () => Promise<boolean>;
  /** Told of each change. */
  readonly onChange: (access: Access) => void;
  /** What of it is a change when it differs; all of it, if not given. */
  readonly essenceOf?: (access: Access) => unknown;
  readonly intervalMs?: number;
}

/** Rights and certificates change by people's hands. */
const INTERVAL_DEFAULT_MS = 5_000;
/** Scrapes and samples ask for the ends every few seconds. */
const ENDS_AGE_MAX_SECONDS = 30;

/** Whether a state of the process may have a refusal of Kafka behind it. */
export function isAmiss({
  lagEndsAgeSeconds,
  reasons,
}: Pick<ProcessorState, 'lagEndsAgeSeconds' | 'reasons'>): boolean {
  return reasons.length > 0 || lagEndsAgeSeconds > ENDS_AGE_MAX_SECONDS;
}

export class AccessWatch<Access> {
  readonly #options: AccessWatchOptions<Access>;
  #known: Access;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  constructor(options: AccessWatchOptions<Access>) {
    this.#options = options;
    this.#known = options.allowed;
  }

  /** What was found last; `allowed` until something was amiss. */
  known(): Access {
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
    const { allowed, ask, essenceOf = (access: Access) => access, isAmiss, onChange } = this.#options;
    const amiss = isAmiss === undefined || (await isAmiss().catch(() => true));
    const found = amiss ? await ask() : allowed;
    if (this.#isStopped) return;
    const hasChanged = JSON.stringify(essenceOf(found)) !== JSON.stringify(essenceOf(this.#known));
    this.#known = found;
    if (hasChanged) onChange(found);
    this.start();
  }
}
