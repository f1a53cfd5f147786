/**
 * Taking a lane over: wait for live members to release, fence claimants that are gone -> commit claim and OWNER -> read the
 * ledger to that record -> the lane is ours. If another process claimed the lane in between, withdraw our claim and start again.
 *
 * A process that has claimed a lane may write to it until it releases the lane or is fenced. Its release follows its
 * last write. Fencing ends its open transaction and makes Kafka refuse all later ones. Each claim has its own ledger
 * key. The claimant deletes it at its release; otherwise the next owner does, once the claimant is fenced. So neither
 * compaction nor a failed takeover removes a claim that still stands. Apart from claims, and the OWNER record and
 * schemas committed with them, nobody writes to a lane before opening it. So when a lane opens, each earlier claimant
 * is fenced or has released. Each later claimant sees this claim before its own, and waits for it or fences it before
 * opening the lane.
 *
 * An owner whose producer failed fences that producer itself and says so in the claim; then nobody waits for it. Safety does not
 * depend on this: without that note the next owner waits and fences.
 *
 * Fencing a live process takes all its lanes away. So a member of the group gets time to release. A process that the group has
 * not recently confirmed fences nobody, because the lane may have another owner by now. A process that waits for others holds no
 * claim meanwhile; otherwise two would wait for each other. Groups that use the same topics take lanes from each other, and
 * never both own one.
 */
import { randomUUID } from 'node:crypto';
import { sleep } from '../../consumers/signal.ts';
import type { Claim, Claimant, OwnerRecord } from '../../ledger/ledger-records.ts';
import { schemaRecords } from '../../ledger/ledger-value.ts';
import { settledWithin } from 'payment-processor-contract/settled-within';
import { COMMIT_DEADLINE_MS } from '../../producers/transactional-producer.ts';
import { idPrefixOf } from '../commits/committer.ts';
import type { LaneWriter } from '../commits/lane-writer.ts';
import type { LaneParts } from '../parts.ts';

/** Added to a call's deadline, for the commit of its answer. */
const RELEASE_MARGIN_MS = 2_000;
/** Polling interval while a takeover waits. */
const STEP_MS = 10;
/** Longest restore, even after a lost store: we read about ten thousand keys a second. */
const RESTORE_DEADLINE_MS = 600_000;
/**
 * After this long we check whether compaction removed our OWNER record. Longer than end offsets are cached: the check needs newer
 * ones.
 */
const SUPERSEDED_AFTER_MS = 1_000;
/** Timeout of a question to the brokers. Without it the client would try a dead coordinator for half a minute. */
const ASK_TIMEOUT_MS = 2_000;
/**
 * How long we wait for the release record of a member that has left: normally we read it within milliseconds. An open
 * transaction of a killed process blocks readers for longer, and fencing ends it.
 */
const RELEASE_READ_MS_MAX = 1_000;
/** Longest gap between two checks that counts as waiting. */
const CHECK_GAP_MS_MAX = ASK_TIMEOUT_MS + 500;
/** We give up after this many tries in a row in which another process claimed the lane too. */
const TRIES_MAX = 3;

/** How long an owner that releases its lane waits for its calls. */
export function drainMsMax({ policy }: Pick<LaneParts, 'policy'>): number {
  return policy.apiTimeoutMs + RELEASE_MARGIN_MS;
}

/**
 * @param writer of the lane; nothing has been written with it yet
 * @param isWanted whether we still want the lane; once we do not, we fence nobody
 * @param waits how long the lane's earlier attempts have waited
 * @returns the token of this ownership; null: we no longer want the lane
 * @throws if the lane could not be acquired; retry with a new writer
 */
