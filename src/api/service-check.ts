/**
 * Whether what answers at the base URL is the payment service, in our version, with our credentials.
 *
 * Stages: unchecked -> serving or held; serving -> held, when a check or a call says so; held -> serving, by a check of
 * its own. While held, checks go on with growing pauses; this file owns their timer. One check is under way at a time:
 * those who ask meanwhile share the next one, so that a check always began after it was asked for.
 */
import type { Clock } from 'payment-processor-contract/clock';
import { isCertificateFault } from 'payment-processor-contract/tls-failure';
import type { HoldCause, ListReading, ServiceSetting, ServiceState, Unserved } from './types.ts';
import { UnservedWatch } from './unserved.ts';

const RECHECK_FIRST_MS = 1000;
const RECHECK_MAX_MS = 15_000;
/** A service that asks for longer while held is asked again after this. */
const RECHECK_TOLD_MAX_MS = 60_000;

export const WRONG_CREDENTIALS = {
  reason: 'wrong credentials: the payment service answers HTTP 401; check API_TOKEN_ID and API_CLIENT_SECRET',
  setting: 'API_TOKEN_ID',
} as const satisfies HoldCause;

export type Verdict =
  | { kind: 'serving' }
  /** Something is set wrongly, here or there: calls are of no use. */
  | { kind: 'wrong'; reason: string; setting: ServiceSetting }
  | { kind: 'unreachable'; reason: string; setting: null }
  /** It answers, and asks to wait. */
  | { kind: 'busy'; reason: string; setting: null; retryAfterMs: number | null };

export interface ServiceCheckOptions {
  /** For reasons: scheme, host and path. */
  baseUrl: string;
  clock: Clock;
  /** GET /transactions?limit=1; settles within its time-out. */
  listOne: () => Promise<ListReading>;
  onChange: (state: ServiceState) => void;
  /** 0 to 1, for the jitter of pauses. */
  random: () => number;
}

export interface ServiceCheck {
  /** Makes the first check and resolves with its end, whatever it says. */
  start(): Promise<void>;
  state(): ServiceState;
  /** Null: the service serves this process, as far as is known. */
  unserved(): Unserved | null;
  /** A check that begins from now on. A verdict `wrong` holds the service. */
  check(): Promise<Verdict>;
  /** Holds the service for what a call has shown. */
  hold(cause: HoldCause): void;
  /** A change was answered by the service itself: pauses start short again. */
  changeAnswered(): void;
  close(): void;
}

