/**
 * The payment service as the lanes use it: whether calls may be made, one call, one page of transactions.
 *
 * Owns two pools of connections (changes and reads, so that neither holds up the other), a breaker per operation and the
 * check of the service. A call passes: held? -> breaker -> HTTP -> reading -> for 403, 404, 405 and 3xx a check of
 * the service as a whole. Nothing is sent twice (invariant I2): there is no retry anywhere below.
 */
import { COMMAND_TYPES, type CommandType } from '../records/commands.ts';
import { createBreaker, type Attempt, type Breaker, type BreakerStage } from './breaker.ts';
import { createHttpClient } from './client.ts';
import { systemClock, type Clock } from './clock.ts';
import { readAnswer } from './reading.ts';
import { changeRequestParts, listRequestParts, type RequestParts } from './requests.ts';
import { createServiceCheck, type Verdict } from './service-check.ts';
import { readTransactionPage } from './transaction-list.ts';
import type {
  ChangeRequest,
  Closure,
  ListReading,
  Operation,
  Reading,
  ServiceState,
  TransactionFilter,
} from './types.ts';

/** One quote or transaction; far above any real one, and with all else still within one record of Kafka. */
const CHANGE_BODY_MAX_BYTES = 512 * 1024;
/** A page of 100 transactions. */
const LIST_BODY_MAX_BYTES = 8 * 1024 * 1024;
/** GETs at once: the poller, the scanner of look-ups, the check. */
const LIST_CONCURRENCY = 4;
/** A check is a small question; the service is judged by it, so it is not cut as short as some call may be. */
const CHECK_TIMEOUT_MAX_MS = 5000;
/** Beyond a call's time-out, how long its answer may still wait for the check. */
const JUDGE_MARGIN_MS = 250;

const IDEMPOTENCY_KEY = /^[\x21-\x7e]+$/;

export interface CallReport {
  operation: Operation;
  /** `kind` of the reading; of a failed list its cause. */
  outcomeKind: string;
  httpStatus: number | null;
  durationMs: number;
}

export interface PaymentApiOptions {
  /** With the version segment; may have a path prefix. */
  baseUrl: string;
  tokenId: string;
  clientSecret: string;
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
  log?: (level: 'info' | 'warn' | 'error', event: string, fields: Record<string, unknown>) => void;
  /** Told of every call that ended, made or not. */
  onCall?: (report: CallReport) => void;
}

export interface PerformOptions {
  idempotencyKey: string;
  /** Asked right before the request is written to the socket: a reason not to, or null. */
  beforeSending?: () => string | null;
  /** From here on the request may have reached the service. */
  onSent?: () => void;
}

