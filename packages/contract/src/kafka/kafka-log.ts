/**
 * Logs kafkajs' lines at the level that they deserve, and with their reason. Its own levels are too loud: it logs every error
 * code as an error, even a group's normal rebalance answers. Here none is an error, because kafkajs retries. If a person must
 * act, the code that gives up logs it.
 */
import { createRequire } from 'node:module';
import kafkajs, { type LogEntry } from 'kafkajs';
import { Repeats } from '../repeats.ts';

/** Called for each line of kafkajs, at the level that it deserves. */
export type KafkaLog = (event: {
  level: 'error' | 'warn' | 'debug';
  message: string;
  fields: Record<string, unknown>;
}) => void;

const { logLevel } = kafkajs;

/** Characters of a reason: some contain text that others sent. */
const PROBLEM_CHARACTERS_MAX = 500;
/** Codes by which a group announces a rebalance or a new coordinator; kafkajs rejoins by itself. */
const GROUP_CHANGES: readonly string[] = [
  'REBALANCE_IN_PROGRESS',
  'UNKNOWN_MEMBER_ID',
  'ILLEGAL_GENERATION',
  'MEMBER_ID_REQUIRED',
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
];
/** Committed offsets only serve tools that watch the group: the next commit makes up for a late one. */
const GROUP_ANSWERS = /^Response (Heartbeat|JoinGroup|SyncGroup|LeaveGroup|OffsetCommit)\(/;
/** Each member logs this at each rebalance; we log the assigned lanes ourselves. */
const REJOINING = 'The group is rebalancing, re-joining';

/** kafkajs logs protocol errors only by their texts. */
const protocol = createRequire(import.meta.url)('kafkajs/src/protocol/error') as {
  errorCodes: readonly { type: string; message: string }[];
};
const GROUP_CHANGE_TEXTS: ReadonlySet<string> = new Set(
  protocol.errorCodes.filter(({ type }) => GROUP_CHANGES.includes(type)).map(({ message }) => message),
);

/** @param client names the client in its lines */
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
 * A log to share among all clients of a process: each fault is logged at once, then once a minute with its count. Debug
 * lines are not limited.
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
    const unlogged = repeats.unlogged(
      `${String(namespace)} ${event.message} ${typeof problem === 'string' ? problem : ''}`,
    );
    if (unlogged === null) return;
    log(unlogged === 0 ? event : { ...event, fields: { ...event.fields, repeated: unlogged } });
  };
}

function levelOf({ level, log: { message } }: LogEntry, problem: string | null): 'warn' | 'debug' {
  if (message === REJOINING) return 'debug';
  if (problem !== null && GROUP_CHANGE_TEXTS.has(problem)) {
    // The group removed the member while it was away. It rejoins by itself, but the absence is worth a look.
    return GROUP_ANSWERS.test(message) ? 'debug' : 'warn';
  }
  return level === logLevel.ERROR || level === logLevel.WARN ? 'warn' : 'debug';
}

function problemOf(error: unknown): string | null {
  if (error instanceof Error) return error.message;
  return typeof error === 'string' ? error : null;
}
