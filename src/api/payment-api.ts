/**
 * What lanes need of the payment service: whether they may call it, a call, and a page of transactions.
 *
 * Owns two connection pools (changes and reads, so that neither delays the other), a breaker per operation and the check of
 * the service; `close` ends them all.
 */
import { systemClock, type Clock } from 'payment-processor-contract/clock';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { createBreaker, type Breaker, type BreakerEvidence, type BreakerStage } from './breaker.ts';
import { createHttpClient, type ApiCredentials, type HttpClient, type HttpClientOptions } from './client.ts';
import { createPerform, type PerformOptions } from './perform.ts';
import { listRequestParts } from './requests.ts';
import { createServiceCheck } from './service-check.ts';
import { readTransactionPage } from './transaction-list.ts';
import type {
  ChangeRequest,
  Closure,
  ListReading,
  Operation,
  Reading,
  ServiceState,
  TransactionFilter,
  Unserved,
} from './types.ts';

/** A page of 100 transactions. */
const LIST_BODY_MAX_BYTES = 8 * 1024 * 1024;
/** Concurrent GETs: the poller's, the look-ups' and the check's. */
const LIST_CONCURRENCY = 4;
/** Longest time for a check. It is a small request, but with a stricter limit we would hold a service that is only slow. */
const CHECK_TIMEOUT_MAX_MS = 5000;

export type ApiLog = (
  level: 'debug' | 'info' | 'warn' | 'error',
  event: string,
  fields: Record<string, unknown>,
) => void;

export interface CallReport {
  operation: Operation;
  /** `kind` of the reading, or the cause of a failed list. */
  outcomeKind: string;
  /** True if the service accepted, refused or deferred it; false also for 401, redirects and calls never sent. */
  isAnswered: boolean;
  httpStatus: number | null;
  durationMs: number;
}

export interface PaymentApiOptions {
  /** Includes the version segment; may have a path prefix. */
  baseUrl: string;
  /** Read for each call, because they may be rotated. */
  credentials: () => ApiCredentials;
  /** Overall deadline of one call. */
  timeoutMs: number;
  /** How many changes the caller has under way at once, at most. */
  maxConcurrency: number;
  breakerErrorPercent: number;
  breakerResetMs: number;
  clock?: Clock;
  /** 0 to 1, for jitter. */
  random?: () => number;
  /** Fields never hold bodies, account ids or credentials (invariant I9). */
  log?: ApiLog;
  /** Called for every ended call, sent or not; not for a list that is not tried because the service is held. */
  onCall?: (report: CallReport) => void;
  /** Makes real connections by default. */
  makeClient?: (options: HttpClientOptions) => HttpClient;
}

export interface OperationSnapshot {
  breaker: BreakerStage;
  /** In a few words, such as ECONNREFUSED or HTTP 503; null before the first fault. */
  lastFault: string | null;
  callsUnderWay: number;
  /** Null: without limit. */
  allowance: number | null;
}

export interface PaymentApiSnapshot {
  state: ServiceState;
  operations: Record<CommandType, OperationSnapshot>;
}

export interface PaymentApi {
  /** Checks base URL, version and credentials. Resolves after the first check, whatever its verdict; while held, checks go on. */
  start(): Promise<void>;
  state(): ServiceState;
  /** Null if the service serves this process, as far as we know. */
  unserved(): Unserved | null;
  /** Why no call of the operation may be made; null if one may. */
  closure(operation: CommandType): Closure | null;
  /**
   * How many calls of the operation may be under way at once: Infinity when healthy, 0 when none may be made, few while
   * its breaker is in a trial or a ramp (`breaker.ts`).
   */
  allowance(operation: CommandType): number;
  /** Makes one call and reads its answer. Never rejects; settles within the timeout and a small margin. */
  perform(request: ChangeRequest, options: PerformOptions): Promise<Reading>;
  /** Reads one page. Never rejects; settles within the timeout. */
  listTransactions(filter: TransactionFilter): Promise<ListReading>;
  /** Called when the state, closure or allowance of any operation changes. */
  onChange(listener: () => void): void;
  /** Ends timers and connections; bounded. Calls after it are never sent. */
  close(): Promise<void>;
  snapshot(): PaymentApiSnapshot;
}

