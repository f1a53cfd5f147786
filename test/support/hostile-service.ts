/**
 * An HTTP server that stands in for the payment service. It sends the test's answers byte for byte and records the
 * requests. By default, GET /transactions returns an empty page.
 */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LOOPBACK } from 'payment-processor-local-kafka/ports';
import { VERSION_SEGMENT } from 'payment-processor-sandbox/operations';

export interface ReceivedRequest {
  method: string;
  /** Path and query, as they were sent. */
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface RawAnswer {
  httpStatus: number;
  body: string;
  headers?: Record<string, string>;
}

export interface HostileService {
  /** With a version segment. */
  baseUrl: string;
  requests: ReceivedRequest[];
  close(): Promise<void>;
}

const EMPTY_PAGE: RawAnswer = { httpStatus: 200, body: '{"data":[],"hasMore":false}' };

/** The test's answer to a request; null: an empty page. */
export type HostileAnswer = (request: ReceivedRequest) => RawAnswer | null | Promise<RawAnswer | null>;

export async function startHostileService(answer: HostileAnswer): Promise<HostileService> {
  const { listener, ...shown } = hostileListener(answer);
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...shown,
    baseUrl: `http://${LOOPBACK}:${port}/${VERSION_SEGMENT}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The service itself, without a server. */
export function hostileListener(
  answer: HostileAnswer,
): Pick<HostileService, 'requests'> & { listener: RequestListener } {
  const requests: ReceivedRequest[] = [];
  const listener: RequestListener = (incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const request: ReceivedRequest = {
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        headers: incoming.headers,
        body: Buffer.concat(chunks).toString(),
      };
      requests.push(request);
      void Promise.resolve(answer(request)).then((given) => {
        const { httpStatus, body, headers } = given ?? EMPTY_PAGE;
        response.writeHead(httpStatus, { 'content-type': 'application/json', ...headers }).end(body);
      });
    });
  };
  return { listener, requests };
}
