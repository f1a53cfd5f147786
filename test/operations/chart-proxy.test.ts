/** A proxy in the environment: the chart refuses the variables, because nothing obeys them. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LEAST, merged, template } from './chart.ts';
import { ROOT } from './tools.ts';

const run = promisify(execFile);
const CALLS = `
  const { createHttpClient } = await import('./src/api/client.ts');
  const { askRegistry } = await import('./packages/contract/src/registry-http.ts');
  const url = process.env.TARGET;
  const client = createHttpClient({ baseUrl: url, credentials: () => ({ tokenId: 'a', clientSecret: 'b' }), concurrency: 1, connectTimeoutMs: 2000 });
  await client.call({ method: 'GET', path: '/service', body: null, headers: {}, maxBodyBytes: 1000 }, 5000);
  await client.close();
  await askRegistry({ url, username: null, password: null }, 'GET', '/registry', { timeoutMs: 5000 });
  // The one kind of call that Node does send to a proxy. Without it the proxy would appear bypassed in any case.
  const { get } = await import('node:http');
  await new Promise((resolve, reject) => get(url + '/control', (answer) => answer.resume().on('end', resolve)).on('error', reject));
`;

describe('a proxy in the environment', () => {
  const seen: { proxy: string[]; target: string[] } = { proxy: [], target: [] };
  const servers: Server[] = [];

  async function listen(calls: string[]): Promise<string> {
    const server = createServer((request, response) => {
      calls.push(request.url ?? '');
      response.end('{}');
    });
    server.on('connect', (request, socket) => {
      calls.push(request.url ?? '');
      socket.end();
    });
    servers.push(server);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  beforeAll(async () => {
    const [proxy, target] = [await listen(seen.proxy), await listen(seen.target)];
    const env = {
      PATH: process.env.PATH,
      TARGET: target,
      HTTP_PROXY: proxy,
      HTTPS_PROXY: proxy,
      NODE_USE_ENV_PROXY: '1',
    };
    await run(process.execPath, ['--input-type=module', '--eval', CALLS], { cwd: ROOT, env });
  });

  afterAll(() => servers.forEach((server) => server.close()));

  it('is bypassed on the way to the payment service and the registry', () => {
    expect(seen.target).toEqual(['/service', '/registry']);
    expect(seen.proxy).toEqual([expect.stringMatching(/\/control$/)]);
  });

  it.each(['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'https_proxy', 'NODE_USE_ENV_PROXY'])(
    'is refused by the chart, which says why: %s',
    async (name) => {
      const refused = await template(merged(LEAST, { extraEnv: [{ name, value: 'http://proxy:3128' }] }));
      const reason = `extraEnv.${name} would have no effect: calls of the payment service`;
      expect(refused).toMatchObject({ code: 1, text: expect.stringContaining(reason) as string });
    },
  );
});
