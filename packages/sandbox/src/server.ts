/**
 * HTTP: turns a request into a call. Stages: path, credentials, method, body, rate limit, fault, operation. Bad input gets a
 * 4xx; a 500 is a bug in the sandbox, and is printed.
 *
 * The server owns its connections; `close` ends them all.
 */
import { isUtf8 } from 'node:buffer';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { authenticated } from './authentication.ts';
import { control } from './control.ts';
import { deliver, writeReply } from './delivery.ts';
import { routeOf, VERSION_SEGMENT } from './operations.ts';
import { errorReply, type Reply } from './replies.ts';
import type { Sandbox } from './sandbox.ts';

/** Far larger than any request of the interface. */
const BODY_MAX_BYTES = 256 * 1024;
/** After a body that is too large, the client may keep sending for this long, so that it can read the answer. */
const DRAIN_MAX_MS = 1000;
/** Longer than clients keep idle connections, so that the sandbox never closes one during a request. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const IDEMPOTENCY_KEY_MAX_LENGTH = 255;

/** The server, not yet listening. `log` gets a line per answer, without bodies or credentials. */
export function createSandboxServer(sandbox: Sandbox, log: ((line: string) => void) | null): Server {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS }, (request, response) => {
    if (log !== null)
      response.on('close', () => log(`${request.method ?? ''} ${urlOf(request)[0]} ${response.statusCode}`));
    readBody(request, (body) => {
      try {
        answer(sandbox, request, response, body);
      } catch (error) {
        console.error('BUG in the sandbox:', error);
        if (!response.headersSent)
          writeReply(response, errorReply(500, 'INTERNAL_ERROR', 'a bug in the sandbox; see its output'));
        else request.socket.destroy();
      }
    });
  });
  server.on('clientError', answerUnreadable);
  return server;
}

type Body = { kind: 'whole'; bytes: Buffer } | { kind: 'too-large' };

function answer(sandbox: Sandbox, request: IncomingMessage, response: ServerResponse, body: Body): void {
  if (body.kind === 'too-large') {
    writeReply(response, errorReply(413, 'BODY_TOO_LARGE', `a body may have at most ${BODY_MAX_BYTES} bytes`), {
      connection: 'close',
    });
    setTimeout(() => request.socket.destroy(), DRAIN_MAX_MS).unref();
    return;
  }
  const [path] = urlOf(request);
  const method = request.method ?? '';
  if (path === '/control' || path.startsWith('/control/')) {
    writeReply(response, control(sandbox, method, path, body.bytes.toString()));
    return;
  }
  const refused = answerVersioned(sandbox, request, response, method, path, body.bytes);
  if (refused !== null) writeReply(response, refused);
}

/** Passes the call to its operation, or returns the answer that refuses it first. */
function answerVersioned(
  sandbox: Sandbox,
  request: IncomingMessage,
  response: ServerResponse,
  method: string,
  path: string,
  body: Buffer,
): Reply | null {
  const unknownPath = errorReply(404, 'NOT_FOUND', `there is no such endpoint; all are below /${VERSION_SEGMENT}`);
  if (!path.startsWith(`/${VERSION_SEGMENT}/`)) return unknownPath;
  const client = authenticated(request.headers.authorization, sandbox.credentials);
  if (client === null) {
    const reply = errorReply(401, 'UNAUTHORIZED', 'HTTP Basic credentials are missing or wrong');
    return { ...reply, headers: { 'www-authenticate': 'Basic realm="payments"' } };
  }
  const route = routeOf(method, path);
  switch (route.kind) {
    case 'unknown-path':
      return unknownPath;
    case 'wrong-method':
      return { ...errorReply(405, 'METHOD_NOT_ALLOWED', `use ${route.allow}`), headers: { allow: route.allow } };
    case 'bad-encoding':
      return errorReply(400, 'INVALID_INPUT', 'the path is not valid percent-encoding');
    case 'operation':
      break;
  }
  if (body.length > 0 && !isJsonContent(request)) {
    return errorReply(415, 'UNSUPPORTED_MEDIA_TYPE', 'a body must be application/json in UTF-8, not compressed');
  }
  const idempotencyKey = keyOf(request);
  if (idempotencyKey !== null && (idempotencyKey === '' || idempotencyKey.length > IDEMPOTENCY_KEY_MAX_LENGTH)) {
    return errorReply(400, 'INVALID_INPUT', `Idempotency-Key must have 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} characters`);
  }
  const { world } = sandbox;
  world.effects.countCall(route.operation, idempotencyKey);
  const waitMs = sandbox.rateLimit.waitMs(sandbox.clock.nowMs(), world.settings.rateLimitPerSecond);
  if (waitMs > 0) {
    const reply = errorReply(429, 'RATE_LIMITED', 'too many requests');
    return { ...reply, headers: { 'retry-after': String(Math.ceil(waitMs / 1000)) } };
  }
  deliver(sandbox, response, {
    operation: route.operation,
    pathId: route.pathId,
    query: urlOf(request)[1],
    bodyText: isUtf8(body) ? body.toString() : null,
    idempotencyKey,
    client,
  });
  return null;
}

function keyOf(request: IncomingMessage): string | null {
  const value = request.headers['idempotency-key'];
  return value === undefined ? null : String(value);
}

function isJsonContent(request: IncomingMessage): boolean {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return false;
  const type = request.headers['content-type'];
  return type === undefined || /^application\/([\w.-]+\+)?json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type);
}

/** The path, and the text after `?`, as received. */
function urlOf({ url = '' }: IncomingMessage): [path: string, query: string] {
  const [path = '', ...query] = url.split('?');
  return [path, query.join('?')];
}

/** Calls back once, with the whole body or as soon as it is too large; never if the client disconnects first. */
function readBody(request: IncomingMessage, done: (body: Body) => void): void {
  const chunks: Buffer[] = [];
  let length = 0;
  request.on('data', (chunk: Buffer) => {
    if (length > BODY_MAX_BYTES) return;
    length += chunk.length;
    if (length > BODY_MAX_BYTES) done({ kind: 'too-large' });
    else chunks.push(chunk);
  });
  request.on('end', () => {
    if (length <= BODY_MAX_BYTES)
      done({ kind: 'whole', bytes: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) });
  });
  request.on('error', () => {
    // The client disconnected during its request: there is no one to answer and nothing to perform.
  });
}

/** Answers input that is not HTTP, or whose head is too large, and closes the connection. */
function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, reason] =
    error.code === 'HPE_HEADER_OVERFLOW' ? [431, 'Request Header Fields Too Large'] : [400, 'Bad Request'];
  const body = errorReply(status, 'INVALID_INPUT', 'the request is not readable as HTTP').bodyText;
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
}
