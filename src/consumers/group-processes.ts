/** Processes as members of the group: each is known to Kafka by a client id that ends in the beginning of its own id. */
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

/** Enough to tell the processes of a group apart. */
const NAME_LENGTH = 8;

export function processName(processId: string): string {
  return processId.slice(0, NAME_LENGTH);
}

export function clientIdOf(groupId: string, processId: string): string {
  return `${groupId}-${processName(processId)}`;
}

export function groupProcess({ address, clientId, host, lanes }: MemberDescription): GroupProcess {
  return { process: clientId.slice(-NAME_LENGTH), host, lanes, address };
}
