/** Creates the topics. Existing ones stay as they are; topic-admin.ts checks them. */
import type { Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { makeUsableTopics } from 'payment-processor-contract/kafka/usable-topics';
import {
  jsonCopyDefinitions,
  topicConfiguration,
  topicDefinitions,
  type TopicSettings,
} from 'payment-processor-contract/topic-definitions';
import { checkTopics } from '../../../../src/producers/topic-admin.ts';
import { CliFailure } from '../exit-codes.ts';

export interface TopicCreationOptions {
  /** Null: three, or as many as there are brokers if fewer. */
  replicationFactor: number | null;
  /** Only reports the topics to create. */
  dryRun: boolean;
  /** Also creates the topics with results and events as JSON. */
  jsonCopies?: boolean;
}

export interface TopicCreation {
  topic: string;
  action: 'created' | 'exists' | 'would-create';
  partitions: number;
  replicationFactor: number;
  configuration: Record<string, string>;
}

const REPLICATION_FACTOR_DEFAULT = 3;

/**
 * Creates the missing topics; existing ones stay as they are.
 * @returns one entry per topic of the contract, in its order, then per JSON copy
 * @throws the broker's error, such as a replication factor beyond the brokers; CliFailure if existing topics do not
 *   have LANES partitions: then nothing was created
 */
export async function createTopics(
  kafka: Kafka,
  settings: TopicSettings,
  options: TopicCreationOptions,
): Promise<TopicCreation[]> {
  const { existing, brokers } = await withAdmin(kafka, async (admin) => ({
    existing: new Set(await admin.listTopics()),
    brokers: (await admin.describeCluster()).brokers.length,
  }));
  const replicationFactor = options.replicationFactor ?? Math.min(REPLICATION_FACTOR_DEFAULT, brokers);
  const copies = options.jsonCopies === true ? jsonCopyDefinitions(settings) : [];
  const plan = [...topicDefinitions(settings), ...copies].map((definition): TopicCreation => {
    const missing = options.dryRun ? 'would-create' : 'created';
    return {
      topic: definition.topic,
      action: existing.has(definition.topic) ? 'exists' : missing,
      partitions: definition.partitions,
      replicationFactor,
      configuration: topicConfiguration(definition, Math.max(1, replicationFactor - 1)),
    };
  });
  if (plan.some(({ action }) => action !== 'exists')) await requireLanes(kafka, settings);
  const wanted = plan.filter((creation) => creation.action === 'created');
  if (wanted.length > 0) {
    const topics = wanted.map(({ configuration, partitions, topic }) => ({
      topic,
      numPartitions: partitions,
      replicationFactor,
      configEntries: Object.entries(configuration).map(([name, value]) => ({ name, value })),
    }));
    await makeUsableTopics(kafka, topics);
  }
  return plan;
}

/** Otherwise nobody would notice a wrong LANES until no process can start. */
async function requireLanes(kafka: Kafka, settings: TopicSettings): Promise<void> {
  const problems = await checkTopics(kafka, settings, { sandboxCommands: false });
  const wrong = problems.find(({ kind }) => kind === 'lanes' || kind === 'partitions');
  if (wrong !== undefined) throw new CliFailure('settings', `nothing was created: ${wrong.message}`);
}