export function createServiceCheck(options: ServiceCheckOptions): ServiceCheck {
  const unserved = new UnservedWatch(() => options.clock.monotonicMs());
  let state: ServiceState = { kind: 'unchecked' };
  let running: Promise<Verdict> | null = null;
  let following: Promise<Verdict> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let pauses = 0;
  let heldByCall = false;
  let closed = false;

  const enter = (next: ServiceState): void => {
    const isSame =
      next.kind === state.kind && (next.kind !== 'held' || state.kind !== 'held' || next.reason === state.reason);
    state = next;
    if (!isSame) options.onChange(next);
  };

  const hold = (cause: HoldCause, pauseAtLeastMs = 0): void => {
    if (closed) return;
    const sinceMs = state.kind === 'held' ? state.sinceMs : options.clock.nowMs();
    enter({ kind: 'held', reason: cause.reason, setting: cause.setting, sinceMs });
    if (timer === undefined) schedule(pauseAtLeastMs);
  };

  const schedule = (atLeastMs: number): void => {
    const ceilingMs = Math.min(RECHECK_FIRST_MS * 2 ** pauses, RECHECK_MAX_MS);
    pauses = Math.min(pauses + 1, 16);
    // Half fixed, half random: members that were held together do not come back together.
    const pauseMs = Math.max(ceilingMs * (0.5 + options.random() / 2), atLeastMs);
    timer = setTimeout(() => void recheck(), pauseMs);
  };

  const recheck = async (): Promise<void> => {
    const verdict = await check();
    timer = undefined;
    if (closed) return;
    if (verdict.kind === 'serving') release();
    else hold(verdict, verdict.kind === 'busy' ? Math.min(verdict.retryAfterMs ?? 0, RECHECK_TOLD_MAX_MS) : 0);
  };

  const release = (): void => {
    // A GET that succeeds says little where a change was answered 401: pauses stay long until a change is answered.
    if (!heldByCall) pauses = 0;
    heldByCall = false;
    unserved.checkSucceeded();
    enter({ kind: 'serving' });
  };

  const checkOnce = async (): Promise<Verdict> => {
    const verdict = verdictOf(await options.listOne(), options.baseUrl);
    // A timer that is set means that the service is held already; its own check will say how that goes on.
    if (verdict.kind === 'wrong' || verdict.kind === 'unreachable') unserved.checkFailed(verdict);
    else if (state.kind === 'serving') unserved.checkSucceeded();
    if (verdict.kind === 'wrong') hold(verdict);
    return verdict;
  };

  const begin = (): Promise<Verdict> => {
    running = checkOnce().finally(() => (running = null));
    return running;
  };

  const check = (): Promise<Verdict> => {
    if (running === null) return begin();
    following ??= running.then(() => {
      following = null;
      // Whatever runs by now began after this one was asked for.
      return running ?? begin();
    });
    return following;
  };

  return {
    start: async () => {
      const verdict = await check();
      if (closed) return;
      if (verdict.kind === 'serving') {
        if (timer === undefined) release();
      } else hold(verdict);
    },
    state: () => state,
    unserved: () => unserved.now(),
    check,
    hold: (cause) => {
      heldByCall = true;
      hold(cause);
      if (cause.setting !== null) unserved.changeRefused(cause);
    },
    changeAnswered: () => {
      if (state.kind !== 'serving') return;
      pauses = 0;
      unserved.changeAnswered();
    },
    close: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** What a check's answer means, in words for the operator who can put it right. */
function verdictOf(reading: ListReading, baseUrl: string): Verdict {
  if (reading.kind === 'page') return { kind: 'serving' };
  const { cause, reason } = reading;
  switch (cause) {
    case 'unauthorized':
      return { kind: 'wrong', ...WRONG_CREDENTIALS };
    case 'redirected':
      return wrongUrl(`wrong base URL: ${baseUrl} answers ${reason}; check API_BASE_URL`);
    case 'not-understood':
      return wrongUrl(`the server at ${baseUrl} is not the payment service (${reason}); check API_BASE_URL`);
    case 'refused':
      return refusal(reading.httpStatus, baseUrl);
    case 'told-to-wait':
      return {
        ...{ kind: 'busy', reason: `the payment service asks to wait (${reason})` },
        ...{ setting: null, retryAfterMs: reading.retryAfterMs },
      };
    case 'unreachable':
    case 'held':
      if (isCertificateFault(reason)) {
        const remedy = 'check NODE_EXTRA_CA_CERTS, the host in API_BASE_URL, its date and the clock here';
        const inWords = `the certificate of ${baseUrl} is not trusted (${reason}); ${remedy}`;
        return { kind: 'wrong', reason: inWords, setting: 'NODE_EXTRA_CA_CERTS' };
      }
      return {
        kind: 'unreachable',
        reason: `the payment service cannot be reached at ${baseUrl} (${reason})`,
        setting: null,
      };
  }
}

function wrongUrl(reason: string): Verdict {
  return { kind: 'wrong', reason, setting: 'API_BASE_URL' };
}

function refusal(httpStatus: number | null, baseUrl: string): Verdict {
  switch (httpStatus) {
    case 403: {
      const reason = `the credentials may not list transactions at ${baseUrl} (HTTP 403); check the rights of API_TOKEN_ID`;
      return { kind: 'wrong', reason, setting: 'API_TOKEN_ID' };
    }
    case 404:
    case 405:
      return wrongUrl(
        `wrong base URL or version segment: ${baseUrl}/transactions answers HTTP ${httpStatus}; check API_BASE_URL`,
      );
    default:
      return wrongUrl(
        `${baseUrl}/transactions answers HTTP ${httpStatus ?? 'nothing'} to a plain list request; check API_BASE_URL`,
      );
  }
}
