/**
 * Serves the HTTP endpoints: small responses to GET, from the routes passed in.
 *
 *   start   listens, or rejects with the remedy
 *   stop    accepts no new connections, and finishes responses under way, up to a deadline
 *
 * Owns the listening socket and its connections. Requests have no body, few headers and a short timeout. A response that
 * takes too long becomes a 503.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { settledWithin } from 'payment-processor-contract/settled-within';

// An import reads every export of the module. That loads the HTTP client that Node bundles, and takes 40 ms at each start.
const { createServer } = process.getBuiltinModule('node:http');

const HEADERS_MAX_BYTES = 8 * 1024;
/** A whole request, headers only; kubelet and scrapers send theirs at once. */
const REQUEST_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 10_000;
/** How often Node checks for requests that have timed out. */
const CHECK_INTERVAL_MS = 1_000;
/** Probes, a few scrapers, a few people. */
const CONNECTIONS_MAX = 100;
/** Below the scrapers' default timeout of 10 s. */
const ANSWER_TIMEOUT_MS = 5_000;
const STOP_TIMEOUT_MS = 2_000;

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** More headers; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

export type RequestHeaders = Readonly<IncomingHttpHeaders>;

export interface Route {
  readonly path: string;
  /** Whether it requires the token, provided that one is set. */
  readonly isProtected: boolean;
  /** A credential that this route accepts instead of the token; null: there is none. */
  readonly otherToken?: () => string | null;
  readonly answer: (headers: RequestHeaders) => Reply | Promise<Reply>;
}

export interface HttpServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Null: no token is required. */
  readonly authToken: string | null;
  readonly routes: readonly Route[];
  /** A route threw: a bug. */
  readonly onError: (path: string, error: unknown) => void;
}

export interface HttpServer {
  /** @throws Error with the remedy if it cannot listen there */
  start(): Promise<{ port: number }>;
  /** Bounded: closes remaining connections after the deadline. */
  stop(): Promise<void>;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const server = createServer(
    {
      maxHeaderSize: HEADERS_MAX_BYTES,
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
    },
    (request, response) => void respond(options, request, response),
  );
  boundConnections(server);
  return { start: () => listen(server, options), stop: () => stop(server) };
}

/**
 * A client that holds connections open must not keep probes out: beyond the limit the server closes the connection that has
 * been idle longest.
 */
function boundConnections(server: Server): void {
  const idle = new Set<Socket>();
  server.maxConnections = CONNECTIONS_MAX + 1;
  server.on('connection', (socket) => {
    idle.add(socket);
    socket.once('close', () => idle.delete(socket));
    const [oldest] = idle;
    server.getConnections((_error, count) => {
      if (count > CONNECTIONS_MAX) oldest?.destroy();
    });
  });
  server.on('request', ({ socket }, response: ServerResponse) => {
    idle.delete(socket);
    response.once('finish', () => {
      if (!socket.destroyed) idle.add(socket);
    });
  });
}

export function jsonReply(status: number, value: unknown): Reply {
  return { status, contentType: 'application/json; charset=utf-8', body: `${JSON.stringify(value)}\n` };
}

async function respond(options: HttpServerOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // An unread body must not be parsed as the next request.
  if (hasBody(request)) response.setHeader('connection', 'close');
  const path = (request.url ?? '/').split('?', 1)[0];
  const route = options.routes.find((candidate) => candidate.path === path);
  if (route === undefined) {
    const paths = options.routes.map((known) => known.path).join(', ');
    send(request, response, jsonReply(404, { error: `not found; the paths are: ${paths}` }));
  } else if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    send(request, response, jsonReply(405, { error: 'only GET and HEAD are allowed' }));
  } else if (hasBody(request)) {
    send(request, response, jsonReply(413, { error: 'requests must not have a body' }));
  } else if (route.isProtected && !isAuthorized(request, options.authToken, route.otherToken?.() ?? null)) {
    response.setHeader('www-authenticate', 'Bearer');
    send(
      request,
      response,
      jsonReply(401, { error: 'this path requires the header Authorization: Bearer <HTTP_AUTH_TOKEN>' }),
    );
  } else {
    send(request, response, await answerInTime(route, request.headers, options.onError));
  }
}

async function answerInTime(
  route: Route,
  headers: RequestHeaders,
  onError: HttpServerOptions['onError'],
): Promise<Reply> {
  const answer = Promise.resolve()
    .then(() => route.answer(headers))
    .catch((error: unknown) => {
      onError(route.path, error);
      return jsonReply(500, { error: 'internal error; see the log' });
    });
  return (await settledWithin(answer, ANSWER_TIMEOUT_MS)) ? answer : jsonReply(503, { error: 'no answer in time' });
}

function send(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  response.writeHead(reply.status, {
    'content-type': reply.contentType,
    'content-length': Buffer.byteLength(reply.body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...reply.headers,
  });
  response.end(request.method === 'HEAD' ? undefined : reply.body);
}

function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

function isAuthorized(request: IncomingMessage, authToken: string | null, otherToken: string | null): boolean {
  if (authToken === null) return true;
  const given = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (given === undefined) return false;
  // Digests have a fixed length, so the comparison does not reveal the token's length.
  const isToken = timingSafeEqual(digest(given), digest(authToken));
  return isToken || (otherToken !== null && timingSafeEqual(digest(given), digest(otherToken)));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function listen(server: Server, { host, port }: HttpServerOptions): Promise<{ port: number }> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void =>
      reject(new Error(listenProblem(error, host, port), { cause: error }));
    server.once('error', failed);
    server.listen({ host, port }, () => {
      server.off('error', failed);
      resolve({ port: (server.address() as AddressInfo).port });
    });
  });
}

function listenProblem(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `port ${port} of ${host} is in use by another process; set HTTP_PORT to a free one, or to 0`;
    case 'EACCES':
      return `this user may not listen on port ${port} of ${host}; set HTTP_PORT to one above 1023`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine; set HTTP_HOST to one that is`;
    default:
      return `HTTP endpoints cannot listen on ${host}, port ${port} (${error.code ?? 'unknown error'})`;
  }
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), STOP_TIMEOUT_MS);
  await closed;
  clearTimeout(timer);
}
