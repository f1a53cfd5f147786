/** The processor, and what it is held against: each started as a process of its own on topics of its own. */
import { readFileSync } from 'node:fs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { runScript } from '../../../packages/local-kafka/test/processes.ts';
import type { Stack } from '../../../test/support/stack.ts';

export const CONTESTANTS = ['processor', 'each-batch'] as const;
export type Contestant = (typeof CONTESTANTS)[number];

export interface Running {
  readonly pids: readonly number[];
  readonly resultTopic: string;
  stop(): Promise<void>;
}

/** Of the kernel's clock of processes. */
const TICKS_PER_SECOND = 100;

export async function start(
  contestant: Contestant,
  stack: Stack,
  { apiBaseUrl, lanes, slots, processes }: { apiBaseUrl: string; lanes: number; slots: number; processes: number },
): Promise<Running> {
  if (contestant === 'processor') {
    const each = { API_BASE_URL: apiBaseUrl, API_MAX_CONCURRENCY: String(Math.floor(slots / processes)) };
    const running = await Promise.all(Array.from({ length: processes }, () => stack.startProcessor(each)));
    const stop = async (): Promise<void> => {
      await Promise.all(running.map((processor) => processor.stop()));
    };
    return { pids: running.map(({ pid }) => pid), resultTopic: stack.topics.results, stop };
  }
  const resultTopic = `${stack.settings.TOPIC_PREFIX}.peer-results`;
  await withAdmin(stack.kafka, (admin) =>
    admin.createTopics({ topics: [{ topic: resultTopic, numPartitions: lanes }] }),
  );
  const { pid, stop } = await startScript('peer.ts', {
    KAFKA_BROKERS: stack.settings.KAFKA_BROKERS.join(','),
    GROUP_ID: `${stack.settings.TOPIC_PREFIX}-peer`,
    COMMAND_TOPIC: stack.topics.commands['transfer-in'],
    RESULT_TOPIC: resultTopic,
    API_BASE_URL: apiBaseUrl,
    SLOTS: String(slots),
    PARTITIONS: String(lanes),
  });
  return { pids: [pid], resultTopic, stop };
}

interface Started {
  readonly pid: number;
  /** Its first. */
  readonly line: string;
  readonly stop: () => Promise<void>;
}

/** A script of this folder, once it has printed its first line. */
export async function startScript(name: string, environment: Readonly<Record<string, string>>): Promise<Started> {
  const script = runScript(new URL(name, import.meta.url).href, [], environment);
  const first = await script.lines.next();
  if (first.done === true) throw new Error(`${name} ended: ${script.errorText()}`);
  const stop = async (): Promise<void> => {
    script.child.kill('SIGTERM');
    await script.ended;
  };
  return { pid: script.child.pid ?? 0, line: first.value, stop };
}

/** Time on processors so far of all of them, their threads' included, ms. */
export function cpuMs(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0);
}

function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in parentheses, may have blanks.
  const [userTicks, systemTicks] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return ((Number(userTicks) + Number(systemTicks)) * 1000) / TICKS_PER_SECOND;
}
