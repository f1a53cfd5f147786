/**
 * What kafkajs would log, at the level that it deserves, and with its reason. Its own levels are louder: it calls every
 * answer with an error code an error, those too by which a group tells its members that it changes. None of its lines is
 * an error here, for it tries again by itself; where a person must act, that is said by whoever gave it up.
 */
import { createRequire } from 'node:module';
import kafkajs, { type LogEntry } from 'kafkajs';
import { Repeats } from '../repeats.ts';

/** Shown for each line that kafkajs would log, at the level that it deserves. */
export type KafkaLog = (event: {
  level: 'error' | 'warn' | 'debug';
  message: string;
  fields: Record<string, unknown>;
}) => void;

const { logLevel } = kafkajs;

/** Characters of a reason: kafkajs takes some from what others answered. */
const PROBLEM_CHARACTERS_MAX = 500;
/** How a group announces a rebalance, or that its coordinator is another; kafkajs joins again by itself. */
const GROUP_CHANGES: readonly string[] = [
  'REBALANCE_IN_PROGRESS',
  'UNKNOWN_MEMBER_ID',
  'ILLEGAL_GENERATION',
  'MEMBER_ID_REQUIRED',
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
];
/** Offsets in the group are for tools that watch it: one that comes late is told with the next. */
const GROUP_ANSWERS = /^Response (Heartbeat|JoinGroup|SyncGroup|LeaveGroup|OffsetCommit)\(/;
/** Said by each member at each rebalance; which lanes it comes to is logged by ourselves. */
const REJOINING = 'The group is rebalancing, re-joining';

/** kafkajs logs errors of the protocol by their texts alone. */
const protocol = createRequire(import.meta.url)('kafkajs/src/protocol/error') as {
  errorCodes: readonly { type: string; message: string }[];
};
const GROUP_CHANGE_TEXTS: ReadonlySet<string> = new Set(
  protocol.errorCodes.filter(({ type }) => GROUP_CHANGES.includes(type)).map(({ message }) => message),
);

/** @param client tells the client's lines from those of others */
export function kafkaLogEvent(entry: LogEntry, client: string): Parameters<KafkaLog>[0] {
  const problem = problemOf(entry.log['error']);
  return {
    level: levelOf(entry, problem),
    message: entry.log.message,
    fields: {
      namespace: entry.namespace,
      client,
      ...(problem === null ? {} : { problem: problem.slice(0, PROBLEM_CHARACTERS_MAX) }),
    },
  };
}

/**
 * The same for all clients of a process: what they say of one fault is said at once, and then once a minute with how often
 * it came. What is for debugging passes.
 * @param nowMs of a clock that never goes back
 */
export function withoutRepeats(log: KafkaLog, nowMs: () => number): KafkaLog {
  const repeats = new Repeats(nowMs);
  return (event) => {
    if (event.level === 'debug') {
      log(event);
      return;
    }
    const { namespace, problem } = event.fields;
    const unsaid = repeats.unsaid(
      `${String(namespace)} ${event.message} ${typeof problem === 'string' ? problem : ''}`,
    );
    if (unsaid === null) return;
    log(unsaid === 0 ? event : { ...event, fields: { ...event.fields, repeated: unsaid } });
  };
}

function levelOf({ level, log: { message } }: LogEntry, problem: string | null): 'warn' | 'debug' {
  if (message === REJOINING) return 'debug';
  if (problem !== null && GROUP_CHANGE_TEXTS.has(problem)) {
    // Counted out while it was away: it goes on by itself, but that it was away is worth a look.
    return GROUP_ANSWERS.test(message) ? 'debug' : 'warn';
  }
  return level === logLevel.ERROR || level === logLevel.WARN ? 'warn' : 'debug';
}

function problemOf(error: unknown): string | null {
  if (error instanceof Error) return error.message;
  return typeof error === 'string' ? error : null;
}
