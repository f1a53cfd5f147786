/** Connections that the service closes while idle: a call never sent never arrived, and no call arrives twice. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { EMPTY_PAGE, VERSION_SEGMENT } from './scripted-service.ts';
import { paymentApi, transferIn, TRANSACTION_BODY } from './payment-api-in-test.ts';

test('calls that race with the closing of idle connections are reported truthfully', async () => {
  const arrivals = new Map<string, number>();
  const server = createServer((request, response) => {
    const key = request.headers['idempotency-key'];
    if (typeof key === 'string') arrivals.set(key, (arrivals.get(key) ?? 0) + 1);
    request.resume();
    // No Keep-Alive header: the client cannot know how soon the connection will be closed.
    response.writeHead(200, { 'content-type': 'application/json', connection: 'keep-alive' });
    response.end(request.method === 'GET' ? EMPTY_PAGE : TRANSACTION_BODY);
    const { socket } = request;
    const closesAtOnce = arrivals.size % 3 === 0;
    response.on('finish', () =>
      setTimeout(() => (closesAtOnce ? socket.resetAndDestroy() : socket.end()), arrivals.size % 4),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const api = paymentApi(`http://127.0.0.1:${port}${VERSION_SEGMENT}`, { breakerErrorPercent: 100 });
  await api.start();

  const kinds = new Map<string, string>();
  const worker = async (name: number): Promise<void> => {
    for (let index = 0; index < 80; index += 1) {
      const key = `${name}-${index}`;
      kinds.set(key, (await api.perform(transferIn, { idempotencyKey: key })).kind);
      await new Promise((resolve) => setTimeout(resolve, index % 4));
    }
  };
  await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(worker));

  for (const [key, kind] of kinds) {
    const count = arrivals.get(key) ?? 0;
    expect(count, `${key} ${kind}`).toBeLessThanOrEqual(1);
    if (kind === 'accepted') expect(count, key).toBe(1);
    if (kind === 'never-sent') expect(count, key).toBe(0);
  }
  expect([...kinds.values()]).toContain('accepted');
});
