/**
 * Detects forced jumps: a lane cannot read on, because the topic was recreated, was truncated below the lane's position, or begins above
 * it. If the lane continued, it would silently drop commands, because it skips messages below its position as redeliveries. Pure.
 */
import type { BoundsWithEpoch } from '../../consumers/topic-offsets.ts';
import type { EpochSpan } from '../../ledger/ledger-records.ts';

/** Where a lane stands in one input. */
export interface InputPlace {
  readonly topic: string;
  readonly lane: number;
  /** The id that the lane's position is bound to; undefined: none yet. */
  readonly boundId: string | undefined;
  /** Next offset to be read: before the broker was asked, and after it answered. */
  readonly offsetBefore: bigint;
  readonly offsetAfter: bigint;
  /** What the lane has read of the leader epoch that we asked the broker about. */
  readonly span: EpochSpan | undefined;
}

export interface ForcedJump {
  readonly topic: string;
  readonly kind: 'recreated' | 'truncated' | 'begins-after';
  /** What happened, and where. */
  readonly found: string;
  /** The same, what a lane may lose by it, and what to do. */
  readonly reason: string;
}

/**
 * For seconds after a broker is killed, its partitions seem to end too early, and a lagging broker may report an outdated topic.
 * A jump that lasts longer is real.
 */
export const JUMP_GRACE_MS = 15_000;

const RUNBOOK = 'See the runbook PaymentsLaneStopped';

export function forcedJumpOf(place: InputPlace, seen: BoundsWithEpoch): ForcedJump | null {
  const { boundId, lane, offsetAfter, offsetBefore, span, topic } = place;
  const where = `${topic}, partition ${lane}`;
  const jump = (kind: ForcedJump['kind'], what: string, loss: string): ForcedJump => {
    const found = `${where}: ${what}`;
    return { topic, kind, found, reason: `${found}${loss}. ${RUNBOOK}` };
  };
  if (boundId !== undefined && seen.topicId !== null && seen.topicId !== boundId) {
    return jump(
      'recreated',
      `the topic was deleted and recreated (its id was ${boundId}, now it is ${seen.topicId})`,
      `. Messages of the previous topic that were not admitted, from offset ${offsetBefore} on, are lost`,
    );
  }
  const difference =
    seen.highOffset < offsetBefore
      ? `the topic ends at offset ${seen.highOffset}`
      : epochDifference(span, seen.epochEnd);
  if (difference !== null) {
    return jump(
      'truncated',
      `the lane has read up to offset ${offsetBefore}, but ${difference}: it was truncated, or restored from an older copy`,
      `. If the lane continued, it would mistake new messages below offset ${offsetBefore} for redeliveries and skip them`,
    );
  }
  if (seen.lowOffset > offsetAfter) {
    return jump(
      'begins-after',
      `records at offsets ${offsetAfter} to ${seen.lowOffset - 1n} were deleted by retention`,
      ' before they were admitted',
    );
  }
  return null;
}

/** Even if a topic has grown past the position again, its leader epochs show that it lost records. */
function epochDifference(span: EpochSpan | undefined, epochEnd: bigint | null): string | null {
  if (span === undefined || epochEnd === null || epochEnd >= span.end) return null;
  // -1: every epoch that the topic has is earlier.
  if (epochEnd < 0n) return `the topic has no records of leader epoch ${span.epoch}`;
  return `the topic has records of leader epoch ${span.epoch} only up to offset ${epochEnd}, and then records of another epoch`;
}
