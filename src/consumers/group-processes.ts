/**
 * Processes as members of the group. A process's id is `<uuid>@<host>`, its name `<host>.<beginning of the uuid>`. Its client id in
 * Kafka has both. Ids of earlier releases have no host; then the name is only the beginning of the id.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { MemberDescription } from './topic-offsets.ts';

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

/** @param host the machine's name; in Kubernetes the pod's */
export function newProcessId(host = hostname()): string {
  return `${randomUUID()}@${host.replaceAll(FOREIGN_CHARACTERS, '-')}`;
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

export function groupProcess({ address, clientId, host, lanes }: MemberDescription): GroupProcess {
  const machine = /@([\w.-]+)@[^@]*$/.exec(clientId)?.[1];
  return { process: nameOf(machine, clientId.slice(-ID_LENGTH)), host, lanes, address };
}

function nameOf(host: string | undefined, id: string): string {
  return host === undefined ? id : `${host}.${id}`;
}
