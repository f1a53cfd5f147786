/**
 * Checks the topics and changes none. We only report a topic with the wrong partitions or retention: an operator must
 * decide how to repair it (the partitions of a prefix are fixed for its life).
 */
import { missingTopicsRemedy, topicNames } from 'payment-processor-contract/topics';
import kafkajs, { type Admin, type Kafka } from 'kafkajs';
import { KAFKA_TOOL_OPTIONS } from 'payment-processor-contract/rights';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import {
  topicDefinitions,
  type TopicDefinition,
  type TopicSettings,
} from 'payment-processor-contract/topic-definitions';

export interface TopicProblem {
  /** The prefix, for a problem of LANES. */
  topic: string;
  kind: 'missing' | 'lanes' | 'partitions' | 'retention' | 'cleanup' | 'timestamp' | 'size';
  /** The problem, its place, and the remedy. */
  message: string;
}

/** What we know of one existing topic. */
interface TopicState {
  partitions: number;
  configuration: ReadonlyMap<string, string>;
}

/**
 * Compares the topics with what the processor relies on.
 * @param options.sandboxCommands whether the sandbox command's topic must exist
 * @returns every problem; none means that the processor may start
 */
export async function checkTopics(
  kafka: Kafka,
  settings: TopicSettings,
  options: { sandboxCommands: boolean },
): Promise<TopicProblem[]> {
  return withAdmin(kafka, async (admin) => {
    const sandboxTopic = topicNames(settings.TOPIC_PREFIX).commands['simulate-uma-receive'];
    // Without sandbox commands nobody reads the topic, and it may have any number of partitions.
    const definitions = topicDefinitions(settings).filter(
      ({ topic }) => options.sandboxCommands || topic !== sandboxTopic,
    );
    const states = await readStates(
      admin,
      definitions.map((definition) => definition.topic),
    );
    const lanesProblem = wrongLanes(states, settings);
    const problems = definitions.flatMap((definition): TopicProblem[] => {
      const { topic } = definition;
      const state = states.get(topic);
      if (state !== undefined) return problemsOf(definition, state, settings);
      return [{ topic, kind: 'missing', message: `topic ${topic} does not exist: ${missingTopicsRemedy([topic])}` }];
    });
    return lanesProblem === null ? problems : [lanesProblem, ...problems.filter(({ kind }) => kind !== 'partitions')];
  });
}

/** Never suggests the topics' own number: if partitions were added, that number would pay commands again. */
const LANES_REMEDY =
  'set LANES to the number that this prefix was created with, or create topics under another TOPIC_PREFIX. Do not add partitions: ' +
  'keys would move to lanes that do not remember them. If some were added: docs/runbooks/more-lanes.md';

/** If all topics agree with each other, LANES is wrong: one problem, not one for each. */
function wrongLanes(
  states: ReadonlyMap<string, TopicState>,
  { LANES, TOPIC_PREFIX }: TopicSettings,
): TopicProblem | null {
  const [partitions, ...others] = new Set([...states.values()].map((state) => state.partitions));
  if (states.size < 2 || partitions === undefined || others.length > 0 || partitions === LANES) return null;
  return {
    topic: TOPIC_PREFIX,
    kind: 'lanes',
    message: `LANES is ${LANES}, but all ${states.size} topics of ${TOPIC_PREFIX} have ${partitions} partitions: ${LANES_REMEDY}`,
  };
}

/**
 * How long the ledger keeps a tombstone at least, according to the topic's configuration.
 * @param definedMs the value of its definition, used if the configuration has none, or we may not read it
 */
export async function readTombstonesKeptMs(admin: Admin, topic: string, definedMs: number): Promise<number> {
  try {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: ['delete.retention.ms'] }],
    });
    const value = Number(resources[0]?.configEntries[0]?.configValue);
    return Number.isFinite(value) ? value : definedMs;
  } catch (error) {
    if ((error as { type?: unknown }).type === 'TOPIC_AUTHORIZATION_FAILED') return definedMs;
    throw error;
  }
}

