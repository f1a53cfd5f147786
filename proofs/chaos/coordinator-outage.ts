/**
 * Freezes the coordinator of all transactions for a minute, while the other two brokers go on. Transactions that were
 * committed just before have no markers yet, and readers do not get past them.
 *
 *   all of __transaction_state on one broker -> that broker frozen -> thawed -> all of it on every broker again
 *
 * If other brokers had replicas, one of them would take over within seconds.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import { partitionOffsets, writtenOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import type { Stack } from '../../test/support/stack.ts';
import { changeTopics } from '../../test/support/topic-settings.ts';
import { eventually } from '../../test/support/watch.ts';
import { brokersWhole, engineOf, type Scene } from './disturbances.ts';
import type { OwnEnd } from './fleet.ts';

export interface CoordinatorOutage {
  /** The longest time that readers of any lane's ledger did not get past a transaction, ms. */
  readonly heldBackMs: number;
  /** Processors that exited because of it. */
  readonly ownEnds: readonly OwnEnd[];
}

const STATE_TOPIC = '__transaction_state';
const OUTAGE_MS = 60_000;
const LOOK_MS = 1_000;
/** A frozen broker does not answer. */
const LOOK_MS_MAX = 5_000;
const MOVED_MS_MAX = 30_000;
/** How often to freeze until a freeze hits a transaction without markers. */
const FREEZES_MAX = 5;
/** By then the other brokers lead the topics' partitions. */
const ELECTED_MS = 8_000;
/** After a freeze, so that the coordinator can write its pending markers, and knows again what the other brokers know. */
const CATCH_UP_MS = 5_000;

export async function loseCoordinator(scene: Scene): Promise<CoordinatorOutage> {
  const { fleet, random, stack } = scene;
  const engine = engineOf(scene);
  const index = Math.floor(random() * engine.brokers.length);
  const broker = engine.broker(index);
  const endsBefore = fleet.ownEnds.length;
  const nodeIds = engine.brokers.map((_, other) => other + 1);
  await keepStateOn(stack, () => [index + 1], 1);
  for (let freeze = 1; ; freeze += 1) {
    broker.pause();
    await delay(ELECTED_MS);
    if (freeze === FREEZES_MAX || (await heldBack(stack)).size > 0) break;
    broker.resume();
    await delay(CATCH_UP_MS);
  }
  const sinceMs = new Map<number, number>();
  let heldBackMs = 0;
  const untilMs = performance.now() + OUTAGE_MS - ELECTED_MS;
  while (performance.now() < untilMs) {
    await delay(LOOK_MS);
    const held = await heldBack(stack);
    for (const lane of sinceMs.keys()) if (!held.has(lane)) sinceMs.delete(lane);
    for (const lane of held) {
      const beganMs = sinceMs.get(lane) ?? performance.now();
      sinceMs.set(lane, beganMs);
      heldBackMs = Math.max(heldBackMs, performance.now() - beganMs);
    }
  }
  broker.resume();
  await delay(CATCH_UP_MS);
  await keepStateOn(
    stack,
    (partition) => nodeIds.map((_, turn) => nodeIds[(partition + turn) % nodeIds.length] ?? 0),
    2,
  );
  await brokersWhole(stack);
  return { heldBackMs: Math.round(heldBackMs), ownEnds: fleet.ownEnds.slice(endsBefore) };
}

/** Lanes whose ledger has records that readers cannot read yet; empty while brokers do not answer. */
async function heldBack({ kafka, topics }: Stack): Promise<Set<number>> {
  const looked = withAdmin(kafka, async (admin) => {
    const written = await writtenOffsets(admin, topics.ledger);
    const readable = await partitionOffsets(admin, topics.ledger);
    return [...written].filter(([lane, end]) => end > (readable.get(lane)?.high ?? end)).map(([lane]) => lane);
  }).catch(() => []);
  return new Set(await Promise.race([looked, delay(LOOK_MS_MAX, [])]));
}

async function keepStateOn(
  { kafka }: Stack,
  replicasOf: (partition: number) => number[],
  minReplicas: number,
): Promise<void> {
  const partitionsOf = async (admin: Admin): Promise<{ partitionId: number; replicas: number[]; leader: number }[]> =>
    (await admin.fetchTopicMetadata({ topics: [STATE_TOPIC] })).topics.flatMap(({ partitions }) => partitions);
  const look = (): ReturnType<typeof partitionsOf> => withAdmin(kafka, partitionsOf).catch(() => []);
  // Once min.insync.replicas changes, Kafka forgets which replica may lead a partition that has no leader.
  const led = await eventually(
    look,
    (partitions) => partitions.length > 0,
    'the state of transactions to have leaders',
  );
  await changeTopics(kafka, [STATE_TOPIC], { 'min.insync.replicas': String(minReplicas) });
  const partitionAssignment = led.map(({ partitionId }) => ({
    partition: partitionId,
    replicas: replicasOf(partitionId),
  }));
  await withAdmin(kafka, (admin) =>
    admin.alterPartitionReassignments({ topics: [{ topic: STATE_TOPIC, partitionAssignment }] }),
  );
  await eventually(
    look,
    (partitions) =>
      partitions.length > 0 &&
      partitions.every(({ leader, partitionId, replicas }) => {
        const wanted = replicasOf(partitionId);
        return wanted.includes(leader) && replicas.length === wanted.length;
      }),
    'the state of transactions to be moved',
    MOVED_MS_MAX,
  );
}
