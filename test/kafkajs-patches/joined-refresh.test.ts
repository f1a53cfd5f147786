/**
 * Who asks about several topics at once gets an answer about each. As shipped, one that joins a refresh which began before its topic
 * was added gets metadata without it, and takes the topic for one without partitions.
 */
import { expect, test } from 'vitest';
import { loadPatched, logger, type Constructor } from './patched-module.ts';

interface Cluster {
  brokerPool: object;
  addTargetTopic(topic: string): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
}

test('a refresh under way, begun before a topic was added, is followed by one that knows it', async () => {
  const ClusterClass = loadPatched('src/cluster/index.js') as Constructor<Cluster>;
  const cluster = new ClusterClass({ brokers: ['localhost:1'], logger });
  const answered = Promise.withResolvers<undefined>();
  let known: readonly string[] = [];
  cluster.brokerPool = {
    metadata: {},
    refreshMetadata: async (topics: readonly string[]) => void (known = topics),
    refreshMetadataIfNecessary: async (topics: readonly string[]) => {
      if (topics.every((topic) => known.includes(topic))) return;
      await answered.promise;
      known = topics;
    },
  };
  await cluster.addTargetTopic('one');
  known = [];
  const first = cluster.refreshMetadataIfNecessary();
  await cluster.addTargetTopic('two');
  const second = cluster.refreshMetadataIfNecessary();
  answered.resolve(undefined);
  await Promise.all([first, second]);
  expect(known).toEqual(['one', 'two']);
});
