/**
 * A payment service on a real socket whose every answer is scripted, down to the bytes. Requests are read whole before
 * the script sees them, unless it asks for bare connections.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';

export interface SeenRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}
/** Answers one request by writing to its socket, or leaves it. */
export type Script = (request: SeenRequest, socket: Socket) => void;

export interface ScriptedService {
  origin: string;
  baseUrl: string;
  requests: SeenRequest[];
  /** Connections accepted so far. */
  connections: () => number;
  /** Changes what the next requests are answered. */
  script(next: Script): void;
  /** Requests whose path, below the base, is this. */
  requestsOf(method: string): SeenRequest[];
  stop(): Promise<void>;
}

export const VERSION_SEGMENT = '/2025-10-13';
export const EMPTY_PAGE = '{"data":[],"hasMore":false,"totalCount":0}';

export async function startScriptedService(
  script: Script,
  options: { port?: number; onConnection?: (socket: Socket) => boolean } = {},
): Promise<ScriptedService> {
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let current = script;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    if (options.onConnection?.(socket) === true) return;
    let received: Buffer = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      for (;;) {
        const parsed = firstRequest(received);
        if (parsed === null) return;
        received = parsed.rest;
        requests.push(parsed.request);
        current(parsed.request, socket);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    baseUrl: origin + VERSION_SEGMENT,
    requests,
    connections: () => connections,
    script: (next) => (current = next),
    requestsOf: (method) => requests.filter((request) => request.method === method),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** An answer as bytes, whole and keep-alive. */
export function httpAnswer(httpStatus: number, body: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({ 'content-type': 'application/json', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `HTTP/1.1 ${httpStatus} Whatever\r\n${lines.join('')}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** GETs get a page; changes get what the script says. */
export function servingReads(changes: Script): Script {
  return (request, socket) => {
    if (request.method === 'GET') socket.write(httpAnswer(200, EMPTY_PAGE));
    else changes(request, socket);
  };
}

export function always(httpStatus: number, body: string, headers: Record<string, string> = {}): Script {
  return (_request, socket) => void socket.write(httpAnswer(httpStatus, body, headers));
}

function firstRequest(bytes: Buffer): { request: SeenRequest; rest: Buffer } | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return null;
  const [requestLine = '', ...headerLines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    headerLines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  ) as Record<string, string>;
  const bodyEnd = headEnd + 4 + Number(headers['content-length'] ?? 0);
  if (bytes.length < bodyEnd) return null;
  const [method = '', path = ''] = requestLine.split(' ');
  const body = bytes.subarray(headEnd + 4, bodyEnd).toString('utf8');
  return { request: { method, path, headers, body }, rest: bytes.subarray(bodyEnd) };
}
