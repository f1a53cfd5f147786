/**
 * Asks Kafka or the registry regularly what it allows us, so that readiness can tell a refusal from an outage. Kafka is asked only
 * while something is wrong. The registry is asked every time: nothing else would show early that the next start will fail.
 *
 *   started -> (problem? ask -> known) every interval -> stopped
 *
 * The process owns it; one question is under way at a time.
 */
import type { Logger } from 'pino';
import type { RecordRegistry, RegistryFault } from 'payment-processor-contract/registry';
import { isRegistryRefusal } from 'payment-processor-contract/registry-failure';
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
}

/** Only people change rights and certificates, so every few seconds is often enough. */
const INTERVAL_MS = 5_000;
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
    this.#timer = setTimeout(() => void this.#check(), INTERVAL_MS);
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

/** Logs each change. The process starts it first, so that readiness can show that the start waits for the registry. */
export function registryWatch(
  registry: Pick<RecordRegistry, 'fault'>,
  log: Pick<Logger, 'info' | 'warn' | 'error'>,
): AccessWatch<RegistryFault | null> {
  return new AccessWatch<RegistryFault | null>({
    allowed: null,
    ask: () => registry.fault(),
    // Each lane may wait for a different schema. Problems that differ only in the schema are one cause, logged once.
    comparedBy: (fault) => fault?.failure.kind ?? null,
    onChange: (fault) => {
      const event = 'registry-access';
      if (fault === null) {
        log.info({ event, kind: 'allowed' });
        return;
      }
      const { failure, problem } = fault;
      const isRefusal = isRegistryRefusal(failure.kind);
      log[isRefusal ? 'error' : 'warn']({
        event,
        kind: isRefusal ? 'refused' : 'unknown',
        cause: failure.kind,
        problem,
      });
    },
  });
}
