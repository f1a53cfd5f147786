/**
 * A client without topics of its own looks for a coordinator. It asks for the brokers alone. As shipped it asks for all topics of
 * the cluster, and fails for as long as any of them has a partition without a leader.
 */
import { expect, test } from 'vitest';
import { loadMended } from './mended.ts';

interface Asked {
  readonly topics: readonly string[];
}
interface Broker {
  metadata(topics: readonly string[]): Promise<unknown>;
}
interface BrokerPool {
  refreshMetadata(topics: readonly string[]): Promise<void>;
}
type Constructor<Made> = new (options: object) => Made;
type MetadataRequest = (asked: Asked) => { encode(): Promise<{ buffer: Buffer }> };

const ALL = -1;
const silence = (): void => undefined;
const logger = { namespace: () => logger, debug: silence, error: silence, info: silence, warn: silence };
const connectionPool = { host: 'localhost', port: 1 };

/** The number of topics in the request that the broker gets. */
async function topicsAskedBy(ask: (broker: Broker) => Promise<unknown>): Promise<number> {
  const BrokerClass = loadMended('src/broker/index.js') as Constructor<Broker>;
  const request = loadMended('src/protocol/requests/metadata/v6/request.js') as MetadataRequest;
  const asked: Asked[] = [];
  const lookupRequest = () => (of: Asked) => {
    asked.push(of);
    throw new Error('asked');
  };
  await ask(Object.assign(new BrokerClass({ connectionPool, logger }), { lookupRequest })).catch(silence);
  const [of = { topics: ['nothing was asked'] }] = asked;
  const { buffer } = await request(of).encode();
  return buffer.readInt32BE(0);
}

function refreshed(topics: readonly string[]): (broker: Broker) => Promise<void> {
  const PoolClass = loadMended('src/cluster/brokerPool.js') as Constructor<BrokerPool>;
  return (broker) => {
    const parts = { brokers: {}, seedBroker: broker, connectBroker: async () => undefined };
    return Object.assign(new PoolClass({ logger }), parts, { findConnectedBroker: async () => broker }).refreshMetadata(
      topics,
    );
  };
}

test('a refresh without topics asks for none, one with topics for those', async () => {
  expect(await topicsAskedBy(refreshed([]))).toBe(0);
  expect(await topicsAskedBy(refreshed(['one', 'two']))).toBe(2);
});

test('who lists topics still asks for all', async () => {
  expect(await topicsAskedBy((broker) => broker.metadata([]))).toBe(ALL);
});
