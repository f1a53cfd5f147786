/**
 * One change (a POST), from its request to the class of its answer (`Reading`):
 * breaker -> HTTP -> reading -> judgement.
 *
 * Judgement: the meaning of 401 is clear. For 403, 404 and 405 it depends on whether the service as a whole fails,
 * which one GET shows. After a 3xx, that GET only decides whether the service is held. Nothing is sent twice (invariant
 * I2): there is no retry here or below.
 */
import { settledWithin } from 'payment-processor-contract/settled-within';
import type { Clock } from 'payment-processor-contract/clock';
import type { CommandType } from 'payment-processor-contract/commands';
import type { Attempt, Breaker } from './breaker.ts';
import type { HttpClient } from './client.ts';
import { readAnswer } from './reading.ts';
import { changeRequestParts, type RequestParts } from './requests.ts';
import { WRONG_CREDENTIALS, type ServiceCheck } from './service-check.ts';
import type { ChangeRequest, Closure, Reading } from './types.ts';

/** Far more than any real quote or transaction needs, and still small enough for one Kafka record. */
const BODY_MAX_BYTES = 512 * 1024;
/** How long past the call's timeout we still wait for the check that interprets its answer. */
const JUDGE_MARGIN_MS = 250;

const IDEMPOTENCY_KEY = /^[\x21-\x7e]+$/;

export interface PerformOptions {
  /** 1 or more characters of 0x21 to 0x7E. */
  idempotencyKey: string;
  /** Asked right before the request is written to the socket: a reason not to send it, or null. */
  beforeSending?: () => string | null;
  /** From here on the request may have reached the service. */
  onSent?: () => void;
}

export interface PerformParts {
  client: HttpClient;
  breakers: Record<CommandType, Breaker<Reading>>;
  service: ServiceCheck;
  closure: (operation: CommandType) => Closure | null;
  clock: Clock;
  timeoutMs: number;
  /** A fault of our own; `errorName` is only its class. */
  onOwnFault: (operation: CommandType, errorName: string) => void;
}

/** Never rejects; settles within the timeout and a small margin. */
export type Perform = (request: ChangeRequest, options: PerformOptions) => Promise<Reading>;

export function createPerform(parts: PerformParts): Perform {
  const { client, breakers, service, closure, clock, timeoutMs } = parts;

  const attempt = async (
    { fields, operation }: ChangeRequest,
    request: RequestParts,
    options: PerformOptions,
  ): Promise<Attempt<Reading>> => {
    const own: { objection: string | null } = { objection: null };
    const answer = await client.call(
      { ...request, headers: { 'idempotency-key': options.idempotencyKey }, maxBodyBytes: BODY_MAX_BYTES },
      timeoutMs,
      {
        beforeSending: () => (own.objection = options.beforeSending?.() ?? null),
        onSent: () => options.onSent?.(),
      },
    );
    const reading = readAnswer(operation, answer, clock.nowMs(), 'quoteId' in fields ? fields.quoteId : null);
    const fault = faultOf(reading);
    if (fault === null && reading.kind !== 'unauthorized') service.changeAnswered();
    if (own.objection !== null) return { result: reading, weight: 'unattempted', fault: null };
    return { result: reading, weight: fault === null ? 'fine' : 'fault', fault };
  };

  const judged = async (reading: Reading, waitMs: number): Promise<Reading> => {
    if (reading.kind === 'unauthorized') service.hold(WRONG_CREDENTIALS);
    if (reading.kind !== 'not-here' && reading.kind !== 'redirected') return reading;
    const check = service.check();
    // After the limit the check continues for others.
    const verdict = (await settledWithin(check, waitMs)) ? await check : null;
    // Only the service writes an error code: it answers calls, even if GET /transactions fails. Other commands go on.
    const isByService = reading.kind === 'not-here' && faultOf(reading) === null;
    if (verdict?.kind === 'unreachable' && !isByService) service.hold(verdict);
    // A check that failed must not make this process stand aside: the service has just answered a POST.
    if (isByService) void check.then(() => service.changeAnswered());
    if (reading.kind === 'redirected') return reading;
    if (verdict === null || verdict.kind === 'busy' || (verdict.kind === 'unreachable' && isByService)) {
      // Without an error code this may be a proxy's page: in doubt, whatever the check says.
      if (!isByService) return reading;
      const reason = `HTTP ${reading.httpStatus}; not known yet whether all calls fail or only this one`;
      const retryAfterMs = verdict?.kind === 'busy' ? verdict.retryAfterMs : null;
      return { kind: 'told-to-wait', httpStatus: reading.httpStatus, retryAfterMs, reason };
    }
    return { ...reading, serviceFails: verdict.kind !== 'serving' };
  };

  const performOnce = async (request: ChangeRequest, options: PerformOptions): Promise<Reading> => {
    const { operation } = request;
    const closedBy = closure(operation);
    if (closedBy !== null) return neverSent(closedBy.reason);
    if (!IDEMPOTENCY_KEY.test(options.idempotencyKey))
      return neverSent('the idempotency key cannot be sent as a header');
    const requestParts = partsOrNull(request);
    if (requestParts === null) return neverSent('no request can be built from the fields of the command');
    const startedMs = clock.monotonicMs();
    const reading = await breakers[operation].run(() => attempt(request, requestParts, options));
    if (reading === null) return neverSent(`the breaker of ${operation} lets no further call through now`);
    const leftMs = Math.max(0, timeoutMs - (clock.monotonicMs() - startedMs));
    return judged(reading, leftMs + JUDGE_MARGIN_MS);
  };

  return async (request, options) => {
    const progress = { isSent: false };
    const onSent = (): void => {
      progress.isSent = true;
      options.onSent?.();
    };
    try {
      return await performOnce(request, { ...options, onSent });
    } catch (error) {
      // A bug that one command triggers must not stop a lane (invariant I6). The interrupted call may have been sent.
      parts.onOwnFault(request.operation, error instanceof Error ? error.name : 'unknown');
      const reason = 'an internal error of the processor';
      return progress.isSent ? { kind: 'doubt', httpStatus: null, reason, rawResponse: null } : neverSent(reason);
    }
  };
}

function neverSent(reason: string): Reading {
  return { kind: 'never-sent', reason };
}

/** @returns the infrastructure fault that the answer shows; null: none */
function faultOf(reading: Reading): string | null {
  if (reading.kind === 'never-sent' || reading.kind === 'doubt') return reading.reason;
  // Without an error code it may be a proxy's page: the call is in doubt, as after a 502.
  const isPage = reading.kind === 'not-here' && reading.error.code === null;
  return isPage ? `HTTP ${reading.httpStatus} without an error code` : null;
}

/** Null if the request cannot be written. The error stays here, because its text would quote fields. */
function partsOrNull(request: ChangeRequest): RequestParts | null {
  try {
    return changeRequestParts(request);
  } catch {
    return null;
  }
}
