/**
 * Asks Kafka or the registry regularly what it allows us, so that readiness can tell a refusal from an outage. Kafka is asked only
 * while something is wrong. The registry is asked every time: nothing else would show early that the next start will fail.
 *
 *   started -> (problem? ask -> known) every interval -> stopped
 *
 * The process owns it; one question is under way at a time.
 */
import type { ProcessorState } from './processor-state.ts';

export interface AccessWatchOptions<Access> {
  /** The answer while nothing is wrong. */
  readonly allowed: Access;
  /** Never rejects. */
  readonly ask: () => Promise<Access>;
  /** Whether to ask at all; a rejection counts as yes. Default: always. */
  readonly hasProblem?: () => Promise<boolean>;
  /** Called for each change. */
  readonly onChange: (access: Access) => void;
  /** What must differ for an answer to count as a change. Default: the whole answer. */
  readonly comparedBy?: (access: Access) => unknown;
  readonly intervalMs?: number;
}

/** Only people change rights and certificates, so every few seconds is often enough. */
const INTERVAL_DEFAULT_MS = 5_000;
/** Scrapes and samples refresh the partition ends every few seconds, so older ones are a sign of trouble. */
const ENDS_AGE_MAX_SECONDS = 30;

/** Whether a refusal by Kafka could explain the process's state. */
export function mayBeRefused({
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

  /** The last answer; `allowed` while nothing is wrong. */
  known(): Access {
    return this.#known;
  }

  start(): void {
    this.#timer = setTimeout(() => void this.#check(), this.#options.intervalMs ?? INTERVAL_DEFAULT_MS);
    this.#timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #check(): Promise<void> {
    const { allowed, ask, comparedBy = (access: Access) => access, hasProblem, onChange } = this.#options;
    const mustAsk = hasProblem === undefined || (await hasProblem().catch(() => true));
    const found = mustAsk ? await ask() : allowed;
    if (this.#isStopped) return;
    const hasChanged = JSON.stringify(comparedBy(found)) !== JSON.stringify(comparedBy(this.#known));
    this.#known = found;
    if (hasChanged) onChange(found);
    this.start();
  }
}
