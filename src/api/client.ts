/**
 * HTTP calls to the payment service: one connection per call under way, one deadline per call, no retry, no redirect.
 *
 * Stages of a call: dispatched -> (connecting) -> started -> headers -> ended. At `started` the request is written to
 * the socket: undici calls the handler right before the write, and writes nothing if the handler aborts there. A call
 * that fails earlier is `never-sent`; one that fails later, without an answer, is `lost`.
 *
 * The pool owns the sockets; a call owns its timer and clears it when it settles. `close` ends both.
 */
import { Pool, type Dispatcher } from 'undici';
import { settledWithin } from 'payment-processor-contract/settled-within';
import type { Answer } from './types.ts';

/** Connecting takes one round trip, or up to three with TLS; a host that needs longer is down. */
const CONNECT_TIMEOUT_MAX_MS = 5000;
/** Connections beyond the concurrency: a connection that the service is still closing must not delay a call. */
const SPARE_CONNECTIONS = 4;
/** Calls under way get this long when the client is closed. */
const CLOSE_GRACE_MS = 2000;

export interface HttpRequest {
  method: 'GET' | 'POST';
  /** Below the base URL, percent-encoded, with its query. */
  path: string;
  /** JSON text; null: no body. */
  body: string | null;
  headers: Record<string, string>;
  /** The client cuts a longer answer at this length. */
  maxBodyBytes: number;
}

export interface CallHooks {
  /** Called once, right before the write: a reason not to send the request, or null. */
  beforeSending?: () => string | null;
  /** Called right before the write: from now on the request may have reached the service. */
  onSent?: () => void;
}

export interface HttpClient {
  /** Makes one call. Never rejects; settles within the timeout. */
  call(request: HttpRequest, timeoutMs: number, hooks?: CallHooks): Promise<Answer>;
  /** Lets calls under way end for a short while, then ends them. */
  close(): Promise<void>;
}

export interface ApiCredentials {
  readonly tokenId: string;
  readonly clientSecret: string;
}

export interface HttpClientOptions {
  /** Scheme, host and an optional path; no trailing slash needed. */
  baseUrl: string;
  /** Read for each call, because they may be rotated. */
  credentials: () => ApiCredentials;
  /** Calls that the caller makes at once. Further ones take a spare connection, or wait for one until their timeout. */
  concurrency: number;
  /** CONNECT_TIMEOUT_MAX_MS at most; a larger value has no effect. */
  connectTimeoutMs: number;
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const base = new URL(options.baseUrl);
  const pathPrefix = base.pathname.replace(/\/+$/, '');
  const commonHeaders = {
    accept: 'application/json',
    // This client does not decompress answers.
    'accept-encoding': 'identity',
    'user-agent': 'payment-processor',
  };
  const pool = new Pool(base.origin, {
    connections: options.concurrency + SPARE_CONNECTIONS,
    pipelining: 1,
    // With HTTP/2, undici resends requests that a closing connection left unanswered (invariant I2).
    allowH2: false,
    // The call's deadline covers both; undici's timeouts start too late, after queueing.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: Math.min(options.connectTimeoutMs, CONNECT_TIMEOUT_MAX_MS) },
  });

  let closing: Promise<void> | undefined;

  return {
    call: (request, timeoutMs, hooks = {}) =>
      callOnce(
        pool,
        {
          method: request.method,
          path: pathPrefix + request.path,
          body: request.body === null ? null : Buffer.from(request.body, 'utf8'),
          headers: {
            ...commonHeaders,
            authorization: authorizationOf(options.credentials()),
            ...(request.body === null ? {} : { 'content-type': 'application/json' }),
            ...request.headers,
          },
        },
        request.maxBodyBytes,
        timeoutMs,
        hooks,
      ),
    close: () => (closing ??= closePool(pool)),
  };
}

function authorizationOf({ clientSecret, tokenId }: ApiCredentials): string {
  return `Basic ${Buffer.from(`${tokenId}:${clientSecret}`, 'utf8').toString('base64')}`;
}

async function closePool(pool: Pool): Promise<void> {
  await settledWithin(pool.close(), CLOSE_GRACE_MS);
  if (!pool.destroyed) await pool.destroy();
}

interface ResponseHead {
  httpStatus: number;
  retryAfter: string | null;
  location: string | null;
}

function callOnce(
  pool: Pool,
  options: Dispatcher.DispatchOptions,
  maxBodyBytes: number,
  timeoutMs: number,
  hooks: CallHooks,
): Promise<Answer> {
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | null = null;
    let head: ResponseHead | null = null;
    let settled = false;
    const chunks: Buffer[] = [];
    let receivedBytes = 0;

    const settle = (answer: Answer): void => {
      if (settled) return;
      settled = true;
      clearTimeout(deadline);
      resolve(answer);
    };
    /** Settles a call without a complete answer. Keeps the status if it came: often that is enough for a verdict. */
    const settleUnfinished = (reason: string, isTooLong = false): void => {
      if (head !== null) settle({ kind: 'response', ...head, body: textOf(chunks), cut: true, isTooLong });
      else settle({ kind: controller === null ? 'never-sent' : 'lost', reason });
    };
    const deadline = setTimeout(() => {
      const started = controller;
      settleUnfinished(
        started === null ? `no connection within ${timeoutMs} ms` : `no complete answer within ${timeoutMs} ms`,
      );
      started?.abort(new Error('deadline'));
    }, timeoutMs);

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(startedController) {
        // After an abort here undici writes nothing: it sends no call that has already settled, and none twice.
        if (settled || controller !== null) {
          startedController.abort(new Error('given up'));
          return;
        }
        const objection = hooks.beforeSending?.() ?? null;
        if (objection !== null) {
          settle({ kind: 'never-sent', reason: objection });
          startedController.abort(new Error('not to be sent'));
          return;
        }
        controller = startedController;
        hooks.onSent?.();
      },
      onResponseStart(_controller, httpStatus, headers) {
        // 102 and 103 only announce an answer.
        if (httpStatus < 200) return;
        head = { httpStatus, retryAfter: single(headers['retry-after']), location: single(headers['location']) };
      },
      onResponseData(dataController, chunk) {
        if (settled) return;
        const room = maxBodyBytes - receivedBytes;
        receivedBytes += chunk.length;
        chunks.push(chunk.subarray(0, room));
        if (chunk.length > room) {
          settleUnfinished('answer too long', true);
          dataController.abort(new Error('answer too long'));
        }
      },
      onResponseEnd() {
        if (head === null) settleUnfinished('the answer had no status');
        else settle({ kind: 'response', ...head, body: textOf(chunks), cut: false });
      },
      onResponseError(_controller, error) {
        settleUnfinished(faultOf(error));
      },
      onRequestUpgrade(_controller, _httpStatus, _headers, socket) {
        socket.destroy();
        settleUnfinished('the answer switched protocols');
      },
    };
    try {
      pool.dispatch(options, handler);
    } catch (error) {
      settleUnfinished(faultOf(error));
    }
  });
}

function textOf(chunks: Buffer[]): string {
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function single(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null;
}

/** A fault in a few words, without addresses or contents: its code, else its name. */
function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown fault';
  const code = (error as NodeJS.ErrnoException).code;
  return typeof code === 'string' && code !== '' ? code : error.name;
}
