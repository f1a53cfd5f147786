/**
 * Topics that are asked for while every broker goes away: the caller gets the reason. As shipped the answer is null, which no
 * caller expects: the failure that follows looks like a bug of ours, and not like an outage.
 */
import { expect, test } from 'vitest';
import { loadMended } from './without-mend.ts';

interface Cluster {
  brokerPool: object;
  metadata(): Promise<unknown>;
}

const logger = { namespace: () => logger, debug: () => undefined, error: () => undefined };
const RETRY = { initialRetryTime: 1, maxRetryTime: 2, retries: 2 };

/** @returns the answer or the error's message, and how often each broker was asked */
async function askedOf(answersOf: readonly (() => Promise<unknown>)[]): Promise<[unknown, number]> {
  const Class = loadMended('src/cluster/index.js') as new (options: object) => Cluster;
  const Pool = loadMended('src/cluster/brokerPool.js') as new (options: object) => Record<string, unknown>;
  const cluster = new Class({
    logger,
    brokers: ['localhost:1'],
    retry: RETRY,
    offsets: new Map(),
    instrumentationEmitter: null,
  });
  let asked = 0;
  const brokers = answersOf.map((metadata) => ({
    isConnected: () => true,
    metadata: () => ((asked += 1), metadata()),
  }));
  cluster.brokerPool = Object.assign(new Pool({ logger, retry: RETRY }), {
    brokers: Object.fromEntries(brokers.entries()),
    connectBroker: async () => undefined,
    refreshMetadataIfNecessary: async () => undefined,
  });
  const told = await cluster.metadata().catch((error: unknown) => (error as Error).message);
  return [told, asked];
}

const away = (): Promise<unknown> => Promise.reject(new Error('Closed connection'));

test('a broker that answers is enough', async () => {
  expect(await askedOf([async () => 'topics'])).toEqual(['topics', 1]);
  const [told] = await askedOf([away, async () => 'topics', away]);
  expect(told).toBe('topics');
});

test('when all brokers go away the last failure is reported, once each was asked again', async () => {
  expect(await askedOf([away, away])).toEqual(['Closed connection', 2 * (1 + RETRY.retries)]);
});
