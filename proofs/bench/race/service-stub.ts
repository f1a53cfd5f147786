/**
 * A payment service that does nothing but answer, after SERVICE_MS (ms): a transfer-in is COMPLETED at once, lists are empty.
 * Prints its port, then listens. GET /tally: calls, distinct keys, and when the first call came.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const serviceMs = Number(process.env['SERVICE_MS'] ?? '5');
const keys = new Set<string>();
let calls = 0;
let firstCallMs: number | null = null;

const server = createServer((request, response) => {
  if (request.url === '/tally') {
    answer(response, 200, { calls, keys: keys.size, firstCallMs });
    return;
  }
  request.resume();
  if (request.method === 'GET') answer(response, 200, { data: [], hasMore: false });
  else setTimeout(() => transferIn(request, response), serviceMs);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));

function transferIn(request: IncomingMessage, response: ServerResponse): void {
  firstCallMs ??= Date.now();
  calls += 1;
  keys.add(String(request.headers['idempotency-key']));
  const at = new Date().toISOString();
  answer(response, 201, {
    id: `Transaction:${calls}`,
    status: 'COMPLETED',
    type: 'INCOMING',
    destination: { destinationType: 'ACCOUNT', accountId: 'InternalAccount:1', currency: { code: 'USD', decimals: 2 } },
    customerId: 'Customer:1',
    receivedAmount: { amount: 1000, currency: { code: 'USD', name: 'United States Dollar', symbol: '$', decimals: 2 } },
    createdAt: at,
    updatedAt: at,
    settledAt: at,
  });
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
