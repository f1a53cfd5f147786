/**
 * Where the inputs of a lane that is being taken go on.
 *
 * A position that the broker no longer has (forced-jumps.ts), or a group that has read on without a ledger, is loss: the
 * lane stops and says so, rather than go on with a gap.
 */
import { sleep } from '../consumers/signal.ts';
import type { TopicStart } from '../consumers/topic-offsets.ts';
import type { PositionRecord } from '../ledger/ledger-records.ts';
import { forcedJumpOf, JUMP_PATIENCE_MS, type ForcedJump } from './forced-jumps.ts';
import { LaneStoppedError } from './lane-status.ts';
import type { LaneParts } from './parts.ts';

/** By topic. */
type Starts = ReadonlyMap<string, TopicStart>;

/** Between questions to brokers whose answer may be a passing fault. */
const ASK_AGAIN_MS = 500;
/** One question, its answer and the pause; what is longer counts as this. */
const ASKED_MS_MAX = 2_000;

/**
 * The ledger's positions, or the beginning for a topic that was never read.
 * @param known what the ledger says, if it does
 * @throws LaneStoppedError when the ledger was lost
 */
export function startPositions(
  { lane, ledgerTopicId, topics }: Pick<LaneParts, 'lane' | 'ledgerTopicId' | 'topics'>,
  starts: Starts,
  known: PositionRecord | undefined,
): Map<string, bigint> {
  const [ledgerId, knownLedgerId] = [ledgerTopicId(), known?.topicIds[topics.ledger]];
  if (ledgerId !== null && knownLedgerId !== undefined && knownLedgerId !== ledgerId) {
    throw new LaneStoppedError(
      `${topics.ledger}, partition ${lane}: the ledger was deleted and recreated (its id was ${knownLedgerId}, now it is ${ledgerId}): the memory of keys was lost. See the runbook on a lost internal topic`,
    );
  }
  // Those of topics that are not read just now stay in the ledger, too.
  const positions = new Map(Object.entries(known?.next ?? {}));
  for (const [topic, { lowOffset, committedOffset }] of starts) {
    const position = known?.next[topic];
    if (position === undefined && committedOffset !== null && committedOffset > lowOffset) {
      throw new LaneStoppedError(
        `${topic}, partition ${lane}: the group has read up to ${committedOffset}, but the ledger has no position: its topic was lost. See the runbook on a lost internal topic`,
      );
    }
    positions.set(topic, position ?? lowOffset);
  }
  return positions;
}

/**
 * A jump of a topic that is none of the brokers' passing faults, which are waited out; null: there is none.
 * @param isWanted whether the lane is still to be acquired
 */
export async function lastingJump(
  { clock, lane }: Pick<LaneParts, 'clock' | 'lane'>,
  {
    isWanted,
    known,
    starts,
    startsNow,
  }: {
    starts: Starts;
    startsNow: () => Promise<Starts>;
    known: PositionRecord | undefined;
    isWanted: () => boolean;
  },
): Promise<ForcedJump | null> {
  let jump = jumpOf(lane, starts, known);
  let askedForMs = 0;
  while (jump !== null && jump.kind !== 'begins-after' && isWanted() && askedForMs < JUMP_PATIENCE_MS) {
    const askedMs = clock.monotonicMs();
    // At once: the former owner may have come further after the first question.
    const next = jumpOf(lane, await startsNow(), known);
    if (next !== null) await sleep(ASK_AGAIN_MS);
    // Leaders move one after the other: the patience with one is not used up by another.
    if (next?.topic !== jump.topic) askedForMs = 0;
    // A process that was frozen did not ask meanwhile.
    else askedForMs += Math.min(clock.monotonicMs() - askedMs, ASKED_MS_MAX);
    jump = next;
  }
  return jump;
}

function jumpOf(lane: number, starts: Starts, known: PositionRecord | undefined): ForcedJump | null {
  for (const [topic, start] of starts) {
    const offset = known?.next[topic];
    if (offset === undefined) continue;
    const place = { topic, lane, boundId: known?.topicIds[topic] };
    const jump = forcedJumpOf({ ...place, offsetBefore: offset, offsetAfter: offset }, start);
    if (jump !== null) return jump;
  }
  return null;
}