export async function acquireOwnership(
  parts: LaneParts,
  writer: LaneWriter,
  isWanted: () => boolean,
  waits: Waits,
): Promise<string | null> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    while (isWanted() && otherClaimants(parts, writer).length > 0) await fenceOrWait(parts, writer, waits, isWanted);
    if (!isWanted()) return null;
    // No await since the last `otherClaimants`: every claim made from here on is in `newClaims`.
    const { newClaims, fenced, token } = await claimLane(parts, writer);
    // A claimant fenced before our record cannot have written anything since.
    const others = newClaims.filter(
      ({ transactionalId }) => !fenced.has(transactionalId) && transactionalId !== writer.transactionalId,
    );
    if (others.length === 0) return token;
    await writer.withdraw();
  }
  throw new Error('other processes kept claiming the lane');
}

/** How long a lane has waited for others, over all its attempts: a failed attempt must not restart the wait. */
export class Waits {
  /** When we last checked, on the monotonic clock. */
  checkedMs = -Infinity;
  /** By the token of their claims. */
  readonly waitedMs = new Map<string, number>();
  /** Members known to have left: the ledger's end then, and how long we had waited for them. */
  readonly departed = new Map<string, { readonly ledgerEnd: bigint; readonly waitedMs: number }>();
}

/** One step: fences a claimant whose waiting time is over, or sleeps. */
async function fenceOrWait(parts: LaneParts, writer: LaneWriter, waits: Waits, isWanted: () => boolean): Promise<void> {
  const { clock, isConfirmed, processId } = parts;
  // Time during which this process was frozen does not count as waiting.
  const passedMs = Math.min(clock.monotonicMs() - waits.checkedMs, CHECK_GAP_MS_MAX);
  waits.checkedMs = clock.monotonicMs();
  const asked = otherClaimants(parts, writer).map(async (claimant) => {
    const waitedMs = (waits.waitedMs.get(claimant.token) ?? -passedMs) + passedMs;
    waits.waitedMs.set(claimant.token, waitedMs);
    const mayRelease =
      claimant.processId !== processId &&
      ((await mayBeMember(parts, claimant)) || (await mayHaveReleased(parts, claimant, waits)));
    // Its settings may be older than ours.
    const mayTakeMs = Math.max(releaseWithinMs(parts), claimant.releaseWithinMs);
    return { claimant, isWaitedFor: mayRelease && waitedMs < mayTakeMs };
  });
  for (const { claimant, isWaitedFor } of await Promise.all(asked)) {
    if (isWaitedFor || !otherClaimants(parts, writer).some(({ token }) => token === claimant.token)) continue;
    // Checked again here, because the answer may have taken long.
    if (!isWanted() || !isConfirmed()) break;
    await fence(parts, claimant);
    return;
  }
  await sleep(STEP_MS);
}

/** True also if the brokers do not answer: then we wait for the claimant as long as for a live one. */
async function mayBeMember({ isMember }: LaneParts, { processId }: Claimant): Promise<boolean> {
  let isGone = false;
  const answered = isMember(processId).then(
    (is) => (isGone = !is),
    () => undefined,
  );
  await settledWithin(answered, ASK_TIMEOUT_MS);
  return !isGone;
}

/** Whether a member that left may have released the lane: an orderly release comes first, and we may not have read it yet. */
async function mayHaveReleased(parts: LaneParts, { token }: Claimant, waits: Waits): Promise<boolean> {
  const { lane, offsets, reader, topics } = parts;
  const waitedMs = waits.waitedMs.get(token) ?? 0;
  let departure = waits.departed.get(token);
  if (departure === undefined) {
    let ledgerEnd = 0n;
    const answered = offsets.highWatermarks(topics.ledger).then(
      (ends) => (ledgerEnd = ends.get(lane) ?? 0n),
      () => undefined,
    );
    await settledWithin(answered, ASK_TIMEOUT_MS);
    departure = { ledgerEnd, waitedMs };
    waits.departed.set(token, departure);
  }
  return reader.position(lane) < departure.ledgerEnd && waitedMs - departure.waitedMs < RELEASE_READ_MS_MAX;
}

/** How long a live member may take: it may learn later than others that it lost the lane, and its last commit may take long. */
function releaseWithinMs(parts: LaneParts): number {
  // The commit under way, and that of the release, which goes next.
  return parts.sessionTimeoutMs + drainMsMax(parts) + 2 * COMMIT_DEADLINE_MS;
}

