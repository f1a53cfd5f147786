/**
 * A consumer that is stopped while the list of brokers changes fetches no more. As shipped it makes new fetchers, which fetch
 * nothing and never wait: no timer of the process fires any more.
 */
import { expect, test } from 'vitest';
import { loadPatched, logger, silence } from './patched-module.ts';

interface FetchManager {
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Then the fetchers of the shipped one wait, so that the test ends. */
const SPINS_MAX = 10;

test('no fetch begins after the end of a consumer that found the brokers changed', async () => {
  const create = loadPatched('src/consumer/fetchManager.js') as (options: object) => FetchManager;
  const held = Promise.withResolvers<[]>();
  let [nodes, later, isStopped] = [[1, 2], 0, false];
  const manager = create({
    logger,
    getNodeIds: () => nodes,
    handler: silence,
    fetch: async (node: number) => {
      if (isStopped) return (later += 1) > SPINS_MAX ? new Promise(silence) : [];
      if (node === 2) return held.promise;
      await new Promise((resolve) => setImmediate(resolve));
      return [];
    },
  });
  const started = manager.start();
  await new Promise((resolve) => setImmediate(resolve));
  nodes = [1, 2, 3];
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  isStopped = true;
  const stopped = manager.stop();
  held.resolve([]);
  await stopped;
  await Promise.race([started, new Promise((resolve) => setTimeout(resolve, 1_000))]);
  expect(later).toBe(0);
});
