/** How much waits in Kafka, why, and whether it grows. Pure. */
import { CAUSES, count, duration, FAULTS, inWords } from './words.js';

/** @typedef {import('../group/group-state.ts').GroupState} GroupState */
/** @typedef {import('../group/group-history.ts').GroupSample} Sample */
/** @typedef {{ cause: string, messages: number }} CauseShare */

/** Counted by Kafka's offsets alone, so the reason is not known. */
const UNREPORTED = 'unreported';
const TREND_MS = 60_000;
/** A shorter period shows no trend. */
const TREND_MS_MIN = 15_000;
/** Short enough to show the current trend, not that of a minute ago. */
const RECENT_MS = 20_000;

/**
 * Commands waiting in Kafka by cause, largest first.
 * @param {GroupState} state
 * @param {string | null} command null: all
 * @returns {CauseShare[]}
 */
export function waitingByCause(state, command) {
  /** @type {Map<string, number>} */
  const causes = new Map();
  for (const input of state.lanes.flatMap((lane) => lane.inputs)) {
    if (input.command === null || (command !== null && input.command !== command)) continue;
    if (input.cause === null || input.lagMessages === null) continue;
    causes.set(input.cause, (causes.get(input.cause) ?? 0) + input.lagMessages);
  }
  for (const waiting of state.unreportedLanes.flatMap((lane) => lane.waiting ?? [])) {
    if (command !== null && waiting.command !== command) continue;
    causes.set(UNREPORTED, (causes.get(UNREPORTED) ?? 0) + waiting.messages);
  }
  return [...causes]
    .map(([cause, messages]) => ({ cause, messages }))
    .sort((left, right) => right.messages - left.messages);
}

/**
 * Whether we know how much waits in every input of every lane.
 * @param {GroupState} state
 * @param {string | null} command null: all
 */
export function isLagKnown(state, command) {
  const inputs = state.lanes.flatMap((lane) => lane.inputs).filter((input) => input.command !== null);
  const asked = inputs.filter((input) => command === null || input.command === command);
  const isWhole = state.unreportedLanes.every(({ waiting }) => waiting !== null) && asked.length > 0;
  return isWhole && asked.every((input) => input.lagMessages !== null);
}

/**
 * Whether any member has restored its copy of the ledger. Only then are UNKNOWN results known: they come from the copy
 * that is least behind.
 * @param {GroupState} state
 */
export function isLedgerRead({ members }) {
  return members.some(
    ({ figures, isCounted }) => isCounted && figures?.ledgerBehindRecords != null && figures.restoreSeconds === null,
  );
}

/**
 * How many lanes' admitted commands nobody counts: no member reports the lane, or its owner has not opened it.
 * @param {GroupState} state
 */
export function uncountedLanes({ lanes, unreportedLanes }) {
  return unreportedLanes.length + lanes.filter(({ stage }) => stage !== 'open').length;
}

/** @param {readonly CauseShare[]} shares */
export function causesInWords(shares) {
  return shares.map(({ cause, messages }) => `${count(messages)}: ${causeInWords(cause)}`).join('; ');
}

/** @param {string} cause */
export function causeInWords(cause) {
  return inWords({ ...CAUSES, [UNREPORTED]: 'no member reports the lane' }, cause);
}

/**
 * @param {GroupState} state
 * @returns {number | null} seconds
 */
export function oldestUnanswered(state) {
  const ages = Object.values(state.oldestUnansweredSeconds).filter((age) => age !== null);
  return ages.length === 0 ? null : Math.max(...ages);
}

/**
 * The trend of the lag in a sentence; empty if it is unknown.
 * @param {GroupState} state
 */
export function trend({ samples }) {
  const last = samples.at(-1);
  const earlier = last === undefined ? undefined : sampleBefore(samples, last, TREND_MS);
  if (last?.lagMessages == null || earlier?.lagMessages == null) return '';
  const spanMs = msBetween(earlier, last);
  if (spanMs < TREND_MS_MIN) return '';
  const recentSample = sampleBefore(samples, last, RECENT_MS);
  const change = last.lagMessages - earlier.lagMessages;
  const recentChange = last.lagMessages - (recentSample?.lagMessages ?? last.lagMessages);
  if (Math.sign(change) * Math.sign(recentChange) < 0) {
    const direction = recentChange < 0 ? 'Falling now' : 'Growing now';
    const before = `${count(earlier.lagMessages)} (${duration(spanMs / 1000)} ago)`;
    const recent = `${count(recentSample?.lagMessages ?? 0)} (${duration(RECENT_MS / 1000)} ago)`;
    return `${direction}: ${before}, ${recent}, ${count(last.lagMessages)} now.`;
  }
  const perMinute = Math.round((change / spanMs) * 60_000);
  if (perMinute > 0) return `Growing by ${count(perMinute)} a minute.`;
  if (perMinute === 0) return 'Neither growing nor falling.';
  return `Falling by ${count(-perMinute)} a minute: 0 in about ${duration((last.lagMessages / -perMinute) * 60)}.`;
}

/**
 * The oldest sample within the last `ms` since which the same number of inputs is counted. A lane that is handed over
 * takes its lag along, which is neither growth nor fall.
 * @param {readonly Sample[]} samples
 * @param {Sample} last
 * @param {number} ms
 */
function sampleBefore(samples, last, ms) {
  const recent = samples.filter((sample) => msBetween(sample, last) <= ms);
  const changed = recent.findLastIndex((sample) => sample.lagInputs !== last.lagInputs);
  return recent[changed + 1];
}

/**
 * @param {Sample} earlier
 * @param {Sample} later
 */
function msBetween(earlier, later) {
  return Date.parse(later.at) - Date.parse(earlier.at);
}

/**
 * How many results, of any outcome, came within the last `ms`; null: no sample is that old.
 * @param {GroupState} state
 * @param {number} ms
 */
export function resultsWithin({ at, samples }, ms) {
  const fromMs = Date.parse(at) - ms;
  if (!samples.some((sample) => Date.parse(sample.at) <= fromMs)) return null;
  return samples
    .filter((sample) => Date.parse(sample.at) > fromMs)
    .reduce((sum, sample) => sum + sample.resultsAccepted + sample.resultsOther, 0);
}

/**
 * The last fault of a breaker that is not closed, in a sentence; empty if there is none.
 * @param {GroupState} state
 */
export function lastFault({ deployment, operations }) {
  const faulty = operations.find(({ breaker, lastFault }) => breaker !== 'closed' && lastFault !== null);
  return faulty === undefined
    ? ''
    : `Last fault: ${FAULTS[faulty.lastFault ?? ''] ?? `${faulty.lastFault} from`} ${deployment.service}.`;
}

/** @param {GroupState} state */
export function lastMinute({ at, samples }) {
  return samples.filter((sample) => Date.parse(at) - Date.parse(sample.at) < 60_000);
}
