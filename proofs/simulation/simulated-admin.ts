/** kafkajs' admin client over simulated brokers: what the processor asks, and what brokers may wrongly answer for a while. */
import type { SimulatedBroker } from './simulated-broker.ts';
import type { SimulatedNetwork } from './simulated-network.ts';
import type { Owner } from './virtual-time.ts';

interface OffsetsQuestion {
  readonly topics: readonly string[];
  readonly fromTimestamp?: number;
  readonly fromBeginning?: boolean;
  readonly isolationLevel?: number;
}

interface EpochsQuestion {
  readonly topic: string;
  readonly partitions: readonly { readonly partition: number; readonly leaderEpoch: number }[];
}

/** The isolation level in Kafka's protocol. */
const READ_UNCOMMITTED = 0;

export function simulatedAdmin(broker: SimulatedBroker, network: SimulatedNetwork, owner: Owner | null): object {
  const request = <Value>(answer: () => Value): Promise<Value> => network.request(owner, 'admin', answer);
  return {
    connect: () => request(() => undefined),
    disconnect: async () => undefined,
    describeCluster: () => request(() => ({ brokers: [], controller: null, clusterId: 'simulated' })),
    describeConfigs: ({ resources }: { resources: readonly { name: string }[] }) =>
      request(() => ({
        resources: resources.map(({ name }) => ({
          resourceName: name,
          configEntries: [
            { configName: 'delete.retention.ms', configValue: String(broker.config(name).deleteRetentionMs) },
          ],
        })),
      })),
    listTopics: () => request(() => broker.topics()),
    fetchTopicIds: ({ topics }: { topics: readonly string[] }) =>
      request(() =>
        topics
          .filter((topic) => broker.topics().includes(topic))
          .map((topic) => ({ topic, topicId: broker.topicId(topic) })),
      ),
    fetchTopicOffsets: (topic: string) =>
      request(() =>
        broker.logs(topic).map((log, partition) => {
          const high = String(Math.min(log.lastStableOffset(), broker.shownEnd(topic, partition)));
          return { partition, offset: high, high, low: String(log.lowOffset()) };
        }),
      ),
    fetchOffsetsOfTopics: ({ fromBeginning, fromTimestamp, isolationLevel, topics }: OffsetsQuestion) =>
      request(() =>
        topics.map((topic) => ({
          topic,
          partitions: broker.logs(topic).map((log, partition) => {
            const written = isolationLevel === READ_UNCOMMITTED ? log.nextOffset() : log.lastStableOffset();
            const end = Math.min(written, broker.shownEnd(topic, partition));
            if (fromTimestamp !== undefined) {
              const first = log.offsetAt(fromTimestamp) ?? end;
              return { partition, offset: String(first < end ? first : -1) };
            }
            const shown = fromBeginning === true ? log.lowOffset() : end;
            return { partition, offset: String(shown) };
          }),
        })),
      ),
    fetchEndsOfLeaderEpochs: (topics: readonly EpochsQuestion[]) =>
      request(() =>
        topics.map(({ partitions, topic }) => ({
          topic,
          partitions: partitions.map(({ leaderEpoch, partition }) => ({
            partition,
            offset: String(broker.log(topic, partition).epochEnd(leaderEpoch)),
          })),
        })),
      ),
    fetchOffsets: ({ groupId, topics }: { groupId: string; topics: readonly string[] }) =>
      request(() =>
        topics.map((topic) => ({
          topic,
          partitions: broker.logs(topic).map((_log, partition) => {
            const offset = String(broker.groups.committed(groupId, topic, partition) ?? -1n);
            return { partition, offset, metadata: null };
          }),
        })),
      ),
    describeGroups: (groupIds: readonly string[]) =>
      request(() => ({ groups: groupIds.map((groupId) => ({ groupId, members: broker.groups.members(groupId) })) })),
    deleteTopics: ({ topics }: { topics: readonly string[] }) =>
      request(() => {
        for (const topic of topics) broker.deleteTopic(topic);
      }),
    deleteTopicRecords: (given: { topic: string; partitions: readonly { partition: number; offset: string }[] }) =>
      request(() => {
        for (const { offset, partition } of given.partitions)
          broker.log(given.topic, partition).deleteBefore(Number(offset));
      }),
  };
}
