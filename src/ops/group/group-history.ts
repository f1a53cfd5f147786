/**
 * The samples of all members as one history: sums of counts, the oldest ages, the highest percentiles, because percentiles
 * cannot be summed. Pure.
 *
 * Time is cut into slots of five seconds of the wall clock. Members sample once a slot, at its beginning, and samples of one slot are
 * merged. A member whose clock is more than a slot off only has its line shifted.
 */
import { SAMPLE_INTERVAL_MS, type Sample } from '../history.ts';
import type { MemberSample } from './member-report.ts';
import { sum } from './sums.ts';

const HISTORY_MS = 15 * 60_000;
/** Until then, answers of slower members may still be under way. */
const COMPLETE_AFTER_MS = 2 * SAMPLE_INTERVAL_MS;

export interface GroupSample extends Sample {
  /** The number of members it was merged from. */
  readonly members: number;
}

/** @param members the samples of each, oldest first; @param nowMs by the wall clock @returns oldest first */
export function groupHistory(members: readonly (readonly MemberSample[])[], nowMs: number): GroupSample[] {
  const bySlot = members.map((samples) => Map.groupBy(samples, slotOf));
  const slots = new Set(bySlot.flatMap((known) => [...known.keys()]));
  const recent = [...slots].filter((slot) => slot * SAMPLE_INTERVAL_MS >= nowMs - HISTORY_MS);
  const made = recent.sort((left, right) => left - right).map((slot) => sampleOf(slot, bySlot));
  const last = made.at(-1);
  const isComplete =
    last === undefined ||
    nowMs - Date.parse(last.at) >= COMPLETE_AFTER_MS ||
    last.members >= (made.at(-2)?.members ?? 0);
  return isComplete ? made : made.slice(0, -1);
}

function slotOf({ at }: MemberSample): number {
  return Math.floor(Date.parse(at) / SAMPLE_INTERVAL_MS);
}

function sampleOf(slot: number, bySlot: readonly ReadonlyMap<number, readonly MemberSample[]>[]): GroupSample {
  const here = bySlot.map((known) => known.get(slot) ?? []);
  const made = here.flat();
  // If a sample came slightly late or early, use the member's previous one.
  const standing = bySlot.flatMap((known, index) => here[index]?.at(-1) ?? known.get(slot - 1)?.at(-1) ?? []);
  const lags = standing.map(({ lagMessages }) => lagMessages).filter((messages) => messages !== null);
  return {
    at: new Date(slot * SAMPLE_INTERVAL_MS).toISOString(),
    members: here.filter((samples) => samples.length > 0).length,
    intervalSeconds: Math.max(...made.map(({ intervalSeconds }) => intervalSeconds)),
    lagMessages: lags.length === 0 ? null : sum(lags),
    lagInputs: sum(standing.map(({ lagInputs }) => lagInputs)),
    unfinished: sum(standing.map(({ unfinished }) => unfinished)),
    oldestUnansweredSeconds: Math.max(...standing.map(({ oldestUnansweredSeconds }) => oldestUnansweredSeconds)),
    resultsAccepted: sum(made.map(({ resultsAccepted }) => resultsAccepted)),
    resultsOther: sum(made.map(({ resultsOther }) => resultsOther)),
    calls: sum(made.map(({ calls }) => calls)),
    callFaults: sum(made.map(({ callFaults }) => callFaults)),
    command95Seconds: highest(made.map(({ command95Seconds }) => command95Seconds)),
  };
}

function highest(numbers: readonly (number | null)[]): number | null {
  const known = numbers.filter((each) => each !== null);
  return known.length === 0 ? null : Math.max(...known);
}
