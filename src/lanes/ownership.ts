/**
 * Taking a lane over: courtesy -> every owner that may still write is fenced -> OWNER committed -> ledger read until that
 * record is seen -> the lane is ours, unless another owner turned up in between: then it is fenced and the lane is taken
 * again.
 *
 * An owner may still write if it has not released the lane, behind all that it wrote. Its OWNER record names its
 * transactional id; fencing that ends its open transaction and has all later ones refused. Nobody writes to a lane
 * before opening it, so that when it opens, each earlier writer is fenced or has released, and each later one sees this
 * OWNER record before its own, and fences before it opens. Whoever fences a live process takes all its lanes from it, so one
 * that is a member of the group gets time to release. Groups that use the same topics take lanes from each other, and never
 * both own one.
 */
import { randomUUID } from 'node:crypto';
import { sleep } from '../consumers/signal.ts';
import { decodeReleased, RELEASED_KEY, type OwnerRecord } from '../ledger/ledger-records.ts';
import { idPrefixOf } from './committer.ts';
import type { LaneWriter } from './lane-writer.ts';
import type { LaneParts } from './parts.ts';

/** Beyond a call's own deadline, for the commit of its answer. */
export const RELEASE_MARGIN_MS = 2_000;
const COURTESY_STEP_MS = 50;
/** Longest restore, a store that was lost included: some ten thousand keys a second are read. */
const RESTORE_DEADLINE_MS = 600_000;
/** Takings in a row at which other owners turned up. */
const TAKINGS_MAX = 3;

/**
 * @param writer of the lane; nothing has been written to it
 * @param isWanted whether the lane is still to be acquired
 * @returns the token of this ownership
 * @throws when the lane could not be acquired; it may be tried again with a new writer
 */
export async function acquireOwnership(parts: LaneParts, writer: LaneWriter, isWanted: () => boolean): Promise<string> {
  await courtesy(parts, isWanted);
  for (let taking = 0; taking < TAKINGS_MAX; taking += 1) {
    const { between, fenced, token } = await take(parts, writer);
    // Of one that was fenced before our record, nothing can have come since.
    const others = between.filter(
      (owner) => !fenced.has(idOf(parts, owner)) && idOf(parts, owner) !== writer.transactionalId,
    );
    if (others.length === 0) return token;
    for (const owner of others) await fence(parts, owner);
  }
  throw new Error('others owned the lane again and again');
}

/** @returns owners that came between the one before and us and have not released, and who was fenced before our record */
async function take(
  parts: LaneParts,
  writer: LaneWriter,
): Promise<{ token: string; between: readonly OwnerRecord[]; fenced: ReadonlySet<string> }> {
  const { clock, committer, lane, processId, reader } = parts;
  for (let before = toBeFenced(parts, writer); before !== null; before = toBeFenced(parts, writer))
    await fence(parts, before);
  const token = randomUUID();
  const seen = reader.seen(lane, token, RESTORE_DEADLINE_MS);
  // Handled below; until then the commit may fail first.
  seen.catch(() => undefined);
  const fenced = new Set(committer.fenced());
  await writer.own({ token, processId, atMs: clock.nowMs(), barren: barrenBefore(parts) });
  return { token, between: await seen, fenced };
}

/** The owner before, where it may still write. */
function toBeFenced(parts: LaneParts, { transactionalId }: LaneWriter): OwnerRecord | null {
  const last = parts.index.owner(parts.lane);
  if (last === undefined || isReleased(parts, last)) return null;
  const id = idOf(parts, last);
  return id === transactionalId || parts.committer.fenced().has(id) ? null : last;
}

async function fence(parts: LaneParts, owner: OwnerRecord): Promise<void> {
  const { committer, groupId, lane, log, processId } = parts;
  const transactionalId = idOf(parts, owner);
  const named = { lane, transactionalId };
  const isOfGroup = [idPrefixOf(groupId), laneIdPrefixOf(groupId)].some((prefix) => transactionalId.startsWith(prefix));
  if (!isOfGroup)
    log.error({ event: 'lane-of-another-group', ...named }, 'a process of another group owned the lane: it is fenced');
  else if (owner.processId !== processId)
    log.warn({ event: 'owner-fenced', ...named }, 'the owner before did not release its lane: it is fenced');
  await committer.fence(transactionalId);
}

function idOf({ groupId, lane }: LaneParts, { transactionalId }: OwnerRecord): string {
  return transactionalId ?? `${laneIdPrefixOf(groupId)}${lane}`;
}

/** Earlier releases had a producer for each lane, and did not name it. */
function laneIdPrefixOf(groupId: string): string {
  return `${groupId}-lane-`;
}

function isReleased({ index, lane }: LaneParts, { token }: OwnerRecord): boolean {
  const released = index.value(lane, RELEASED_KEY);
  return released !== undefined && decodeReleased(released) === token;
}

/** What the index does not show yet can only make it too few or too many by one, and both do no harm. */
function barrenBefore({ index, lane }: LaneParts): number {
  const last = index.owner(lane);
  if (last === undefined || index.position(lane)?.token === last.token) return 0;
  return last.barren + 1;
}

/** An owner that lives commits the answers of its calls first, and then releases: fenced, it would lose all its lanes. */
async function courtesy(parts: LaneParts, isWanted: () => boolean): Promise<void> {
  const { clock, index, isMember, lane, policy, processId } = parts;
  const untilMs = clock.monotonicMs() + policy.apiTimeoutMs + RELEASE_MARGIN_MS;
  while (isWanted() && clock.monotonicMs() < untilMs) {
    const last = index.owner(lane);
    if (last === undefined || last.processId === processId || isReleased(parts, last)) return;
    if (!(await isMember(last.processId))) return;
    await sleep(COURTESY_STEP_MS);
  }
}
