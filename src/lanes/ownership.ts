/**
 * Taking a lane over: live members make way, claimants that are gone are fenced -> claim and OWNER committed -> ledger read
 * until that record is seen -> the lane is ours. If another claimed it in between, our claim is withdrawn, and all begins anew.
 *
 * Whoever has claimed a lane may write to it until it has released it, behind all that it wrote, or is fenced: that ends its
 * open transaction and has all later ones refused. A claim is a record of its own, which only its owner's release takes away,
 * or whoever has fenced its transactional id. So it outlasts compaction, and those who gave up before they had fenced it.
 * Nobody writes to a lane before opening it, so that when it opens, each earlier claimant is fenced or has released, and each
 * later one sees this claim before its own, and waits for it, or fences it, before it opens.
 *
 * An owner whose producer broke fences that itself, and says so in the claim: nobody waits for it then. Safety needs none of
 * that: where it is not said, the next owner waits and fences.
 *
 * To fence a live process takes all its lanes from it. So a member of the group gets time to release; a process that the
 * group has not just confirmed fences nobody, for the lane may have another owner by now; and one that waits for others has
 * no claim meanwhile, or two would wait for each other. Groups that use the same topics take lanes from each other, and never
 * both own one.
 */
import { randomUUID } from 'node:crypto';
import { sleep } from '../consumers/signal.ts';
import type { Claim, Claimant, OwnerRecord } from '../ledger/ledger-records.ts';
import { schemaRecords } from '../ledger/ledger-value.ts';
import { settledWithin } from 'payment-processor-contract/kafka/settled-within';
import { COMMIT_DEADLINE_MS } from '../producers/transactional-producer.ts';
import { idPrefixOf } from './committer.ts';
import type { LaneWriter } from './lane-writer.ts';
import type { LaneParts } from './parts.ts';

/** Beyond a call's own deadline, for the commit of its answer. */
const RELEASE_MARGIN_MS = 2_000;
/** Between looks at what is waited for. */
const STEP_MS = 10;
/** Longest restore, a store that was lost included: some ten thousand keys a second are read. */
const RESTORE_DEADLINE_MS = 600_000;
/** A record that is not seen by then may be gone. Longer than an answer of the brokers is shared, for it must not be older. */
const SUPERSEDED_AFTER_MS = 1_000;
/** The brokers are asked who is in the group; the client alone would ask a coordinator that is gone for half a minute. */
const ASKED_MS_MAX = 2_000;
/**
 * For the release of a member that has left: it lies before the ledger's end, and is read within milliseconds. An open
 * transaction of one that was killed holds readers up for longer, and fencing ends it.
 */
const RELEASE_READ_MS_MAX = 1_000;
/** Counted of the time between two looks. */
const LOOK_MS_MAX = ASKED_MS_MAX + 500;
/** Takings in a row at which other owners turned up. */
const TAKINGS_MAX = 3;

/** How long an owner that releases its lane waits for its calls. */
export function drainMsMax({ policy }: Pick<LaneParts, 'policy'>): number {
  return policy.apiTimeoutMs + RELEASE_MARGIN_MS;
}

/**
 * @param writer of the lane; nothing has been written to it
 * @param isWanted whether the lane is still to be acquired; once it is not, nobody is fenced
 * @param looks of the lane's takings so far
 * @returns the token of this ownership; null: the lane is not wanted any more
 * @throws when the lane could not be acquired; it may be tried again with a new writer
 */
export async function acquireOwnership(
  parts: LaneParts,
  writer: LaneWriter,
  isWanted: () => boolean,
  looks: Looks,
): Promise<string | null> {
  for (let taking = 0; taking < TAKINGS_MAX; taking += 1) {
    while (isWanted() && mayWrite(parts, writer).length > 0) await madeWay(parts, writer, looks, isWanted);
    if (!isWanted()) return null;
    // In the turn of the last look: what is read from then on is watched for other claims.
    const { between, fenced, token } = await take(parts, writer);
    // Of one that was fenced before our record, nothing can have come since.
    const others = between.filter(
      ({ transactionalId }) => !fenced.has(transactionalId) && transactionalId !== writer.transactionalId,
    );
    if (others.length === 0) return token;
    await writer.withdraw();
  }
  throw new Error('other processes kept claiming the lane');
}

/** How long a lane has waited for the others: over all its takings, for one that fails must not begin the wait anew. */
export class Looks {
  /** On the monotonic clock. */
  lastMs = -Infinity;
  /** By the token of their claims. */
  readonly waitedMs = new Map<string, number>();
  /** Since it is known that they left: the ledger's end then, and how long they had been waited for. */
  readonly left = new Map<string, { readonly ledgerEnd: bigint; readonly waitedMs: number }>();
}

/** A step: one that is not to be waited for is fenced, or time passes. */
async function madeWay(parts: LaneParts, writer: LaneWriter, looks: Looks, isWanted: () => boolean): Promise<void> {
  const { clock, isConfirmed, processId } = parts;
  // A process that was frozen did not wait meanwhile.
  const passedMs = Math.min(clock.monotonicMs() - looks.lastMs, LOOK_MS_MAX);
  looks.lastMs = clock.monotonicMs();
  const asked = mayWrite(parts, writer).map(async (claimant) => {
    const waitedMs = (looks.waitedMs.get(claimant.token) ?? -passedMs) + passedMs;
    looks.waitedMs.set(claimant.token, waitedMs);
    const mayRelease =
      claimant.processId !== processId &&
      ((await mayBeMember(parts, claimant)) || (await mayHaveReleased(parts, claimant, looks)));
    return { claimant, isWaitedFor: mayRelease && waitedMs < patienceMs(parts) };
  });
  for (const { claimant, isWaitedFor } of await Promise.all(asked)) {
    if (isWaitedFor || !mayWrite(parts, writer).some(({ token }) => token === claimant.token)) continue;
    // Asked here, for the answer may have been long on its way.
    if (!isWanted() || !isConfirmed()) break;
    await fence(parts, claimant);
    return;
  }
  await sleep(STEP_MS);
}

