/**
 * Taking a lane over: courtesy -> every claimant that may still write is fenced -> claim and OWNER committed -> ledger read
 * until that record is seen -> the lane is ours, unless another claimed it in between: then it is fenced and the lane is
 * taken again.
 *
 * Whoever has claimed a lane may write to it until it has released it, behind all that it wrote, or is fenced: that ends its
 * open transaction and has all later ones refused. A claim is a record of its own, which only its owner's release takes away,
 * or whoever has fenced its transactional id. So it outlasts compaction, and those who gave up before they had fenced it.
 * Nobody writes to a lane before opening it, so that when it opens, each earlier claimant is fenced or has released, and each
 * later one sees this claim before its own, and fences before it opens. Whoever fences a live process takes all its lanes from
 * it, so one that is a member of the group gets time to release. Groups that use the same topics take lanes from each other,
 * and never both own one.
 */
import { randomUUID } from 'node:crypto';
import { sleep } from '../consumers/signal.ts';
import { decodeReleased, RELEASED_KEY, type Claimant, type OwnerRecord } from '../ledger/ledger-records.ts';
import { idPrefixOf } from './committer.ts';
import type { LaneWriter } from './lane-writer.ts';
import type { LaneParts } from './parts.ts';

/** Beyond a call's own deadline, for the commit of its answer. */
export const RELEASE_MARGIN_MS = 2_000;
/** Between looks at what is waited for. */
const STEP_MS = 10;
/** Longest restore, a store that was lost included: some ten thousand keys a second are read. */
const RESTORE_DEADLINE_MS = 600_000;
/** A record that is not seen by then may be gone. Longer than an answer of the brokers is shared, for it must not be older. */
const SUPERSEDED_AFTER_MS = 1_000;
/** Takings in a row at which other owners turned up. */
const TAKINGS_MAX = 3;

/**
 * @param writer of the lane; nothing has been written to it
 * @param isWanted whether the lane is still to be acquired
 * @returns the token of this ownership
 * @throws when the lane could not be acquired; it may be tried again with a new writer
 */
export async function acquireOwnership(parts: LaneParts, writer: LaneWriter, isWanted: () => boolean): Promise<string> {
  await courtesy(parts, writer, isWanted);
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

/** @returns who claimed the lane between our last look and our record, and who was fenced before our record */
async function take(
  parts: LaneParts,
  writer: LaneWriter,
): Promise<{ token: string; between: readonly Claimant[]; fenced: ReadonlySet<string> }> {
  const { clock, committer, index, lane, processId, reader } = parts;
  for (let [before] = mayWrite(parts, writer); before !== undefined; [before] = mayWrite(parts, writer))
    await fence(parts, before);
  const token = randomUUID();
  const seen = reader.seen(lane, token, RESTORE_DEADLINE_MS);
  // Handled below; until then the commit may fail first.
  seen.catch(() => undefined);
  const fenced = new Set(committer.fenced());
  const owner = { token, processId, atMs: clock.nowMs(), barren: barrenBefore(parts) };
  const claimants = index.claims(lane).map((claim) => idOf(parts, claim));
  await writer.own(
    owner,
    claimants.filter((id) => fenced.has(id)),
  );
  return { token, between: await seenUnlessSuperseded(parts, seen), fenced };
}

/** Our record may never be seen: where others took the lane after us, compaction leaves theirs alone. */
async function seenUnlessSuperseded(
  { lane, offsets, reader, topics }: LaneParts,
  seen: Promise<readonly Claimant[]>,
): Promise<readonly Claimant[]> {
  let isOver = false;
  const superseded = async (): Promise<readonly Claimant[]> => {
    await sleep(SUPERSEDED_AFTER_MS);
    const written = isOver ? null : await offsets.written(topics.ledger).catch(() => null);
    const end = written?.ends.get(lane);
    if (end === undefined) return seen;
    while (!isOver && reader.position(lane) < end) await sleep(STEP_MS);
    if (isOver) return seen;
    throw new Error('others have taken the lane since');
  };
  try {
    return await Promise.race([seen, superseded()]);
  } finally {
    isOver = true;
  }
}

/** Others that may write to the lane, as far as the ledger has been read. */
function mayWrite(parts: LaneParts, { transactionalId }: LaneWriter): Claimant[] {
  const { committer, index, lane } = parts;
  // Owners of earlier releases claim nothing.
  const last = index.owner(lane);
  const claimants = [...index.claims(lane), ...(last === undefined || isReleased(parts, last) ? [] : [last])];
  return claimants.filter((claimant) => {
    const id = idOf(parts, claimant);
    return id !== transactionalId && !committer.fenced().has(id);
  });
}

async function fence(parts: LaneParts, owner: Claimant): Promise<void> {
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

function idOf({ groupId, lane }: LaneParts, { transactionalId }: Claimant): string {
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
async function courtesy(parts: LaneParts, writer: LaneWriter, isWanted: () => boolean): Promise<void> {
  const { clock, policy } = parts;
  const untilMs = clock.monotonicMs() + policy.apiTimeoutMs + RELEASE_MARGIN_MS;
  while (isWanted() && clock.monotonicMs() < untilMs && (await mayRelease(parts, writer))) await sleep(STEP_MS);
}

async function mayRelease(parts: LaneParts, writer: LaneWriter): Promise<boolean> {
  for (const { processId } of mayWrite(parts, writer))
    if (processId !== parts.processId && (await parts.isMember(processId))) return true;
  return false;
}