/** @returns the claims made between our last check and our record, and the ids fenced before our record */
async function claimLane(
  parts: LaneParts,
  writer: LaneWriter,
): Promise<{ token: string; newClaims: readonly Claimant[]; fenced: ReadonlySet<string> }> {
  const { clock, committer, index, lane, laneCount, processId, reader } = parts;
  const token = randomUUID();
  const seen = reader.seen(lane, token, RESTORE_DEADLINE_MS);
  // If the claim fails first, nobody awaits `seen`.
  seen.catch(() => undefined);
  const fenced = new Set(committer.fenced());
  const voidClaims = index
    .claims(lane)
    .filter(({ isFenced, transactionalId }) => isFenced || fenced.has(transactionalId));
  const owner = { token, processId, atMs: clock.nowMs(), barren: ownersWithoutCommit(parts) };
  const schemas = [...schemaRecords()].filter(([key]) => index.value(lane, key) === undefined);
  await writer.claim(
    {
      ...owner,
      laneCount,
      fencedCallUntilMs: fencedCallUntilMs(parts, voidClaims),
      releaseWithinMs: releaseWithinMs(parts),
    },
    new Map(schemas),
    voidClaims.map(({ transactionalId }) => transactionalId),
  );
  return { token, newClaims: await seenUnlessSuperseded(parts, seen), fenced };
}

/** We may never see our record: if others took the lane after us, compaction keeps only theirs. */
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
    throw new Error('another process took the lane in the meantime');
  };
  try {
    return await Promise.race([seen, superseded()]);
  } finally {
    isOver = true;
  }
}

/** Other producers, also earlier ones of this process, that may still write to the lane, by the ledger read so far. */
function otherClaimants({ committer, index, lane }: LaneParts, writer: LaneWriter): Claim[] {
  return index
    .claims(lane)
    .filter(({ isFenced, transactionalId: id }) => !isFenced && id !== writer.transactionalId)
    .filter(({ transactionalId }) => !committer.fenced().has(transactionalId));
}

async function fence(parts: LaneParts, { processId, transactionalId }: Claimant): Promise<void> {
  const { committer, groupId, lane, log } = parts;
  const fields = { lane, transactionalId };
  if (!transactionalId.startsWith(idPrefixOf(groupId)))
    log.error(
      { event: 'lane-of-another-group', ...fields },
      'fencing the previous owner, a process of another group: give all processes of this TOPIC_PREFIX the same KAFKA_GROUP_ID',
    );
  else if (processId !== parts.processId)
    log.warn(
      { event: 'owner-fenced', ...fields },
      'fencing the previous owner: the part of the ledger read so far does not show that it released the lane',
    );
  await committer.fence(transactionalId);
}

/** Until when a fenced owner may begin a call. One that fenced itself begins none, so its predecessor's time stands. */
function fencedCallUntilMs(
  { clock, index, lane, processId, sessionTimeoutMs }: LaneParts,
  voidClaims: readonly Claim[],
): number {
  const mayNotKnowItIsFenced = voidClaims.some((claim) => !claim.isFenced && claim.processId !== processId);
  return mayNotKnowItIsFenced ? clock.nowMs() + sessionTimeoutMs : (index.owner(lane)?.fencedCallUntilMs ?? 0);
}

function isReleased({ index, lane }: LaneParts, owner: OwnerRecord): boolean {
  return !index.claims(lane).some(({ token }) => token === owner.token);
}

/** Owners in a row that committed nothing. Off by one if the index lags, which does no harm. */
function ownersWithoutCommit(parts: LaneParts): number {
  const { index, lane } = parts;
  const last = index.owner(lane);
  if (last === undefined || index.position(lane)?.token === last.token) return 0;
  // The owner released the lane, so no message made it lose the lane.
  return isReleased(parts, last) ? last.barren : last.barren + 1;
}
