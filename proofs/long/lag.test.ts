/** Lag by cause: what the metrics of two processors say adds up to the lag that Kafka has for their group. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { partitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import type { NotAdmittedCause } from '../../src/ops/lag.ts';
import { keysOfLane, transferInOf } from '../../test/support/commands.ts';
import type { RunningProcessor } from '../../test/support/processor.ts';
import type { Fault } from '../../test/support/sandbox-control.ts';
import { LANES } from '../../test/support/stack.ts';
import { eventually } from '../../test/support/watch.ts';
import { useOwnEngine } from './own-engine.ts';

interface Case {
  readonly cause: NotAdmittedCause | 'none';
  readonly settings?: Readonly<Record<string, string>>;
  readonly fault?: Fault;
  readonly isBrokerFrozen?: true;
}

const TEST_MS_MAX = 240_000;
/** Lanes taken over wait for calls of 30 s, then settle their doubt. */
const ANSWERED_MS_MAX = 180_000;
const COMMANDS_PER_LANE = 10;
/** The ends of partitions are known anew every 2 s. */
const LOOK_MS = 2_500;
const LONG_CALLS = {
  settings: { API_MAX_CONCURRENCY: '1', API_TIMEOUT_MS: '40000' },
  fault: { kind: 'delay', delayMs: 30_000 },
};
const CASES: readonly Case[] = [
  { cause: 'none' },
  { cause: 'held', fault: { kind: 'status', httpStatus: 401 } },
  { cause: 'no-slot', ...LONG_CALLS },
  { cause: 'unconfirmed', ...LONG_CALLS, isBrokerFrozen: true },
  { cause: 'rate-limit', settings: { API_MAX_RPS: '1', API_IDEMPOTENT_OPERATIONS: '' } },
  {
    cause: 'lane-full',
    settings: { MAX_UNFINISHED_PER_LANE: '2' },
    fault: { kind: 'status', httpStatus: 429, retryAfter: 10 },
  },
];
/** Longer than the processors are frozen for a comparison. */
const SESSION = { KAFKA_SESSION_TIMEOUT_MS: '6000', KAFKA_HEARTBEAT_INTERVAL_MS: '1000' };
const { engine, stack } = useOwnEngine(1, { name: 'lag', settings: SESSION });
afterEach(async () => {
  engine().broker(0).resume();
  await stack().service.clearFaults();
  await stack().endProcessors();
});

async function published(name: string, perLane: number): Promise<string[]> {
  const lanes = Array.from({ length: LANES }, (_, lane) => lane);
  const keys = lanes.flatMap((lane) => keysOfLane(name, lane, perLane));
  await Promise.all(keys.map((key) => stack().publisher.publish('transfer-in', key, transferInOf(key))));
  return keys;
}

/** Messages that the processors have not admitted, by cause. */
async function causesOf(processors: readonly RunningProcessor[]): Promise<Record<string, number>> {
  const texts = await Promise.all(processors.map((processor) => processor.metrics().catch(() => '')));
  const causes: Record<string, number> = {};
  for (const [, cause = '', count] of texts
    .join('\n')
    .matchAll(/^payments_not_admitted_messages\{.*cause="([^"]+)".*\} (\d+)$/gm))
    if (Number(count) > 0) causes[cause] = (causes[cause] ?? 0) + Number(count);
  return causes;
}

async function lagOfGroup(): Promise<number> {
  const [topic, groupId] = [stack().topics.commands['transfer-in'], stack().environment['KAFKA_GROUP_ID'] ?? ''];
  return withAdmin(stack().kafka, async (admin) => {
    const [group] = await admin.fetchOffsets({ groupId, topics: [topic] });
    const ends = await partitionOffsets(admin, topic);
    const lags = group?.partitions.map(({ offset, partition }) => Number(ends.get(partition)?.high) - Number(offset));
    return lags?.reduce((sum, lag) => sum + lag, 0) ?? NaN;
  });
}

test.each(CASES)(
  'cause $cause',
  async ({ cause, fault, isBrokerFrozen, settings }) => {
    const processors = [await stack().startProcessor(settings), await stack().startProcessor(settings)];
    // So that each lane has been read, and the group has an offset there.
    await stack().journal.resultsOfAll(await published(`warm-${cause}`, 1));
    if (fault !== undefined) await stack().service.addFaults(fault);
    const keys = await published(cause, COMMANDS_PER_LANE);
    const seen = (one: string): Promise<unknown> =>
      eventually(
        () => causesOf(processors),
        (causes) => (one === 'none' ? Object.keys(causes).length === 0 : (causes[one] ?? 0) > 0),
        `the cause ${one}`,
      );
    if (isBrokerFrozen) {
      await seen('no-slot');
      // While a commit waits for its answer, nobody asks why the rest waits.
      await delay(LOOK_MS);
      engine().broker(0).pause();
    }
    await seen(cause);

    /** Ours, and Kafka's while nothing moves. */
    const compared = async (): Promise<[number, number]> => {
      await delay(LOOK_MS);
      const ours = Object.values(await causesOf(processors)).reduce((sum, count) => sum + count, 0);
      for (const processor of processors) processor.freeze();
      if (isBrokerFrozen) engine().broker(0).resume();
      const ofKafka = await lagOfGroup().finally(() => {
        for (const processor of processors) processor.thaw();
      });
      return [ours, ofKafka];
    };
    // While a transaction is in flight, ours is ahead of the group's offset: they are compared again.
    const isSame = ([ours, ofKafka]: [number, number]): boolean =>
      ours === ofKafka && (cause === 'none' ? ours === 0 : ours > 0);
    await eventually(compared, isSame, 'the same lag');

    await stack().service.clearFaults();
    const results = await stack().journal.resultsOfAll(keys, ANSWERED_MS_MAX);
    expect(new Set(results.map(({ value }) => value.outcome))).toEqual(new Set(['ACCEPTED']));
  },
  TEST_MS_MAX,
);
