/**
 * Taking a lane over: courtesy -> producer opened -> OWNER committed, which fences every earlier producer -> ledger
 * read until that record is seen, which is its exact end and proves that the lane can write.
 */
import { randomUUID } from 'node:crypto';
import { encodeOwner, OWNER_KEY } from '../ledger/ledger-records.ts';
import type { GroupOffsets, LaneProducer } from '../producers/lane-producer.ts';
import type { LaneParts, TopicStart } from './lane-parts.ts';
import { sleep } from './signal.ts';

/** How long a new owner lets the former one commit the answers of its open calls. */
const COURTESY_MS = 1_000;
const COURTESY_STEP_MS = 50;
/** Longest restore, a store that was lost included: some ten thousand keys a second are read. */
const RESTORE_DEADLINE_MS = 600_000;

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
  const { clock, lane, processId, reader, topics } = parts;
  await courtesy(parts, isWanted);
  await producer.open();
  const token = randomUUID();
  const seen = reader.seen(token, RESTORE_DEADLINE_MS);
  // Handled below; until then the commit may fail first.
  seen.catch(() => undefined);
  const owner = encodeOwner({ token, processId, atMs: clock.nowMs(), barren: barrenBefore(parts) });
  await producer.commit(
    [{ topic: topics.ledger, partition: lane, key: OWNER_KEY, value: owner, headers: {} }],
    firstOffsets(lane, starts),
  );
  await seen;
  return token;
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

/** Without an offset of the group, Kafka's tools show no lag at all: what was never read from gets its beginning. */
function firstOffsets(lane: number, starts: ReadonlyMap<string, TopicStart>): GroupOffsets[] {
  return [...starts].flatMap(([topic, { committedOffset, lowOffset }]) =>
    committedOffset === null ? [{ topic, partition: lane, offset: lowOffset }] : [],
  );
}
