/** Names of the topics and which record each carries. */
import { COMMAND_RECORDS, COMMAND_TYPES, type CommandType } from './commands.ts';

export interface TopicNames {
  /** Command topics by type. */
  readonly commands: Readonly<Record<CommandType, string>>;
  readonly results: string;
  readonly transactionStatusChanged: string;
  readonly quoteStatusChanged: string;
  readonly deadLetters: string;
  readonly operatorDecisions: string;
  /** Orders to hold and release, the same in each partition. */
  readonly operatorHolds: string;
  /** Private: the ledger of every lane; entries, positions, owner records and transaction states. */
  readonly ledger: string;
  /** Private: observations of transactions in answers and polls, keyed by transaction id. */
  readonly observations: string;
}

export function topicNames(prefix: string): TopicNames {
  return {
    commands: Object.fromEntries(COMMAND_TYPES.map((type) => [type, `${prefix}.commands.${type}.v1`])) as Record<
      CommandType,
      string
    >,
    results: `${prefix}.results.v1`,
    transactionStatusChanged: `${prefix}.events.transaction-status-changed.v1`,
    quoteStatusChanged: `${prefix}.events.quote-status-changed.v1`,
    deadLetters: `${prefix}.dead-letters.v1`,
    operatorDecisions: `${prefix}.operator.decisions.v1`,
    operatorHolds: `${prefix}.operator.holds.v1`,
    ledger: `${prefix}.internal.ledger.v1`,
    observations: `${prefix}.internal.observations.v1`,
  };
}

/** Each is created with a partition for every lane. */
export function everyTopic({ commands, ...others }: TopicNames): string[] {
  return [...Object.values(commands), ...Object.values(others)];
}

/**
 * Topics whose number of partitions shows LANES. The sandbox command's topic does not: without SANDBOX_COMMANDS it may
 * be missing, or anybody may have created it.
 */
export function topicsOfLanes(names: TopicNames): string[] {
  return everyTopic(names).filter((topic) => topic !== names.commands['simulate-uma-receive']);
}

const JSON_COPY_END = '.json.v1';

/** The copy of an output topic for readers of JSON. */
export function jsonCopyOf(topic: string): string {
  return topic.replace(/\.v1$/, JSON_COPY_END);
}

/** What to do about topics that seem to be missing. A new ledger knows no key, so keys would be paid again. */
export function missingTopicsRemedy(topics: readonly string[]): string {
  const option = topics.some((topic) => topic.endsWith(JSON_COPY_END)) ? ' --json-copies' : '';
  const lost = topics.some((topic) => topic.includes('.internal.'))
    ? 'if this prefix was in use before, follow docs/runbooks/lost-internal-topic.md; else '
    : '';
  return `${lost}run \`npm run cli -- topics create${option}\`, or correct TOPIC_PREFIX. Kafka also hides topics from users without rights on them: check with \`doctor --rights\``;
}

/** On a copy: why the original could not be read. Such a copy is unchanged. */
export const UNREADABLE_HEADER = 'unreadable';

/** Topics with a schema, and the record of each; the subject is `<topic>-value`. */
export function recordOfTopic(names: TopicNames): Map<string, string> {
  return new Map([
    ...COMMAND_TYPES.map((type): [string, string] => [names.commands[type], COMMAND_RECORDS[type]]),
    [names.results, 'CommandResult'],
    [names.transactionStatusChanged, 'TransactionStatusChanged'],
    [names.quoteStatusChanged, 'QuoteStatusChanged'],
    [names.operatorDecisions, 'OperatorDecision'],
  ]);
}

export function subjectOf(topic: string): string {
  return `${topic}-value`;
}
