/**
 * The spans of one command, following OpenTelemetry's conventions for messaging and HTTP. Pure: reports about a command
 * in, names, times and attributes out.
 *
 *   process <command topic>   CONSUMER   from reading the message to committing its admission
 *   POST <route>              CLIENT     a call                                       child of process
 *   look up                   INTERNAL   a search of the service's transactions              "
 *   send <results topic>      PRODUCER   from the decision to committing the result          "
 *
 * Attributes hold no key, account, id from the service, or text from the publisher or the service (invariant I9).
 */
import { createHash } from 'node:crypto';
import { routeOf } from '../api/requests.ts';
import type { TracedCommand } from '../consumers/command-intake.ts';
import type { CallTimes } from '../lanes/calls/call-times.ts';
import type { TracedAdmission, TracedCall } from '../lanes/command-traces.ts';
import type { LookUpOutcome } from '../ledger/decision.ts';
import { OUTCOMES, type Outcome } from 'payment-processor-contract/commands';
import type { CommandResult } from 'payment-processor-contract/types';
import { keyHash } from 'payment-processor-contract/key-hash';

/** What the spans of all commands share. */
export interface SpanEnvironment {
  readonly groupId: string;
  readonly resultsTopic: string;
  /** The payment service. */
  readonly apiHost: string;
  readonly apiPort: number;
}

/** @param apiBaseUrl http or https; the settings allow nothing else */
export function spanEnvironment(apiBaseUrl: string, groupId: string, resultsTopic: string): SpanEnvironment {
  const { hostname, port, protocol } = new URL(apiBaseUrl);
  const apiPort = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
  return { groupId, resultsTopic, apiHost: hostname, apiPort };
}

export type SpanRole = 'consumer' | 'client' | 'internal' | 'producer';

export interface SpanPlan {
  readonly name: string;
  readonly role: SpanRole;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly isError: boolean;
}

/** To an HTTP client, this status and all above it are errors. */
const ERROR_STATUS_MIN = 400;

export function admissionSpan(
  command: TracedCommand,
  admission: TracedAdmission,
  { groupId }: SpanEnvironment,
  nowMs: number,
): SpanPlan {
  const { topic, partition, offset, timestampMs } = command.origin;
  return {
    name: `process ${topic}`,
    role: 'consumer',
    beganMs: admission.beganMs,
    endedMs: nowMs,
    attributes: {
      'messaging.system': 'kafka',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': topic,
      'messaging.destination.partition.id': String(partition),
      'messaging.kafka.offset': Number(offset),
      'messaging.consumer.group.name': groupId,
      ...commandAttributes(command),
      'payments.admission': admission.kind,
      'payments.waited_ms': Math.max(0, admission.beganMs - timestampMs),
      ...errorType(admission.deadLetteredAs),
    },
    isError: admission.deadLetteredAs !== null,
  };
}

export function callSpan(command: TracedCommand, call: TracedCall, environment: SpanEnvironment): SpanPlan {
  const { attempt, operation, reading } = call;
  const route = routeOf(operation);
  const httpStatus = 'httpStatus' in reading ? reading.httpStatus : null;
  const isErrorStatus = httpStatus !== null && httpStatus >= ERROR_STATUS_MIN;
  const isError = isErrorStatus || reading.kind === 'doubt' || reading.kind === 'never-sent';
  return {
    name: `POST ${route}`,
    role: 'client',
    beganMs: call.beganMs,
    endedMs: call.endedMs,
    attributes: {
      'http.request.method': 'POST',
      'url.template': route,
      'server.address': environment.apiHost,
      'server.port': environment.apiPort,
      ...(httpStatus === null ? {} : { 'http.response.status_code': httpStatus }),
      ...(attempt === 1 ? {} : { 'http.request.resend_count': attempt - 1 }),
      ...commandAttributes(command),
      'payments.attempt': attempt,
      'payments.answer': reading.kind,
      ...errorType(isError ? (isErrorStatus ? String(httpStatus) : reading.kind) : null),
    },
    isError,
  };
}

export function lookUpSpan(command: TracedCommand, times: CallTimes, found: LookUpOutcome['kind']): SpanPlan {
  return {
    name: 'look up',
    role: 'internal',
    beganMs: times.beganMs,
    endedMs: times.endedMs,
    attributes: {
      ...commandAttributes(command),
      'payments.look_up': found,
      ...errorType(found === 'failed' ? found : null),
    },
    isError: found === 'failed',
  };
}

export function resultSpan(
  command: TracedCommand,
  result: CommandResult,
  { resultsTopic }: SpanEnvironment,
  nowMs: number,
): SpanPlan {
  const isError = OUTCOMES[result.outcome as Outcome].needsAttention;
  return {
    name: `send ${resultsTopic}`,
    role: 'producer',
    beganMs: Number(result.completedAt),
    endedMs: nowMs,
    attributes: {
      'messaging.system': 'kafka',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.name': resultsTopic,
      ...commandAttributes(command),
      'payments.outcome': result.outcome,
      'payments.settled_by': result.settledBy,
      'payments.revision': result.revision,
      'payments.attempts': result.attempts,
      ...errorType(isError ? result.outcome : null),
    },
    isError,
  };
}

/**
 * Derives the ids from the command's origin, so that every process derives the same ones. A process that makes a call
 * after a crash continues the same trace, under the same span.
 * @returns a trace id (32 hex digits) for a command that came without one, and the span id (16) of its admission
 */
export function idsOf({ origin }: TracedCommand): { traceId: string; admissionSpanId: string } {
  const name = `${origin.topic}\n${origin.partition}\n${origin.offset}\n${origin.timestampMs}`;
  const digest = createHash('sha256').update(name).digest('hex');
  return { traceId: digest.slice(0, 32), admissionSpanId: digest.slice(32, 48) };
}

function commandAttributes({ commandType, key }: TracedCommand): Record<string, string> {
  return { 'payments.command': commandType, ...(key === null ? {} : { 'payments.key_hash': keyHash(key) }) };
}

/** The convention asks for few distinct values. */
function errorType(type: string | null): Record<string, string> {
  return type === null ? {} : { 'error.type': type };
}
