/**
 * Whether this process stands aside: it stays in the group, but leaves the lanes to members that can do the work.
 *
 * A member that the payment service does not serve, or that cannot reach all of Kafka, announces that each time it joins the group.
 * It gets lanes only if all members announce it (`assigner.ts`). So when credentials are revoked for all, no lane moves.
 *
 *   with lanes -> for a minute its settings are refused, or a broker does not answer it: it rejoins and announces that -> aside
 *   aside, others have the lanes -> a check of the service succeeds, and all brokers answer: it rejoins -> with lanes
 *
 * A process that the service has never served stands aside from its first join. When others make the group rejoin, a
 * member announces its current state. An outage counts only after OUTAGE_MS_MIN: it hits all members, but they notice
 * at different times. Time without a broker's answer is added up from heartbeat to heartbeat. Each gap adds at most a
 * session timeout: without heartbeats, all of Kafka may be down, or the process was frozen.
 */
import type { PaymentApi } from '../../api/payment-api.ts';
import type { Unserved } from '../../api/types.ts';
import type { Clock } from 'payment-processor-contract/clock';
import type { AsideAnnouncer } from '../../consumers/member-note.ts';

const OUTAGE_MS_MIN = 30_000;
/** How long brokers must answer before a member takes lanes again: others notice the end of an outage later, and links flap. */
const ANSWERED_MS_MIN = 30_000;
/** After this long a fault counts as lasting: the member rejoins. */
const LASTING_MS = 60_000;
/** If the service refuses POSTs but answers checks, only a member with lanes can try again. The pause doubles with each failure. */
const TRY_AGAIN_MS = 60_000;
const TRY_AGAIN_DOUBLINGS_MAX = 6;

interface StandingAsideOptions {
  readonly api: Pick<PaymentApi, 'state' | 'unserved'>;
  /** The problem, if brokers do not answer what every member asks them; null: they answer. */
  readonly unanswered: () => string | null;
  readonly sessionTimeoutMs: number;
  readonly clock: Clock;
  readonly log: { error(fields: object): void; info(fields: object): void };
}

export class StandingAside implements AsideAnnouncer {
  readonly #options: StandingAsideOptions;
  /** What it announced at the join under way, or at the last one; null: before the first. */
  #announced: boolean | null = null;
  #lanes: readonly number[] = [];
  #servedSinceMs: number | null = null;
  /** Null: it does not stand aside. */
  #asideSinceMs: number | null = null;
  #isTryingAgain = false;
  #failedTries = 0;
  /** How long the group has confirmed this member while brokers did not answer it; null: they have answered for long enough. */
  #cutOffMs: number | null = null;
  /** How long they have answered since. */
  #answeredMs = 0;
  #heartbeatMs = -Infinity;

  constructor(options: StandingAsideOptions) {
    this.#options = options;
  }

  /** Why it stands aside; null: it does not. */
  reason(): string | null {
    return this.#asideSinceMs === null
      ? null
      : (this.#cause() ?? 'the problem is over, and this process will ask for lanes again');
  }

  announce(): boolean {
    const unserved = this.#options.api.unserved();
    this.#servedSinceMs = null;
    const isUnserved = unserved !== null && !this.#isTryingAgain && this.#isCertain(unserved);
    this.#announced = isUnserved || this.#isCutOffFor(OUTAGE_MS_MIN);
    return this.#announced;
  }

  /** The group has assigned lanes. */
  joined(lanes: readonly number[]): void {
    const { clock, log } = this.#options;
    const before = this.#lanes;
    this.#lanes = lanes;
    const isAside = this.#announced === true && lanes.length === 0;
    if (isAside === (this.#asideSinceMs !== null)) return;
    this.#asideSinceMs = isAside ? clock.monotonicMs() : null;
    if (isAside) log.error({ event: 'stands-aside', reason: this.reason(), lanes: before });
    else log.info({ event: 'stands-aside-ended', lanes });
  }

  shouldRejoin(): boolean {
    this.#countSilence();
    if (this.#announced === null) return false;
    if (this.#cutOffMs !== null && this.#announced) {
      this.#servedSinceMs = null;
      return false;
    }
    if (this.#lanes.length > 0 && this.#isCutOffFor(LASTING_MS)) return true;
    const unserved = this.#options.api.unserved();
    if (unserved === null) return this.#shouldRejoinServed();
    return this.#announced ? this.#shouldTryAgain(unserved) : this.#shouldRejoinUnserved(unserved);
  }

  #cause(): string | null {
    const unserved = this.#options.api.unserved();
    if (unserved !== null) return unserved.reason;
    const problem = this.#options.unanswered();
    return problem === null ? null : `brokers do not answer this process, but they answer others: ${problem}`;
  }

  #countSilence(): void {
    const { clock, sessionTimeoutMs, unanswered } = this.#options;
    const nowMs = clock.monotonicMs();
    const pauseMs = Math.min(nowMs - this.#heartbeatMs, sessionTimeoutMs);
    this.#heartbeatMs = nowMs;
    if (unanswered() !== null) {
      this.#cutOffMs = (this.#cutOffMs ?? 0) + pauseMs;
      this.#answeredMs = 0;
      return;
    }
    this.#answeredMs += pauseMs;
    // Unless it announced that it stands aside, short outages that hit all members must not add up: each may notice
    // them at another time.
    if (this.#announced !== true || this.#answeredMs >= ANSWERED_MS_MIN) this.#cutOffMs = null;
  }

  #isCutOffFor(ms: number): boolean {
    return this.#options.unanswered() !== null && (this.#cutOffMs ?? 0) >= ms;
  }

  #isCertain({ isFromStart, setting, sinceMs }: Unserved): boolean {
    if (isFromStart || setting !== null) return true;
    return this.#options.clock.monotonicMs() - sinceMs >= OUTAGE_MS_MIN;
  }

  #shouldRejoinServed(): boolean {
    this.#isTryingAgain = false;
    this.#failedTries = 0;
    if (this.#announced !== true) return false;
    if (this.#lanes.length === 0) return true;
    // All members announced that they were unserved. A rejoin before the others notice the recovery would cost them their lanes.
    const nowMs = this.#options.clock.monotonicMs();
    this.#servedSinceMs ??= nowMs;
    return nowMs - this.#servedSinceMs >= LASTING_MS;
  }

  #shouldRejoinUnserved({ setting, sinceMs }: Unserved): boolean {
    const { api, clock } = this.#options;
    if (api.state().kind === 'held') this.#isTryingAgain = false;
    // An outage hits all members: it is no reason to rejoin.
    if (setting === null || this.#isTryingAgain || this.#lanes.length === 0) return false;
    return clock.monotonicMs() - sinceMs >= LASTING_MS;
  }

  #shouldTryAgain({ isChangeRefused }: Unserved): boolean {
    const { api, clock } = this.#options;
    this.#servedSinceMs = null;
    if (this.#asideSinceMs === null || !isChangeRefused || api.state().kind !== 'serving') return false;
    const pauseMs = TRY_AGAIN_MS * 2 ** Math.min(this.#failedTries, TRY_AGAIN_DOUBLINGS_MAX);
    if (clock.monotonicMs() - this.#asideSinceMs < pauseMs) return false;
    this.#isTryingAgain = true;
    this.#failedTries += 1;
    return true;
  }
}
