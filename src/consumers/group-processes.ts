/**
 * Processes as members of the group. A process's id is `<uuid>@<host>`, its name `<host>.<beginning of the uuid>`. Its client id in
 * Kafka has both. Ids of earlier releases have no host; then the name is only the beginning of the id.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

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
