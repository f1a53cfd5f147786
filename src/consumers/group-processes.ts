/**
 * Processes as members of the group. A process's id is `<uuid>@<host>`, its name `<host>.<beginning of the uuid>`. Its client id in
 * Kafka has both. Ids of earlier releases have no host; then the name is only the beginning of the id.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { topicNames } from 'payment-processor-contract/topics';
import { subscribedTopics } from './member-note.ts';

export interface GroupProcess {
  /** In the form of `processName`. */
  readonly process: string;
  /** The host that it connects from, as Kafka sees it. */
  readonly host: string;
  /** Assigned to it, ascending. */
  readonly lanes: readonly number[];
  /** Address of its HTTP endpoints; null: it announces none, or the group is between two generations. */
  readonly address: string | null;
}

/** Enough to distinguish the processes of a group, even on one host. */
const ID_LENGTH = 8;
/** Characters that no host name needs. They include `@`, which separates the parts of our ids. */
const FOREIGN_CHARACTERS = /[^\w.-]/g;

/** Names the machine, in Kubernetes the pod. */
export function newProcessId(): string {
  return `${randomUUID()}@${hostname().replaceAll(FOREIGN_CHARACTERS, '-')}`;
}

export function processName(processId: string): string {
  const [id = '', host] = processId.split('@');
  return nameOf(host, id.slice(0, ID_LENGTH));
}

/** Earlier releases expect the beginning of the process id at the end of the client id. */
export function clientIdOf(groupId: string, processId: string): string {
  const [id = '', host] = processId.split('@');
  return `${groupId}${host === undefined ? '-' : `@${host}@`}${id.slice(0, ID_LENGTH)}`;
}

/** The name of the process with this client id. */
export function clientProcess(clientId: string): string {
  return nameOf(/@([\w.-]+)@[^@]*$/.exec(clientId)?.[1], clientId.slice(-ID_LENGTH));
}

function nameOf(host: string | undefined, id: string): string {
  return host === undefined ? id : `${host}.${id}`;
}

/**
 * Whether processes that read other topics use our consumer group. The group's leader divides the lanes among all its
 * members. None of our members reads a lane that goes to a member with another TOPIC_PREFIX.
 * @returns the problem, and what to do; null: Kafka's current description of the group shows none
 */
export async function strangersInGroup(
  kafka: Kafka,
  { KAFKA_GROUP_ID, TOPIC_PREFIX }: { readonly KAFKA_GROUP_ID: string; readonly TOPIC_PREFIX: string },
): Promise<string | null> {
  const { groups } = await withAdmin(kafka, (admin) => admin.describeGroups([KAFKA_GROUP_ID]));
  const own = new Set(Object.values(topicNames(TOPIC_PREFIX).commands));
  for (const { memberMetadata } of groups.flatMap(({ members }) => members)) {
    // None: the group is between two generations.
    const topics = subscribedTopics(memberMetadata);
    if (topics[0] === undefined || topics.some((topic) => own.has(topic))) continue;
    return (
      `KAFKA_GROUP_ID ${KAFKA_GROUP_ID} is also used by a process that reads ${topics[0]}, but TOPIC_PREFIX here is ${TOPIC_PREFIX}. ` +
      'Set a different KAFKA_GROUP_ID for each prefix: a group divides the lanes among all its members'
    );
  }
  return null;
}
