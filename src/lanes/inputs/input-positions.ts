/**
 * Where the inputs of a lane continue when a process acquires it.
 *
 * If an input no longer continues at its position (forced-jumps.ts), messages were lost. If the group has offsets but
 * the ledger has no position, the ledger was lost. Either way the lane stops and says so, instead of leaving a gap.
 */
import { sleep } from '../../consumers/signal.ts';
import type { TopicStart } from '../../consumers/topic-offsets.ts';
import type { PositionRecord } from '../../ledger/ledger-records.ts';
import { forcedJumpOf, JUMP_GRACE_MS, type ForcedJump } from './forced-jumps.ts';
import { LaneStoppedError } from '../lane-status.ts';
import type { LaneParts } from '../parts.ts';

/** By topic. */
type Starts = ReadonlyMap<string, TopicStart>;

/** Pause before we ask the brokers again: their answer may be a passing fault. */
const ASK_AGAIN_MS = 500;
/** The most that one round (question and pause) adds towards JUMP_GRACE_MS. */
const ASKED_MS_MAX = 2_000;

/**
 * The ledger's positions, or the beginning for a topic that was never read.
 * @param recorded the lane's position record, if it has one
 * @throws LaneStoppedError when the ledger was lost
 */
export function startPositions(
  { lane, ledgerTopicId, topics }: Pick<LaneParts, 'lane' | 'ledgerTopicId' | 'topics'>,
  starts: Starts,
  recorded: PositionRecord | undefined,
): Map<string, bigint> {
  const [ledgerId, knownLedgerId] = [ledgerTopicId(), recorded?.topicIds[topics.ledger]];
  if (ledgerId !== null && knownLedgerId !== undefined && knownLedgerId !== ledgerId) {
    throw new LaneStoppedError(
      `${topics.ledger}, partition ${lane}: the ledger was deleted and recreated (its id was ${knownLedgerId}, now it is ${ledgerId}). The record of the keys already handled is lost. See the runbook lost-internal-topic`,
    );
  }
  // Positions of topics that we do not read now stay in the ledger too.
  const positions = new Map(Object.entries(recorded?.next ?? {}));
  for (const [topic, { lowOffset, committedOffset }] of starts) {
    const position = recorded?.next[topic];
    if (position === undefined && committedOffset !== null && committedOffset > 0n) {
      throw new LaneStoppedError(
        `${topic}, partition ${lane}: the group has read up to offset ${committedOffset}, but the ledger has no position, so the ledger topic was lost. See the runbook lost-internal-topic`,
      );
    }
    positions.set(topic, position ?? lowOffset);
  }
  return positions;
}

/**
 * Waits out passing faults of the brokers.
 * @param isWanted whether we still want the lane
 * @returns a jump that lasts, or that the lane no longer waits out because we do not want it; null: there is none
 */
export async function lastingJump(
  parts: Pick<LaneParts, 'clock' | 'lane' | 'offsets'>,
  {
    isWanted,
    recorded,
    starts,
    startsNow,
  }: {
    starts: Starts;
    startsNow: () => Promise<Starts>;
    recorded: PositionRecord | undefined;
    isWanted: () => boolean;
  },
): Promise<ForcedJump | null> {
  const { clock } = parts;
  let jump = await jumpOf(parts, starts, recorded);
  let askedForMs = 0;
  while (jump !== null && jump.kind !== 'begins-after' && isWanted() && askedForMs < JUMP_GRACE_MS) {
    const askedMs = clock.monotonicMs();
    // No pause before this: the previous owner may have read on after `starts`, so there may be no jump at all.
    const next = await jumpOf(parts, await startsNow(), recorded);
    if (next !== null) await sleep(ASK_AGAIN_MS);
    // Leaders move one after another, so each topic gets the full JUMP_GRACE_MS.
    if (next?.topic !== jump.topic) askedForMs = 0;
    // A frozen process asks nothing, so that time does not count.
    else askedForMs += Math.min(clock.monotonicMs() - askedMs, ASKED_MS_MAX);
    jump = next;
  }
  return jump;
}

async function jumpOf(
  { lane, offsets }: Pick<LaneParts, 'lane' | 'offsets'>,
  starts: Starts,
  recorded: PositionRecord | undefined,
): Promise<ForcedJump | null> {
  const jumps = [...starts].map(async ([topic, start]) => {
    const offset = recorded?.next[topic];
    if (offset === undefined) return null;
    // Only the first leader epoch. Later ones are compared while the lane is open.
    const span = recorded?.epochs[topic]?.[0];
    const place = { topic, lane, boundId: recorded?.topicIds[topic], span, offsetBefore: offset, offsetAfter: offset };
    const epochEnd = span === undefined ? null : await offsets.epochEnd(topic, lane, span.epoch);
    return forcedJumpOf(place, { ...start, epochEnd });
  });
  return (await Promise.all(jumps)).find((jump) => jump !== null) ?? null;
}