/** Also where the brokers do not say: then it is waited for, and fenced no earlier than a live one. */
async function mayBeMember({ isMember }: LaneParts, { processId }: Claimant): Promise<boolean> {
  let isGone = false;
  const answered = isMember(processId).then(
    (is) => (isGone = !is),
    () => undefined,
  );
  await settledWithin(answered, ASKED_MS_MAX);
  return !isGone;
}

/** Of a member that has left. One that leaves in order releases its lanes first, and we may not have read that yet. */
async function mayHaveReleased(parts: LaneParts, { token }: Claimant, looks: Looks): Promise<boolean> {
  const { lane, offsets, reader, topics } = parts;
  const waitedMs = looks.waitedMs.get(token) ?? 0;
  if (!looks.left.has(token)) {
    let ledgerEnd = 0n;
    const answered = offsets.highWatermarks(topics.ledger).then(
      (ends) => (ledgerEnd = ends.get(lane) ?? 0n),
      () => undefined,
    );
    await settledWithin(answered, ASKED_MS_MAX);
    looks.left.set(token, { ledgerEnd, waitedMs });
  }
  const left = looks.left.get(token);
  return left !== undefined && reader.position(lane) < left.ledgerEnd && waitedMs - left.waitedMs < RELEASE_READ_MS_MAX;
}

/** For a live member: it may hear of its release later than we do, and its last commit has a deadline of its own. */
function patienceMs(parts: LaneParts): number {
  return parts.sessionTimeoutMs + drainMsMax(parts) + COMMIT_DEADLINE_MS;
}

/** @returns who claimed the lane between our last look and our record, and who was fenced before our record */
async function take(
  parts: LaneParts,
  writer: LaneWriter,
): Promise<{ token: string; between: readonly Claimant[]; fenced: ReadonlySet<string> }> {
  const { clock, committer, index, lane, processId, reader } = parts;
  const token = randomUUID();
  const seen = reader.seen(lane, token, RESTORE_DEADLINE_MS);
  // Handled below; until then the commit may fail first.
  seen.catch(() => undefined);
  const fenced = new Set(committer.fenced());
  const over = index.claims(lane).filter(({ isFenced, transactionalId }) => isFenced || fenced.has(transactionalId));
  const owner = { token, processId, atMs: clock.nowMs(), barren: barrenBefore(parts) };
  const schemas = [...schemaRecords()].filter(([key]) => index.value(lane, key) === undefined);
  await writer.own(
    { ...owner, fencedCallUntilMs: fencedCallUntilMs(parts, over) },
    new Map(schemas),
    over.map(({ transactionalId }) => transactionalId),
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
    throw new Error('another process took the lane in the meantime');
  };
  try {
    return await Promise.race([seen, superseded()]);
  } finally {
    isOver = true;
  }
}

/** Others that may write to the lane, as far as the ledger has been read. */
function mayWrite({ committer, index, lane }: LaneParts, writer: LaneWriter): Claimant[] {
  return index
    .claims(lane)
    .filter(({ isFenced, transactionalId: id }) => !isFenced && id !== writer.transactionalId)
    .filter(({ transactionalId }) => !committer.fenced().has(transactionalId));
}

async function fence(parts: LaneParts, { processId, transactionalId }: Claimant): Promise<void> {
  const { committer, groupId, lane, log } = parts;
  const named = { lane, transactionalId };
  if (!transactionalId.startsWith(idPrefixOf(groupId)))
    log.error({ event: 'lane-of-another-group', ...named }, 'fencing the previous owner, a process of another group');
  else if (processId !== parts.processId)
    log.warn({ event: 'owner-fenced', ...named }, 'fencing the previous owner: we have read no release from it');
  await committer.fence(transactionalId);
}

/** One that fenced itself began no call after that. What the owner before found counts on: it may have had the lane for a moment. */
function fencedCallUntilMs(
  { clock, index, lane, processId, sessionTimeoutMs }: LaneParts,
  over: readonly Claim[],
): number {
  const isFencedUnaware = over.some((claim) => !claim.isFenced && claim.processId !== processId);
  return isFencedUnaware ? clock.nowMs() + sessionTimeoutMs : (index.owner(lane)?.fencedCallUntilMs ?? 0);
}

function isReleased({ index, lane }: LaneParts, owner: OwnerRecord): boolean {
  return !index.claims(lane).some(({ token }) => token === owner.token);
}

/** What the index does not show yet can only make it too few or too many by one, and both do no harm. */
function barrenBefore(parts: LaneParts): number {
  const { index, lane } = parts;
  const last = index.owner(lane);
  if (last === undefined || index.position(lane)?.token === last.token) return 0;
  // Whoever released the lane was not lost by what it read.
  return isReleased(parts, last) ? last.barren : last.barren + 1;
}