export interface OperationSnapshot {
  breaker: BreakerStage;
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
  const changes = createHttpClient({ ...connection, concurrency: options.maxConcurrency });
  const reads = createHttpClient({ ...connection, concurrency: LIST_CONCURRENCY });
  let callsUnderWay = 0;
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
        onChange: (stage) => {
          log(stage === 'open' ? 'warn' : 'info', 'breaker-changed', { operation, stage });
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

  /** What 403, 404, 405 and 3xx mean depends on whether the service as a whole fails; so does who waits for it. */
  const judged = async (reading: Reading, waitMs: number): Promise<Reading> => {
    if (reading.kind === 'unauthorized') {
      service.hold('wrong credentials: the payment service answers HTTP 401; check API_TOKEN_ID and API_CLIENT_SECRET');
      return reading;
    }
    if (reading.kind !== 'not-here' && reading.kind !== 'redirected') return reading;
    const verdict = await within(service.check(), waitMs);
    if (verdict?.kind === 'unreachable') service.hold(verdict.reason);
    if (reading.kind === 'redirected') return reading;
    if (verdict === null || verdict.kind === 'busy') {
      const retryAfterMs = verdict?.retryAfterMs ?? null;
      const reason = `HTTP ${reading.httpStatus}, and it cannot be told yet whether the service as a whole fails`;
      return { kind: 'told-to-wait', httpStatus: reading.httpStatus, retryAfterMs, reason };
    }
    return { ...reading, serviceFails: verdict.kind !== 'serving' };
  };

  const attempt = async (
    operation: CommandType,
    parts: RequestParts,
    perform: PerformOptions,
  ): Promise<Attempt<Reading>> => {
    const own: { objection: string | null } = { objection: null };
    const answer = await changes.call(
      { ...parts, headers: { 'idempotency-key': perform.idempotencyKey }, maxBodyBytes: CHANGE_BODY_MAX_BYTES },
      options.timeoutMs,
      {
        beforeSending: () => (own.objection = perform.beforeSending?.() ?? null),
        onSent: perform.onSent,
      },
    );
    const reading = readAnswer(operation, answer, clock.nowMs());
    const isFault = reading.kind === 'never-sent' || reading.kind === 'doubt';
    if (!isFault && reading.kind !== 'unauthorized') service.changeAnswered();
    return { result: reading, weight: own.objection !== null ? 'unattempted' : isFault ? 'fault' : 'fine' };
  };

  const perform = async (request: ChangeRequest, performOptions: PerformOptions & { onSent: () => void }): Promise<Reading> => {
    const { operation } = request;
    const closedBy = closure(operation);
    if (closedBy !== null) return neverSent(closedBy.reason);
    if (callsUnderWay >= options.maxConcurrency) return neverSent('all call slots are taken');
    if (!IDEMPOTENCY_KEY.test(performOptions.idempotencyKey))
      return neverSent('the idempotency key cannot be a header');
    const parts = partsOrNull(request);
    if (parts === null) return neverSent('the request cannot be written from the fields of the command');
    const startedMs = clock.monotonicMs();
    callsUnderWay += 1;
    try {
      const reading = await breakers[operation].run(() => attempt(operation, parts, performOptions));
      if (reading === null) return neverSent(`the breaker of ${operation} lets no further call through now`);
      const leftMs = Math.max(0, options.timeoutMs - (clock.monotonicMs() - startedMs));
      return await judged(reading, leftMs + JUDGE_MARGIN_MS);
    } finally {
      callsUnderWay -= 1;
    }
  };

  return {
    start: () => service.start(),
    state: () => service.state(),
    closure,
    allowance,
    perform: async (request, performOptions) => {
      const startedMs = clock.monotonicMs();
      let isSent = false;
      const onSent = (): void => {
        isSent = true;
        performOptions.onSent?.();
      };
      const reading = await perform(request, { ...performOptions, onSent }).catch((error: unknown): Reading => {
        // A bug here must not stop a lane (invariant I6); what it broke off may have been sent.
        log('error', 'call-failed', { operation: request.operation, error: error instanceof Error ? error.name : 'unknown' });
        const reason = 'a fault of the processor itself';
        return isSent ? { kind: 'doubt', httpStatus: null, reason, rawResponse: null } : neverSent(reason);
      });
      options.onCall?.({
        operation: request.operation,
        outcomeKind: reading.kind,
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
      callsUnderWay,
      operations: Object.fromEntries(
        COMMAND_TYPES.map((operation) => [operation, snapshotOf(breakers[operation], allowance(operation))]),
      ) as Record<CommandType, OperationSnapshot>,
    }),
  };
}

function snapshotOf(breaker: Breaker<Reading>, allowance: number): OperationSnapshot {
  return {
    breaker: breaker.stage(),
    callsUnderWay: breaker.underWay(),
    allowance: allowance === Infinity ? null : allowance,
  };
}

function neverSent(reason: string): Reading {
  return { kind: 'never-sent', reason };
}

/** Null where the request cannot be written; the error's text would quote fields, so it goes no further. */
function partsOrNull(request: ChangeRequest): RequestParts | null {
  try {
    return changeRequestParts(request);
  } catch {
    return null;
  }
}

/** Null where no verdict came in time; the check goes on for others. */
async function within(verdict: Promise<Verdict>, waitMs: number): Promise<Verdict | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => (timer = setTimeout(() => resolve(null), waitMs)));
  try {
    return await Promise.race([verdict, late]);
  } finally {
    clearTimeout(timer);
  }
}

function withoutSecrets(baseUrl: string): string {
  const url = new URL(baseUrl);
  return url.origin + url.pathname.replace(/\/+$/, '');
}
