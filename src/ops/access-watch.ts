/**
 * Asks Kafka and the registry what they allow us, so that readiness can tell a refusal from an outage. It asks Kafka only while
 * something is wrong. It asks the registry always, because nothing else would show that the next start will fail. The process
 * owns it; it asks one question at a time.
 *
 *   started -> (amiss? asked -> known) every interval -> stopped
 */
import type { ProcessorState } from './processor-state.ts';

export interface AccessWatchOptions<Access> {
  /** The answer until something is wrong. */
  readonly allowed: Access;
  /** Never rejects. */
  readonly ask: () => Promise<Access>;
  /** Whether there is a problem to explain; if it rejects, it is asked again. Default: always true. */
  readonly isAmiss?: () => Promise<boolean>;
  /** Called for each change. */
  readonly onChange: (access: Access) => void;
  /** The part whose difference counts as a change. Default: everything. */
  readonly essenceOf?: (access: Access) => unknown;
  readonly intervalMs?: number;
}

/** Only people change rights and certificates, so a few seconds are soon enough. */
const INTERVAL_DEFAULT_MS = 5_000;
/** Scrapes and samples refresh the ends every few seconds, so an older end is a sign of trouble. */
const ENDS_AGE_MAX_SECONDS = 30;

/** Whether a refusal by Kafka may be behind the process's state. */
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

  /** The last answer; `allowed` until something was wrong. */
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
