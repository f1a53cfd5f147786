/**
 * A broker that is cut off from the others, and that clients still reach: as the group's coordinator it commits nothing, and answers
 * that no coordinator is available. The member looks for another at once. As shipped it asks the same one until its retries are
 * used up, each for as long as a request may take. Metadata is asked of another broker each time, and while fetches go on; as shipped
 * the same broker may be asked again and again, and all fetches and the heartbeats between them wait for it.
 */
import { expect, test } from 'vitest';
import { loadPatched, logger, silence, type Constructor } from './patched-module.ts';

interface Runner {
  heartbeat(): Promise<void>;
}
interface ConsumerGroup {
  offsetManager: object;
  fetch(nodeId: string): Promise<unknown>;
}
interface BrokerPool {
  refreshMetadata(topics: readonly string[]): Promise<void>;
}

/** How often a member joins whose heartbeat is answered with the error. */
async function joinsAfter(type: string): Promise<number> {
  const RunnerClass = loadPatched('src/consumer/runner.js') as Constructor<Runner>;
  let joins = 0;
  const consumerGroup = {
    heartbeat: () => Promise.reject(Object.assign(new Error(type), { type })),
    join: async () => void (joins += 1),
  };
  const options = { logger, consumerGroup, instrumentationEmitter: { emit: silence }, autoCommit: false };
  await new RunnerClass({ ...options, fetchWhileJoining: true }).heartbeat().catch(silence);
  return joins;
}

/** What a fetch of a member ends with while the broker that is asked for metadata does not answer. */
async function fetched(): Promise<unknown> {
  const GroupClass = loadPatched('src/consumer/consumerGroup.js') as Constructor<ConsumerGroup>;
  const cluster = { refreshMetadataIfNecessary: () => new Promise(silence) };
  const group = new GroupClass({ logger, cluster, groupId: 'group', topics: [], maxWaitTimeInMs: 1 });
  group.offsetManager = { committedOffsets: () => ({}), resolveOffsets: silence };
  const tooLate = new Promise((resolve) => setTimeout(resolve, 200, 'no answer'));
  return Promise.race([group.fetch('1'), tooLate]);
}

/** Which of two brokers are asked for metadata in turn, of which only the first is connected. */
async function asked(times: number): Promise<string[]> {
  const PoolClass = loadPatched('src/cluster/brokerPool.js') as Constructor<BrokerPool>;
  const [order, pool]: [string[], BrokerPool] = [[], new PoolClass({ logger })];
  const connectionPool = { host: 'localhost', port: 1 };
  const told = ['a', 'b'].map((nodeId) => ({ ...connectionPool, nodeId }));
  const broker = (nodeId: string): object => ({
    nodeId,
    connectionPool,
    isConnected: () => nodeId === 'a',
    metadata: async () => (order.push(nodeId), { brokers: told }),
  });
  Object.assign(pool, {
    brokers: { a: broker('a'), b: broker('b') },
    seedBroker: { connectionPool },
    connectBroker: async () => undefined,
  });
  for (let count = 0; count < times; count += 1) await pool.refreshMetadata([]);
  return order;
}

test('another broker is asked for metadata each time', async () => {
  expect(await asked(4)).toEqual(['a', 'b', 'a', 'b']);
});

test('a member without a coordinator looks for one at its first heartbeat', async () => {
  expect(await joinsAfter('GROUP_COORDINATOR_NOT_AVAILABLE')).toBe(1);
  expect(await joinsAfter('REBALANCE_IN_PROGRESS')).toBe(1);
  expect(await joinsAfter('GROUP_AUTHORIZATION_FAILED')).toBe(0);
});

test('fetches do not wait for metadata', async () => {
  expect(await fetched()).toEqual([]);
});
