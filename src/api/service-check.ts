/**
 * Checks that the server at the base URL is the payment service, in our version, and accepts our credentials.
 *
 * Stages: unchecked -> serving or held; serving -> held, when a check or a call says so; held -> serving, when a
 * repeated check succeeds (a caller's does not end a hold). While held, checks repeat with growing pauses; while serving, one that could not reach the service is
 * repeated until it can. This file owns both timers. Only one check is under way at a time. Callers that ask meanwhile share the
 * next one, so that a check always begins after the request for it. Checks and answers to POSTs show since when and why the
 * service does not serve this process.
 */
import type { Clock } from 'payment-processor-contract/clock';
import { isCertificateFault } from 'payment-processor-contract/tls-failure';
import type { HoldCause, ListReading, ServiceSetting, ServiceState, Unserved } from './types.ts';

const RECHECK_FIRST_MS = 1000;
const RECHECK_MAX_MS = 15_000;
/** Longest pause between checks, even if the service asks for more. */
const RECHECK_REQUESTED_MAX_MS = 60_000;

export const WRONG_CREDENTIALS = {
  reason: 'wrong credentials: the payment service answers HTTP 401; check API_TOKEN_ID and API_CLIENT_SECRET',
  setting: 'API_TOKEN_ID',
} as const satisfies HoldCause;

export type Verdict =
  | { kind: 'serving' }
  /** A setting is wrong, here or at the service: calls would be useless. */
  | { kind: 'wrong'; reason: string; setting: ServiceSetting }
  | { kind: 'unreachable'; reason: string; setting: null }
  /** The service answers, and asks us to wait. */
  | { kind: 'busy'; reason: string; setting: null; retryAfterMs: number | null };

export interface ServiceCheckOptions {
  /** Scheme, host and path, for messages. */
  baseUrl: string;
  clock: Clock;
  /** GET /transactions?limit=1; settles within its timeout. */
  listOne: () => Promise<ListReading>;
  onChange: (state: ServiceState) => void;
  /** 0 to 1, for the jitter of pauses. */
  random: () => number;
}

export interface ServiceCheck {
  /** Makes the first check and resolves when it ends, whatever its verdict. */
  start(): Promise<void>;
  state(): ServiceState;
  /** Null if the service serves this process, as far as we know. */
  unserved(): Unserved | null;
  /** Runs a check that begins after this call. A verdict `wrong` holds the service. */
  check(): Promise<Verdict>;
  /** Holds the service because of a call's answer. */
  hold(cause: HoldCause): void;
  /** The service itself answered a POST. While serving, this clears `unserved`, and pauses start short again. */
  changeAnswered(): void;
  close(): void;
}

