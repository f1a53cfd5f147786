/**
 * Taking a lane over: courtesy -> producer opened -> OWNER committed, which fences every earlier producer of the group ->
 * ledger read until that record is seen, which is its exact end and proves that the lane can write.
 *
 * An owner under another transactional id belongs to another group on the same topics. Only its OWNER record tells of it: it
 * is fenced by name, and the lane is taken again, for it may have committed until then. Whoever comes later sees
 * our record and does the same to us: such groups take lanes from each other, and never both own one.
 */
import { randomUUID } from 'node:crypto';
import { sleep } from '../consumers/signal.ts';
import type { TopicStart } from '../consumers/topic-offsets.ts';
import { encodeOwner, OWNER_KEY, type OwnerRecord } from '../ledger/ledger-records.ts';
import type { GroupOffsets, LaneProducer } from '../producers/lane-producer.ts';
import type { LaneParts } from './parts.ts';

/** How long a new owner lets the former one commit the answers of its open calls. */
const COURTESY_MS = 1_000;
const COURTESY_STEP_MS = 50;
/** Longest restore, a store that was lost included: some ten thousand keys a second are read. */
const RESTORE_DEADLINE_MS = 600_000;
/** Takings in a row at which owners of other groups turned up. */
const TAKINGS_MAX = 3;

/**
 * @param starts of the lane's inputs
 * @param isWanted whether the lane is still to be acquired
 * @returns the token of this ownership
 * @throws when the lane could not be acquired; it may be tried again with a new producer
 */
export async function acquireOwnership(
  parts: LaneParts,
  producer: LaneProducer,
  starts: ReadonlyMap<string, TopicStart>,
  isWanted: () => boolean,
): Promise<string> {
  const { lane, log, makeProducer } = parts;
  await courtesy(parts, isWanted);
  await producer.open();
  for (let taking = 0; taking < TAKINGS_MAX; taking += 1) {
    const { earlier, token } = await take(parts, producer, starts);
    const others = [...earlier].filter((transactionalId) => transactionalId !== parts.transactionalId);
    if (others.length === 0) return token;
    for (const transactionalId of others) {
      log.error(
        { event: 'lane-of-another-group', lane, transactionalId },
        'a process of another group owned the lane: it is fenced',
      );
      await makeProducer(lane, transactionalId).fence();
    }
  }
  throw new Error('another group on the same topics owned the lane again and again');
}

/** @returns transactional ids of the owners before, as far as they have not been fenced by one between */
async function take(
  parts: LaneParts,
  producer: LaneProducer,
  starts: ReadonlyMap<string, TopicStart>,
): Promise<{ token: string; earlier: ReadonlySet<string> }> {
  const { clock, index, lane, processId, reader, topics, transactionalId } = parts;
  const token = randomUUID();
  const before = index.owner(lane);
  const seen = reader.seen(lane, token, RESTORE_DEADLINE_MS);
  // Handled below; until then the commit may fail first.
  seen.catch(() => undefined);
  const owner: OwnerRecord = { token, processId, transactionalId, atMs: clock.nowMs(), barren: barrenBefore(parts) };
  await producer.commit(
    [{ topic: topics.ledger, partition: lane, key: OWNER_KEY, value: encodeOwner(owner), headers: {} }],
    firstOffsets(lane, starts),
  );
  const owners = [...(before === undefined ? [] : [before]), ...(await seen)];
  return { token, earlier: new Set(owners.flatMap(({ transactionalId: id }) => (id === null ? [] : [id]))) };
}

/** What the index does not show yet can only make it too few or too many by one, and both do no harm. */
function barrenBefore({ index, lane }: LaneParts): number {
  const last = index.owner(lane);
  if (last === undefined || index.position(lane)?.token === last.token) return 0;
  return last.barren + 1;
}

/** The former owner may be alive and committing the answers of its calls: doubt about them would cost more than this. */
async function courtesy(parts: LaneParts, isWanted: () => boolean): Promise<void> {
  const { clock, index, lane, processId } = parts;
  const untilMs = clock.monotonicMs() + COURTESY_MS;
  while (isWanted() && clock.monotonicMs() < untilMs) {
    const isCommitting = index
      .unfinished(lane)
      .some(({ phase }) => phase.state === 'INTENT' && phase.processId !== processId);
    if (!isCommitting) return;
    await sleep(COURTESY_STEP_MS);
  }
}

/** Without an offset of the group, Kafka's tools show no lag at all: an input that was never read starts at its beginning. */
function firstOffsets(lane: number, starts: ReadonlyMap<string, TopicStart>): GroupOffsets[] {
  return [...starts].flatMap(([topic, { committedOffset, lowOffset }]) =>
    committedOffset === null ? [{ topic, partition: lane, offset: lowOffset }] : [],
  );
}
