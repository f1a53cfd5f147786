/**
 * Processes as members of the group. A process's id is `<uuid>@<host>`, its name `<host>.<beginning of the uuid>`; Kafka knows
 * it by a client id that has both. Ids of earlier releases have no host, and the beginning alone is their name.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { MemberDescription } from './topic-offsets.ts';

export interface GroupProcess {
  /** As `processName` has it. */
  readonly process: string;
  /** Where it is connected from, as Kafka sees it. */
  readonly host: string;
  /** Assigned to it, ascending. */
  readonly lanes: readonly number[];
  /** Of its HTTP endpoints; null: it tells none, or the group is between two generations. */
  readonly address: string | null;
}

/** Enough to tell the processes of a group apart, on one host as well. */
const ID_LENGTH = 8;
/** What no name of a host needs; the marks between the parts are among it. */
const FOREIGN_CHARACTERS = /[^\w.-]/g;

/** @param host the machine's name; in Kubernetes the pod's */
export function newProcessId(host = hostname()): string {
  return `${randomUUID()}@${host.replaceAll(FOREIGN_CHARACTERS, '-')}`;
}

export function processName(processId: string): string {
  const [id = '', host] = processId.split('@');
  return nameOf(host, id.slice(0, ID_LENGTH));
}

/** Earlier releases look for the beginning of the id at its end. */
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
