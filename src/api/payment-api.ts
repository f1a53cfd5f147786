/**
 * The payment service as the lanes use it: whether calls may be made, one call, one page of transactions.
 *
 * Owns two pools of connections (changes and reads, so that neither holds up the other), a breaker per operation and the
 * check of the service; `close` ends them all.
 */
import { systemClock, type Clock } from 'payment-processor-contract/clock';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { createBreaker, type Breaker, type BreakerStage } from './breaker.ts';
import { breakerLog, type ApiLog } from './breaker-log.ts';
import { createHttpClient, type ApiCredentials, type HttpClient, type HttpClientOptions } from './client.ts';
import { createPerformer, type PerformOptions } from './perform.ts';
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
/** GETs at once: the poller, the scanner of look-ups, the check. */
const LIST_CONCURRENCY = 4;
/** A check is a small question; the service is judged by it, so it is not cut as short as some call may be. */
const CHECK_TIMEOUT_MAX_MS = 5000;

export interface CallReport {
  operation: Operation;
  /** `kind` of the reading; of a failed list its cause. */
  outcomeKind: string;
  /** The service said what came of it, be it a refusal; false: it could not be reached, or nobody can tell. */
  isAnswered: boolean;
  httpStatus: number | null;
  durationMs: number;
}

export interface PaymentApiOptions {
  /** With the version segment; may have a path prefix. */
  baseUrl: string;
  /** Asked for each call: they may change meanwhile. */
  credentials: () => ApiCredentials;
  /** Overall deadline of one call. */
  timeoutMs: number;
  /** Changes under way at once. */
  maxConcurrency: number;
  breakerErrorPercent: number;
  breakerResetMs: number;
  clock?: Clock;
  /** 0 to 1, for jitter. */
  random?: () => number;
  /** Fields never hold bodies, ids of accounts or credentials (invariant I9). */
  log?: ApiLog;
  /** Told of every call that ended, made or not. */
  onCall?: (report: CallReport) => void;
  /** Real connections, unless told otherwise. */
  makeClient?: (options: HttpClientOptions) => HttpClient;
}

export interface OperationSnapshot {
  breaker: BreakerStage;
  /** In a few words, such as ECONNREFUSED or HTTP 503; null before the first. */
  lastFault: string | null;
  callsUnderWay: number;
  /** Null: without limit. */
  allowance: number | null;
}

export interface PaymentApiSnapshot {
  state: ServiceState;
  callsUnderWay: number;
  operations: Record<CommandType, OperationSnapshot>;
}

export interface PaymentApi {
  /** Checks base URL, version segment and credentials; resolves after the first check, whatever it says; goes on while held. */
  start(): Promise<void>;
  state(): ServiceState;
  /** Null: the service serves this process, as far as is known. */
  unserved(): Unserved | null;
  /** Null when calls of the operation may be made, else why not. */
  closure(operation: CommandType): Closure | null;
  /** How many calls of the operation may be under way at once: Infinity when healthy, 0 when closed, else a trial or ramp. */
  allowance(operation: CommandType): number;
  /** Makes one call and reads its answer. Never rejects; settles within the time-out and a small margin. */
  perform(request: ChangeRequest, options: PerformOptions): Promise<Reading>;
  /** Reads one page. Never rejects; settles within the time-out. */
  listTransactions(filter: TransactionFilter): Promise<ListReading>;
  /** Tells when state, closure or allowance of any operation changed. */
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

  const tellBreaker = breakerLog(log, () => clock.monotonicMs());
  const breakers = Object.fromEntries(
    COMMAND_TYPES.map((operation) => [
      operation,
      createBreaker<Reading>({
        name: operation,
        errorPercent: options.breakerErrorPercent,
        resetMs: options.breakerResetMs,
        timeoutMs: options.timeoutMs,
        rampEnd: options.maxConcurrency,
        isServiceThere: async () => {
          const verdict = await service.check();
          return verdict.kind === 'serving' || verdict.kind === 'busy';
        },
        onChange: (stage, evidence) => {
          tellBreaker(operation, stage, evidence);
          changed();
        },
      }),
    ]),
  ) as Record<CommandType, Breaker<Reading>>;

  const closure = (operation: CommandType): Closure | null => {
    if (closed) return { cause: 'held', reason: 'the client is closed' };
    const state = service.state();
    if (state.kind === 'held') return { cause: 'held', reason: state.reason };
    if (state.kind === 'unchecked') return { cause: 'held', reason: 'the payment service has not been checked yet' };
    const stage = breakers[operation].stage();
    if (stage === 'open')
      return { cause: 'breaker', reason: `the breaker of ${operation} is open after infrastructure faults` };
    if (stage === 'checking')
      return { cause: 'breaker', reason: `the breaker of ${operation} checks whether the service is back` };
    return null;
  };

  const allowance = (operation: CommandType): number =>
    !closed && service.state().kind === 'serving' ? breakers[operation].allowance() : 0;

  const performer = createPerformer({
    client: changes,
    breakers,
    service,
    closure,
    clock,
    timeoutMs: options.timeoutMs,
    maxConcurrency: options.maxConcurrency,
    onOwnFault: (operation, errorName) => log('error', 'call-failed', { operation, error: errorName }),
  });

  return {
    start: () => service.start(),
    state: () => service.state(),
    unserved: () => service.unserved(),
    closure,
    allowance,
    perform: async (request, performOptions) => {
      const startedMs = clock.monotonicMs();
      const reading = await performer.perform(request, performOptions);
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
      const state = service.state();
      if (closed || state.kind !== 'serving') {
        const reason = state.kind === 'held' ? state.reason : 'the payment service has not been checked yet';
        return {
          kind: 'failed',
          cause: 'held',
          reason: closed ? 'the client is closed' : reason,
          httpStatus: null,
          retryAfterMs: null,
          serviceSays: null,
        };
      }
      const reading = await list(filter, options.timeoutMs);
      // What a list meets the check meets as well; its verdict holds the service or does not.
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
      callsUnderWay: performer.callsUnderWay(),
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

/** A 404 with the service's own error code is as definite as any refusal, as long as the service as a whole is there. */
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