export function createServiceCheck(options: ServiceCheckOptions): ServiceCheck {
  let unserved: Unserved | null = {
    isFromStart: true,
    isChangeRefused: false,
    reason: 'the payment service has not been checked yet',
    setting: null,
    sinceMs: options.clock.monotonicMs(),
  };
  let state: ServiceState = { kind: 'unchecked' };
  let running: Promise<Verdict> | null = null;
  let following: Promise<Verdict> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let servingTimer: NodeJS.Timeout | undefined;
  let pauses = 0;
  let heldByCall = false;
  let closed = false;

  const enter = (next: ServiceState): void => {
    const isSame =
      next.kind === state.kind && (next.kind !== 'held' || state.kind !== 'held' || next.reason === state.reason);
    state = next;
    if (!isSame) options.onChange(next);
  };

  const noteUnserved = ({ reason, setting }: HoldCause, isChangeRefused: boolean): void => {
    const before = unserved;
    const isSame = before !== null && (before.setting === null) === (setting === null);
    const sinceMs = isSame ? before.sinceMs : options.clock.monotonicMs();
    unserved = { isFromStart: before?.isFromStart ?? false, isChangeRefused, reason, setting, sinceMs };
  };

  const noteCheckSucceeded = (): void => {
    // Once the service refused this process's POST, a check proves nothing: only the answer to another POST does.
    if (unserved?.isChangeRefused !== true) unserved = null;
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
    // Half fixed, half random, so that members held together do not check again together.
    const pauseMs = Math.max(ceilingMs * (0.5 + options.random() / 2), atLeastMs);
    timer = setTimeout(() => void recheck(), pauseMs);
  };

  const recheck = async (): Promise<void> => {
    const verdict = await check();
    timer = undefined;
    if (closed) return;
    if (verdict.kind === 'serving') release();
    else hold(verdict, verdict.kind === 'busy' ? Math.min(verdict.retryAfterMs ?? 0, RECHECK_REQUESTED_MAX_MS) : 0);
  };

  const release = (): void => {
    // After a POST got HTTP 401, a successful GET says little: pauses stay long until the service answers a POST.
    if (!heldByCall) pauses = 0;
    heldByCall = false;
    noteCheckSucceeded();
    enter({ kind: 'serving' });
  };

  const checkOnce = async (): Promise<Verdict> => {
    const verdict = verdictOf(await options.listOne(), options.baseUrl);
    if (verdict.kind === 'wrong' || verdict.kind === 'unreachable') {
      // While the service is unreachable, a setting known to be wrong stays the reason.
      if (verdict.setting !== null || (unserved?.setting ?? null) === null) noteUnserved(verdict, false);
    } else if (state.kind === 'serving') noteCheckSucceeded();
    if (verdict.kind === 'wrong') hold(verdict);
    // A member that stands aside because of an outage makes no calls. Only this check notices that the service is reachable again.
    else if (verdict.kind === 'unreachable' && state.kind === 'serving' && !closed)
      servingTimer ??= setTimeout(() => void checkAgain(), RECHECK_MAX_MS);
    return verdict;
  };

  const checkAgain = async (): Promise<void> => {
    servingTimer = undefined;
    if (state.kind === 'serving' && unserved !== null) await check();
  };

  const begin = (): Promise<Verdict> => {
    running = checkOnce().finally(() => (running = null));
    return running;
  };

  const check = (): Promise<Verdict> => {
    if (running === null) return begin();
    following ??= running.then(() => {
      following = null;
      // A check that runs by now began after this request.
      return running ?? begin();
    });
    return following;
  };

  return {
    start: async () => {
      const verdict = await check();
      if (closed) return;
      if (verdict.kind === 'serving') {
        // If the timer is set, the service is held already, and its next check decides.
        if (timer === undefined) release();
      } else hold(verdict);
    },
    state: () => state,
    unserved: () => unserved,
    check,
    hold: (cause) => {
      heldByCall = true;
      hold(cause);
      if (cause.setting !== null) noteUnserved(cause, true);
    },
    changeAnswered: () => {
      if (state.kind !== 'serving') return;
      pauses = 0;
      unserved = null;
    },
    close: () => {
      closed = true;
      clearTimeout(timer);
      clearTimeout(servingTimer);
    },
  };
}

/** The verdict of a check's answer, in words for the operator who can correct it. */
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
        kind: 'busy',
        reason: `the payment service asks us to wait (${reason})`,
        setting: null,
        retryAfterMs: reading.retryAfterMs,
      };
    case 'unreachable':
    case 'held':
      if (isCertificateFault(reason)) {
        const remedy =
          "check NODE_EXTRA_CA_CERTS, the host in API_BASE_URL, the certificate's dates and this machine's clock";
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
      const reason = `the credentials are not allowed to list transactions at ${baseUrl} (HTTP 403); check the rights of API_TOKEN_ID`;
      return { kind: 'wrong', reason, setting: 'API_TOKEN_ID' };
    }
    case 404:
    case 405:
      return wrongUrl(
        `wrong base URL or version segment: ${baseUrl}/transactions answers HTTP ${httpStatus}; check API_BASE_URL`,
      );
    default:
      return wrongUrl(
        `${baseUrl}/transactions answers a plain list request ${httpStatus === null ? 'without an HTTP status' : `with HTTP ${httpStatus}`}; check API_BASE_URL`,
      );
  }
}
