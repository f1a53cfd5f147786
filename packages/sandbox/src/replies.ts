/** Answers of the service as data; the server writes them. */
import { stringifyLossless } from 'payment-processor-contract/lossless-json';

export interface Reply {
  status: number;
  /** JSON text as sent: a stored answer is replayed byte by byte, and is cheap to keep. */
  bodyText: string;
  headers?: Readonly<Record<string, string>>;
}

/** An operation's answer; `effect` names the created or changed transaction, null: none. */
export interface Outcome {
  reply: Reply;
  effect: { transactionId: string } | null;
}

export interface Problem {
  /** The field or parameter, dotted; empty for the whole. */
  path: string;
  message: string;
}

const PROBLEMS_MAX = 20;

export function jsonReply(status: number, body: object): Reply {
  return { status, bodyText: stringifyLossless(body) };
}

export function errorReply(status: number, code: string, message: string, details?: object): Reply {
  return jsonReply(status, { status, code, message, ...(details === undefined ? {} : { details }) });
}

export function invalidInput(...problems: Problem[]): Reply {
  const [first] = problems;
  const message =
    first === undefined ? 'the request is not valid' : `${first.path}${first.path === '' ? '' : ': '}${first.message}`;
  return errorReply(400, 'INVALID_INPUT', message, { problems: problems.slice(0, PROBLEMS_MAX) });
}

/** An answer that changed nothing. */
export function unchanged(reply: Reply): Outcome {
  return { reply, effect: null };
}
