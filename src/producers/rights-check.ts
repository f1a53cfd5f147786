/**
 * Asks the brokers what this client may do, right by right. It reads, writes and commits nothing.
 *
 * Brokers report a client's rights on groups (since Kafka 2.3) and, by the request that we send, on topics (since 2.8),
 * but not on transactional ids. So the check opens a transactional id that no process uses. A right that the brokers do
 * not report does not count as missing.
 */
import kafkajs, { type Admin, type Kafka } from 'kafkajs';
import { rightInWords, type Operation, type Right } from 'payment-processor-contract/rights';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import type { KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import { failureInWords, kafkaFailure, type KafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';
import { TransactionalProducer } from './transactional-producer.ts';

/** Kafka's code of each operation: the position of its bit in the broker's answer. */
const OPERATION_BITS: Readonly<Record<Operation, number>> = {
  Read: 3,
  Write: 4,
  Create: 5,
  Describe: 8,
  DescribeConfigs: 10,
};
/** Error codes of the protocol. */
const UNKNOWN_TOPIC = 3;
const TOPIC_REFUSED = 29;
/** Appended to a prefix, to make a name for the check. */
const TRIED_NAME = 'rights-check';

/** Whether we have a right; `unknown` if the brokers do not say. */
type Verdict = 'granted' | 'missing' | 'unknown';

/**
 * @returns the rights that are missing, in their order
 * @throws the client's error if no broker answers, or authentication fails
 */
export async function missingRights(kafka: Kafka, rights: readonly Right[]): Promise<Right[]> {
  const verdicts = await withAdmin(kafka, async (admin) => {
    const topics = rights.filter(({ pattern, resource }) => resource === 'topic' && pattern === 'literal');
    const operations = await topicOperations(admin, [...new Set(topics.map(({ name }) => name))]);
    const found: Verdict[] = [];
    for (const right of rights) found.push(await verdictOf(kafka, admin, right, operations));
    return found;
  });
  return rights.filter((_, index) => verdicts[index] === 'missing');
}

/** One sentence for each missing right. */
export function missingRightInWords(right: Right): string {
  return `Kafka does not allow us ${rightInWords(right)}: grant it`;
}

export type KafkaAccess =
  | { readonly kind: 'allowed' }
  /** Only an operator can correct it. One sentence for each problem, with what to do. */
  | { readonly kind: 'refused'; readonly cause: KafkaRefusal['kind']; readonly problems: readonly string[] }
  /** Kafka did not answer, or with an error that is no refusal; that may pass. */
  | { readonly kind: 'unknown'; readonly problem: string };

/** Whether Kafka accepts our credentials and allows what our role needs. Never throws. */
export async function kafkaAccess(
  kafka: Kafka,
  settings: Pick<KafkaSettings, 'KAFKA_BROKERS'>,
  rights: readonly Right[],
): Promise<KafkaAccess> {
  try {
    const missing = await missingRights(kafka, rights);
    if (missing.length === 0) return { kind: 'allowed' };
    return { kind: 'refused', cause: 'authorization', problems: missing.map(missingRightInWords) };
  } catch (error) {
    const failure = kafkaFailure(error);
    const problem = failureInWords(failure, settings);
    if (failure.kind === 'unreachable' || failure.kind === 'other') return { kind: 'unknown', problem };
    return { kind: 'refused', cause: failure.kind, problems: [problem] };
  }
}

/** By topic; null if the brokers do not say. Leaves out topics that do not exist: that is another problem. */
async function topicOperations(admin: Admin, topics: readonly string[]): Promise<ReadonlyMap<string, number> | null> {
  const answered = topics.length === 0 ? [] : await admin.fetchTopicOperations({ topics: [...topics] });
  if (answered === null) return null;
  return new Map(
    answered
      .filter(({ errorCode }) => errorCode !== UNKNOWN_TOPIC)
      .map(({ errorCode, operations, topic }) => [topic, errorCode === TOPIC_REFUSED ? 0 : operations]),
  );
}

async function verdictOf(
  kafka: Kafka,
  admin: Admin,
  right: Right,
  operations: ReadonlyMap<string, number> | null,
): Promise<Verdict> {
  switch (right.resource) {
    case 'topic':
      if (right.pattern === 'prefixed') return triedTopic(admin, right);
      // Brokers say nothing about a topic that we may not describe.
      if (right.operation === 'DescribeConfigs' && operations?.get(right.name) === 0) return triedConfigs(admin, right);
      return bitOf(operations?.get(right.name) ?? null, right.operation);
    case 'group':
      return unlessRefused(async () =>
        bitOf(await admin.fetchGroupOperations({ groupId: triedName(right) }), right.operation),
      );
    case 'transactional-id':
      return unlessRefused(async () => {
        await new TransactionalProducer(kafka, {
          transactionalId: triedName(right),
          compressedTopics: new Set(),
        }).fence();
        return 'granted';
      });
  }
}

/** For a topic that does not exist, brokers answer "refused" or "unknown". Creation is only validated. */
async function triedTopic(admin: Admin, right: Right): Promise<Verdict> {
  const topic = triedName(right);
  switch (right.operation) {
    case 'Create':
      return unlessRefused(async () => {
        await admin.createTopics({ validateOnly: true, waitForLeaders: false, topics: [{ topic, numPartitions: 1 }] });
        return 'granted';
      });
    case 'DescribeConfigs':
      return triedConfigs(admin, right);
    default: {
      const answered = await admin.fetchTopicOperations({ topics: [topic] });
      if (answered === null) return 'unknown';
      return answered.some(({ errorCode }) => errorCode === TOPIC_REFUSED) ? 'missing' : 'granted';
    }
  }
}

function triedConfigs(admin: Admin, right: Right): Promise<Verdict> {
  return unlessRefused(async () => {
    const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: triedName(right) }];
    await admin.describeConfigs({ includeSynonyms: false, resources });
    return 'granted';
  });
}

/** @throws any error except a refusal, or the answer that a topic does not exist */
async function unlessRefused(ask: () => Promise<Verdict>): Promise<Verdict> {
  try {
    return await ask();
  } catch (error) {
    const failure = kafkaFailure(error);
    if (failure.kind === 'authorization') return 'missing';
    if (isUnknownTopic(error)) return 'granted';
    throw error;
  }
}

function isUnknownTopic(error: unknown): boolean {
  return (error as { type?: unknown } | null)?.type === 'UNKNOWN_TOPIC_OR_PARTITION';
}

function triedName({ name, pattern }: Right): string {
  return pattern === 'literal' ? name : `${name}${TRIED_NAME}`;
}

function bitOf(operations: number | null, operation: Operation): Verdict {
  if (operations === null) return 'unknown';
  return (operations & (1 << OPERATION_BITS[operation])) === 0 ? 'missing' : 'granted';
}
