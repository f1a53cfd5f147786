/**
 * Merges the samples of all members into one history. Counts are summed. For ages and percentiles the highest value is
 * taken, because percentiles cannot be summed. Pure.
 *
 * Wall-clock time is cut into slots of five seconds. Every member samples at the start of each slot, and the samples of
 * a slot are merged. If a member's clock is off by more than a slot, its samples are merely shifted in time.
 */
import { SAMPLE_INTERVAL_MS, type Sample } from '../history.ts';
import type { MemberSample } from './member-report.ts';
import { sum } from './sums.ts';

const HISTORY_MS = 15 * 60_000;
/** Until then, reports from slower members may still arrive. */
const COMPLETE_AFTER_MS = 2 * SAMPLE_INTERVAL_MS;

export interface GroupSample extends Sample {
  /** Members with a sample in this slot. Lag, unfinished and ages also count other members' previous samples. */
  readonly members: number;
}

/**
 * @param members the samples of each, oldest first
 * @param nowMs by the wall clock
 * @returns oldest first; without the newest slot while some members' samples may still arrive
 */
export function groupHistory(members: readonly (readonly MemberSample[])[], nowMs: number): GroupSample[] {
  const bySlot = members.map((samples) => Map.groupBy(samples, slotOf));
  const slots = new Set(bySlot.flatMap((known) => [...known.keys()]));
  const recent = [...slots].filter((slot) => slot * SAMPLE_INTERVAL_MS >= nowMs - HISTORY_MS);
  const merged = recent.sort((left, right) => left - right).map((slot) => sampleOf(slot, bySlot));
  const last = merged.at(-1);
  const isComplete =
    last === undefined ||
    nowMs - Date.parse(last.at) >= COMPLETE_AFTER_MS ||
    last.members >= (merged.at(-2)?.members ?? 0);
  return isComplete ? merged : merged.slice(0, -1);
}

function slotOf({ at }: MemberSample): number {
  return Math.floor(Date.parse(at) / SAMPLE_INTERVAL_MS);
}

function sampleOf(slot: number, bySlot: readonly ReadonlyMap<number, readonly MemberSample[]>[]): GroupSample {
  const inSlot = bySlot.map((known) => known.get(slot) ?? []);
  const merged = inSlot.flat();
  // A sample may come slightly early or late. Then the member's previous one counts.
  const latest = bySlot.flatMap((known, index) => inSlot[index]?.at(-1) ?? known.get(slot - 1)?.at(-1) ?? []);
  const lags = latest.map(({ lagMessages }) => lagMessages).filter((messages) => messages !== null);
  return {
    at: new Date(slot * SAMPLE_INTERVAL_MS).toISOString(),
    members: inSlot.filter((samples) => samples.length > 0).length,
    intervalSeconds: Math.max(...merged.map(({ intervalSeconds }) => intervalSeconds)),
    lagMessages: lags.length === 0 ? null : sum(lags),
    lagInputs: sum(latest.map(({ lagInputs }) => lagInputs)),
    unfinished: sum(latest.map(({ unfinished }) => unfinished)),
    oldestUnansweredSeconds: Math.max(...latest.map(({ oldestUnansweredSeconds }) => oldestUnansweredSeconds)),
    resultsAccepted: sum(merged.map(({ resultsAccepted }) => resultsAccepted)),
    resultsOther: sum(merged.map(({ resultsOther }) => resultsOther)),
    calls: sum(merged.map(({ calls }) => calls)),
    callFaults: sum(merged.map(({ callFaults }) => callFaults)),
    command95Seconds: highest(merged.map(({ command95Seconds }) => command95Seconds)),
  };
}

function highest(numbers: readonly (number | null)[]): number | null {
  const known = numbers.filter((each) => each !== null);
  return known.length === 0 ? null : Math.max(...known);
}