async function readStates(admin: Admin, topics: string[]): Promise<Map<string, TopicState>> {
  // Asking for a topic's metadata could create it, if the cluster allows that; listing cannot.
  const listed = new Set(await admin.listTopics());
  const existing = topics.filter((topic) => listed.has(topic));
  if (existing.length === 0) return new Map();
  const [metadata, configurations] = await Promise.all([
    admin.fetchTopicMetadata({ topics: existing }),
    admin.describeConfigs({
      includeSynonyms: false,
      resources: existing.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name })),
    }),
  ]);
  const configurationOf = new Map(
    configurations.resources.map((resource) => [
      resource.resourceName,
      new Map(resource.configEntries.map((entry) => [entry.configName, entry.configValue])),
    ]),
  );
  return new Map(
    metadata.topics.map((topic) => [
      topic.name,
      { partitions: topic.partitions.length, configuration: configurationOf.get(topic.name) ?? new Map() },
    ]),
  );
}

function problemsOf(definition: TopicDefinition, state: TopicState, settings: TopicSettings): TopicProblem[] {
  const { cleanupPolicy, maxMessageBytes, purpose, timestampType, topic } = definition;
  const problems: TopicProblem[] = [];
  const problem = (kind: TopicProblem['kind'], what: string): void =>
    void problems.push({ topic, kind, message: `topic ${topic} ${what}` });
  const value = (name: string): string => state.configuration.get(name) ?? '';

  if (state.partitions !== definition.partitions)
    problem('partitions', `has ${state.partitions} partitions but LANES is ${settings.LANES}: ${LANES_REMEDY}`);
  if (value('cleanup.policy') !== cleanupPolicy)
    problem(
      'cleanup',
      `has cleanup.policy=${value('cleanup.policy')}, but must have ${cleanupPolicy}: ${alteration(topic, 'cleanup.policy', cleanupPolicy)}`,
    );
  if (timestampType === 'LogAppendTime' && value('message.timestamp.type') !== 'LogAppendTime')
    problem(
      'timestamp',
      `has message.timestamp.type=${value('message.timestamp.type')}, so ${purpose === 'ledger' ? "a single process's wrong clock could make the ledger forget keys early" : "publishers' clocks would decide the age of a command"}: ${alteration(topic, 'message.timestamp.type', 'LogAppendTime')}`,
    );
  if (purpose !== 'command') {
    if (Number(value('max.message.bytes')) < maxMessageBytes)
      problem(
        'size',
        `has max.message.bytes=${value('max.message.bytes')} and must have at least ${maxMessageBytes}, so that any command with its headers fits: ${alteration(topic, 'max.message.bytes', String(maxMessageBytes))}`,
      );
    return problems;
  }
  const longestAgeMs = Math.max(...Object.values(settings.COMMAND_MAX_AGE));
  const retentionMs = Number(value('retention.ms'));
  if (retentionMs === -1 || retentionMs > settings.LEDGER_RETENTION)
    problem(
      'retention',
      `keeps commands for ${retentionMs === -1 ? 'ever' : `${retentionMs} ms`}, longer than their keys are remembered ` +
        '(LEDGER_RETENTION): set LEDGER_RETENTION back to the previous value of this prefix. With a shorter one, the processor ' +
        `forgets keys and would pay copies of older commands again. If the topic's retention is wrong, ${alteration(topic, 'retention.ms', String(settings.LEDGER_RETENTION))}; ` +
        'this deletes older commands, including those that wait',
    );
  else if (retentionMs <= longestAgeMs)
    problem(
      'retention',
      `keeps commands for ${retentionMs} ms, no longer than the longest COMMAND_MAX_AGE (${longestAgeMs} ms), ` +
        'so retention could delete a command that still waits: raise retention.ms or lower COMMAND_MAX_AGE',
    );
  const retentionBytes = value('retention.bytes');
  if (retentionBytes !== '-1')
    problem(
      'retention',
      `has retention.bytes=${retentionBytes}, so retention could delete commands that still wait: ` +
        alteration(topic, 'retention.bytes', '-1'),
    );
  return problems;
}

function alteration(topic: string, name: string, wanted: string): string {
  return `set it with \`kafka-configs.sh ${KAFKA_TOOL_OPTIONS} --alter --topic ${topic} --add-config ${name}=${wanted}\``;
}