export function createPaymentApi(options: PaymentApiOptions): PaymentApi {
  const clock = options.clock ?? systemClock;
  const log = options.log ?? (() => undefined);
  const listeners = new Set<() => void>();
  const connection = { ...options, connectTimeoutMs: options.timeoutMs };
  const makeClient = options.makeClient ?? createHttpClient;
  const changes = makeClient({ ...connection, concurrency: options.maxConcurrency });
  const reads = makeClient({ ...connection, concurrency: LIST_CONCURRENCY });
  let closed = false;

  const changed = (): void => {
    if (closed) return;
    for (const listener of listeners) listener();
  };

  const list = async (filter: TransactionFilter, timeoutMs: number): Promise<ListReading> => {
    const startedMs = clock.monotonicMs();
    const request = { ...listRequestParts(filter), headers: {}, maxBodyBytes: LIST_BODY_MAX_BYTES };
    const answer = await reads.call(request, timeoutMs);
    const reading = readTransactionPage(answer, clock.nowMs());
    options.onCall?.({
      operation: 'list-transactions',
      outcomeKind: reading.kind === 'page' ? 'page' : reading.cause,
      isAnswered: reading.kind === 'page' || reading.cause === 'refused' || reading.cause === 'told-to-wait',
      httpStatus: answer.kind === 'response' ? answer.httpStatus : null,
      durationMs: clock.monotonicMs() - startedMs,
    });
    return reading;
  };

  const service = createServiceCheck({
    baseUrl: withoutSecrets(options.baseUrl),
    clock,
    random: options.random ?? Math.random,
    listOne: () => list({ limit: 1 }, Math.min(options.timeoutMs, CHECK_TIMEOUT_MAX_MS)),
    onChange: (state) => {
      if (state.kind === 'held') log('error', 'payment-service-held', { reason: state.reason });
      else log('info', 'payment-service-serving', {});
      changed();
    },
  });

  /** Since when breakers have not been closed. */
  const openedMs = new Map<CommandType, number>();
  /** Logs above debug only when a breaker opens and when it has closed again: an outage of hours makes two lines. */
  const logBreaker = (operation: CommandType, stage: BreakerStage, evidence: BreakerEvidence): void => {
    const { calls, faults, lastFault } = evidence;
    const sinceMs = openedMs.get(operation);
    if (stage === 'closed') {
      openedMs.delete(operation);
      const notClosedMs = sinceMs === undefined ? null : Math.round(clock.monotonicMs() - sinceMs);
      log('info', 'breaker-changed', { operation, stage, notClosedMs });
    } else if (stage === 'open' && sinceMs === undefined) {
      openedMs.set(operation, clock.monotonicMs());
      const faultPercent = calls === 0 ? null : Math.round((faults * 100) / calls);
      log('warn', 'breaker-changed', { operation, stage, calls, faults, faultPercent, lastFault });
    } else log('debug', 'breaker-changed', { operation, stage, lastFault });
  };
  const breakers = Object.fromEntries(
    COMMAND_TYPES.map((operation) => [
      operation,
      createBreaker<Reading>({
        name: operation,
        errorPercent: options.breakerErrorPercent,
        resetMs: options.breakerResetMs,
        timeoutMs: options.timeoutMs,
        rampEnd: options.maxConcurrency,
        isServiceReachable: async () => {
          const verdict = await service.check();
          return verdict.kind === 'serving' || verdict.kind === 'busy';
        },
        onChange: (stage, evidence) => {
          logBreaker(operation, stage, evidence);
          changed();
        },
      }),
    ]),
  ) as Record<CommandType, Breaker<Reading>>;

  /** Why no call may be made, whatever its operation; null: the service serves. */
  const heldBecause = (): string | null => {
    if (closed) return 'the client is closed';
    const state = service.state();
    if (state.kind === 'held') return state.reason;
    return state.kind === 'unchecked' ? 'the payment service has not been checked yet' : null;
  };

  const closure = (operation: CommandType): Closure | null => {
    const reason = heldBecause();
    if (reason !== null) return { cause: 'held', reason };
    const stage = breakers[operation].stage();
    if (stage === 'open')
      return { cause: 'breaker', reason: `the breaker of ${operation} is open after infrastructure faults` };
    if (stage === 'checking')
      return { cause: 'breaker', reason: `the breaker of ${operation} checks whether the service is back` };
    return null;
  };

  const allowance = (operation: CommandType): number => (heldBecause() === null ? breakers[operation].allowance() : 0);

  const perform = createPerform({
    client: changes,
    breakers,
    service,
    closure,
    clock,
    timeoutMs: options.timeoutMs,
    onOwnFault: (operation, errorName) => log('error', 'call-own-failure', { operation, error: errorName }),
  });

  return {
    start: () => service.start(),
    state: () => service.state(),
    unserved: () => service.unserved(),
    closure,
    allowance,
    perform: async (request, performOptions) => {
      const startedMs = clock.monotonicMs();
      const reading = await perform(request, performOptions);
      options.onCall?.({
        operation: request.operation,
        outcomeKind: reading.kind,
        isAnswered: isAnswered(reading),
        httpStatus: 'httpStatus' in reading ? reading.httpStatus : null,
        durationMs: clock.monotonicMs() - startedMs,
      });
      return reading;
    },
    listTransactions: async (filter) => {
      const reason = heldBecause();
      if (reason !== null)
        return { kind: 'failed', cause: 'held', reason, httpStatus: null, retryAfterMs: null, serviceSays: null };
      const reading = await list(filter, options.timeoutMs);
      // A list does not stop all calls. A check does, and it will get the same answer.
      if (reading.kind === 'failed' && reading.cause === 'unauthorized') void service.check();
      return reading;
    },
    onChange: (listener) => void listeners.add(listener),
    close: async () => {
      closed = true;
      service.close();
      for (const breaker of Object.values(breakers)) breaker.close();
      await Promise.all([changes.close(), reads.close()]);
    },
    snapshot: () => ({
      state: service.state(),
      operations: Object.fromEntries(
        COMMAND_TYPES.map((operation) => [operation, snapshotOf(breakers[operation], allowance(operation))]),
      ) as Record<CommandType, OperationSnapshot>,
    }),
  };
}

function snapshotOf(breaker: Breaker<Reading>, allowance: number): OperationSnapshot {
  return {
    breaker: breaker.stage(),
    lastFault: breaker.lastFault(),
    callsUnderWay: breaker.underWay(),
    allowance: allowance === Infinity ? null : allowance,
  };
}

/** A 404 with the service's own error code is as definite as any refusal, as long as the service as a whole answers. */
function isAnswered(reading: Reading): boolean {
  switch (reading.kind) {
    case 'accepted':
    case 'refused':
    case 'conflict':
    case 'told-to-wait':
      return true;
    case 'not-here':
      return !reading.serviceFails && reading.error.code !== null;
    case 'doubt':
    case 'redirected':
    case 'unauthorized':
    case 'never-sent':
      return false;
  }
}

function withoutSecrets(baseUrl: string): string {
  const url = new URL(baseUrl);
  return url.origin + url.pathname.replace(/\/+$/, '');
}
