/**
 * The rights of each role in Kafka, in one table: the minimum for all of its work. It drives the manual (docs/rights.md), the
 * chart's KafkaUsers, the check at startup and `doctor --rights`.
 *
 * Read and Write imply Describe, in Kafka as here; the table lists Describe only if the role needs nothing else there.
 */
import { COMMAND_TYPES } from './commands.ts';
import { jsonCopyOf, topicNames } from './topics.ts';

export type Operation = 'Read' | 'Write' | 'Create' | 'Describe' | 'DescribeConfigs';

export type ResourceType = 'topic' | 'group' | 'transactional-id';

/** One entry of an access control list: an operation on the resource with that name, or on all whose names begin with it. */
export interface Right {
  readonly resource: ResourceType;
  readonly name: string;
  readonly pattern: 'literal' | 'prefixed';
  readonly operation: Operation;
}

export interface RightsSettings {
  readonly TOPIC_PREFIX: string;
  readonly KAFKA_GROUP_ID: string;
  readonly SANDBOX_COMMANDS: boolean;
}

/** The roles, and the purpose of each. */
export const ROLES = {
  processor: 'the processor itself',
  operator:
    'the command line of the runbooks: `show`, `ledger`, `results`, `status`, `lag`, `dead-letters`, `resolve`, `hold`, `release`, `doctor`',
  publisher: 'publishes commands; to await their results it is also a subscriber',
  subscriber:
    'reads results and status events; its groups are named `<TOPIC_PREFIX>-subscriber-` and a suffix; a group of another name needs Read on that name',
  mirror: '`mirror`: copies results and events as JSON',
  'set-up': '`topics create` and `topics check`',
} as const;

export type Role = keyof typeof ROLES;

export const ROLE_NAMES = Object.keys(ROLES) as readonly Role[];

/** The rights of a role, each once. */
export function rightsOf(role: Role, settings: RightsSettings): Right[] {
  const { KAFKA_GROUP_ID: group, SANDBOX_COMMANDS, TOPIC_PREFIX: prefix } = settings;
  const names = topicNames(prefix);
  const commands = COMMAND_TYPES.filter((type) => type !== 'simulate-uma-receive' || SANDBOX_COMMANDS).map(
    (type) => names.commands[type],
  );
  const inputs = [...commands, names.operatorDecisions, names.operatorHolds, names.observations];
  const events = [names.results, names.transactionStatusChanged, names.quoteStatusChanged];
  switch (role) {
    case 'processor':
      return [
        // Write: commands on a wrong partition are moved to their lane.
        ...topics([...commands, names.operatorDecisions, names.ledger, names.observations], 'Read', 'Write'),
        ...topics([names.operatorHolds], 'Read'),
        ...topics(events, 'Write'),
        // Read: to know which of them are open.
        ...topics([names.deadLetters], 'Read', 'Write'),
        ...topics([...inputs, names.ledger, ...events, names.deadLetters], 'DescribeConfigs'),
        right('group', group, 'literal', 'Read'),
        // Each process has two groups of its own: one reads the ledger, one the dead letters.
        right('group', `${group}-ledger-`, 'prefixed', 'Read'),
        // One transactional producer per process; the next owner of its lanes fences it.
        right('transactional-id', `${group}-process-`, 'prefixed', 'Write'),
      ];
    case 'operator':
      return [
        ...topics([...commands, names.operatorDecisions, names.operatorHolds, names.deadLetters], 'Read', 'Write'),
        ...topics([names.ledger, ...events], 'Read'),
        // `doctor` checks that the topics exist and are configured correctly.
        ...topics([...inputs, names.ledger, ...events, names.deadLetters], 'DescribeConfigs'),
        ...topics([names.observations], 'Describe'),
        right('group', group, 'literal', 'Describe'),
        right('group', `${prefix}-cli-`, 'prefixed', 'Read'),
        right('group', `${prefix}-subscriber-`, 'prefixed', 'Read'),
      ];
    case 'publisher':
      return topics(commands, 'Write');
    case 'subscriber':
      return [...topics(events, 'Read'), right('group', `${prefix}-subscriber-`, 'prefixed', 'Read')];
    case 'mirror':
      return [
        ...topics(events, 'Read'),
        ...topics(events.map(jsonCopyOf), 'Write'),
        right('group', `${prefix}-json-mirror`, 'literal', 'Read'),
      ];
    case 'set-up':
      return [
        right('topic', `${prefix}.`, 'prefixed', 'Create'),
        right('topic', `${prefix}.`, 'prefixed', 'Describe'),
        right('topic', `${prefix}.`, 'prefixed', 'DescribeConfigs'),
      ];
  }
}

/** In words: `Read on topic payments.results.v1`, `Write on the transactional ids payments-process-*`. */
export function rightInWords({ name, operation, pattern, resource }: Right): string {
  const noun = resource === 'transactional-id' ? 'transactional id' : resource;
  return pattern === 'literal' ? `${operation} on ${noun} ${name}` : `${operation} on the ${noun}s ${name}*`;
}

/** How Kafka's own tools reach secured brokers: the shell has KAFKA_BROKERS, the administrator's file the credentials. */
export const KAFKA_TOOL_OPTIONS = '--bootstrap-server "$KAFKA_BROKERS" --command-config admin.properties';

/** The command of Kafka's own tool that grants it. */
export function grantCommand({ name, operation, pattern, resource }: Right, principal: string): string {
  const prefixed = pattern === 'prefixed' ? ' --resource-pattern-type prefixed' : '';
  const grant = `--add --allow-principal ${principal} --operation ${operation} --${resource} ${name}${prefixed}`;
  return `kafka-acls.sh ${KAFKA_TOOL_OPTIONS} ${grant}`;
}

function topics(names: readonly string[], ...operations: readonly Operation[]): Right[] {
  return names.flatMap((name) => operations.map((operation) => right('topic', name, 'literal', operation)));
}

function right(resource: ResourceType, name: string, pattern: Right['pattern'], operation: Operation): Right {
  return { resource, name, pattern, operation };
}
