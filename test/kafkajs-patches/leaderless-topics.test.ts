/**
 * One partition without a leader, of any topic of the cluster, keeps nobody from looking for a coordinator, or from listing the topics.
 * As shipped a client without topics of its own asks for all of them, and either fails for as long as that partition has no leader.
 */
import { expect, test } from 'vitest';
import { loadPatched, logger, silence, type Constructor } from './patched-module.ts';

interface Asked {
  readonly topics: readonly string[];
}
interface Broker {
  metadata(topics: readonly string[]): Promise<unknown>;
}
interface BrokerPool {
  refreshMetadata(topics: readonly string[]): Promise<void>;
}
interface Response {
  readonly parse: (told: object) => Promise<unknown>;
}
interface Cluster {
  metadata(of: { topics: string[] }): Promise<unknown>;
}
type MetadataRequest = (asked: Asked) => { encode(): Promise<{ buffer: Buffer }> };

const ALL = -1;
const connectionPool = { host: 'localhost', port: 1 };

/** The number of topics in the request that the broker gets. */
async function topicsAskedBy(ask: (broker: Broker) => Promise<unknown>): Promise<number> {
  const BrokerClass = loadPatched('src/broker/index.js') as Constructor<Broker>;
  const request = loadPatched('src/protocol/requests/metadata/v6/request.js') as MetadataRequest;
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
  const PoolClass = loadPatched('src/cluster/brokerPool.js') as Constructor<BrokerPool>;
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

test('who lists topics gets them, who asks for one without a leader gets the error', async () => {
  const { parse } = loadPatched('src/protocol/requests/metadata/v6/response.js') as Response;
  const ClusterClass = loadPatched('src/cluster/index.js') as Constructor<object> & { prototype: Cluster };
  const LEADER_NOT_AVAILABLE = 5;
  const partitionMetadata = [{ partitionErrorCode: LEADER_NOT_AVAILABLE, leader: -1 }];
  const told = { brokers: [], topicMetadata: [{ topic: 'other', topicErrorCode: 0, partitionMetadata }] };
  const broker = { metadata: () => parse(told) };
  const cluster = {
    retrier: (attempt: (bail: (error: Error) => never) => Promise<unknown>) =>
      attempt((error) => {
        throw error;
      }),
    brokerPool: {
      refreshMetadataIfNecessary: silence,
      withBroker: (use: (parts: object) => Promise<unknown>) => use({ broker }),
    },
  };
  const asked = (topics: string[]) => ClusterClass.prototype.metadata.call(cluster, { topics });
  expect(await asked([])).toBe(told);
  await expect(asked(['other'])).rejects.toMatchObject({ type: 'LEADER_NOT_AVAILABLE' });
});
