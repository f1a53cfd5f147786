/** The findings: each with its reason, the next step, a command to copy and its runbook. Pure. */
import { causesInWords, lastMinute, trend, waitingByCause } from './lag.js';
import { memberFindings } from './member-findings.js';
import { finding, stepOfReason, STEPS } from './next-steps.js';
import { atMembers } from './service.js';
import { count, counted, duration, inWords, LETTERS_MAX, ranges, UNFINISHED } from './words.js';

/** @typedef {import('../group/group-state.ts').GroupState} GroupState */
/** @typedef {GroupState['lanes'][number]} Lane */

/** A command that waits longer is worth a look. */
const BEHIND_SECONDS = 60;
/**
 * Age of a command since its publication. Settling a doubt takes one timeout plus the settling time, unless it is
 * blocked.
 */
const DOUBT_SECONDS = 5 * 60;
/** Publishers end their transactions within seconds. */
const HELD_BACK_SECONDS = 30;
/** A commit that takes longer is given up. */
const STANDSTILL_SECONDS = 30;
/** About what a large group writes in a second. */
const LEDGER_BEHIND_RECORDS = 10_000;
/** How the reason of a member that leaves its lanes to others begins. No command waits for such a member. */
const ASIDE = 'stands aside';
const FAULTS_PERCENT = 10;
/** Fewer calls than this say nothing. */
const FAULTS_CALLS_MIN = 10;

/**
 * First operators' holds and missing members, then what blocks members, UNKNOWN results, and the rest.
 * @param {GroupState} state
 */
export function findingsOf(state) {
  return [
    ...holds(state),
    ...memberFindings(state),
    ...staleEnds(state),
    ...state.reasons.map(({ isBlocking, processes, reason }) =>
      reason.startsWith(ASIDE)
        ? { ...stepOfReason(reason), text: `Member ${processes.join(', ')} ${reason}`, isBad: false }
        : { ...stepOfReason(reason), text: `${sentence(reason)}${atMembers(state, processes)}`, isBad: isBlocking },
    ),
    ...unknown(state),
    ...behind(state),
    ...callFaults(state),
    ...deadLetters(state),
    ...ownFailures(state),
    ...oldDoubt(state),
    ...heldBack(state),
    ...standstill(state),
    ...ledgerBehind(state),
  ].map((found) => ({ ...found, command: found.command?.replace(/^cli /, `${state.deployment.cli} `) ?? null }));
}

/** @param {GroupState} state */
function behind(state) {
  const late = Object.entries(state.oldestUnansweredSeconds).flatMap(([command, seconds]) =>
    seconds !== null && seconds >= BEHIND_SECONDS ? [{ command, seconds }] : [],
  );
  if (late.length === 0) return [];
  const waits = late.map(({ command, seconds }) => `${command} ${duration(seconds)}`).join(', ');
  const shares = waitingByCause(state, null);
  const waiting = shares.reduce((sum, { messages }) => sum + messages, 0);
  const why =
    waiting === 0
      ? `All are admitted: ${statesInWords(state)}.`
      : `${counted(waiting, 'command waits', 'commands wait')} in Kafka (${causesInWords(shares)}). ${trend(state)}`;
  const oldest = late.length === 1 ? 'Oldest command' : 'Oldest commands';
  return [finding(`Behind. ${oldest} without a result: ${waits}`, STEPS.behind, why)];
}

/** @param {GroupState} state */
function statesInWords({ unfinished }) {
  return unfinished
    .map((group) => `${count(group.count)} ${group.operation} ${inWords(UNFINISHED, group.state)}`)
    .join('; ');
}

/** @param {GroupState} state */
function callFaults(state) {
  const recent = lastMinute(state);
  const calls = recent.reduce((sum, sample) => sum + sample.calls, 0);
  const faults = recent.reduce((sum, sample) => sum + sample.callFaults, 0);
  if (calls < FAULTS_CALLS_MIN || faults * 100 < calls * FAULTS_PERCENT) return [];
  const percent = Math.round((faults * 100) / calls);
  const text = `${percent} % of the calls of the last minute got no usable answer`;
  return [finding(text, STEPS.callFaults)];
}

/** @param {GroupState} state */
function unknown({ unknownResults }) {
  if (unknownResults.waiting === 0) return [];
  const oldest = unknownResults.oldestSeconds ?? 0;
  const outcomes = counted(unknownResults.waiting, 'payment outcome is unknown', 'payment outcomes are unknown');
  return [finding(`${outcomes}, the oldest for ${duration(oldest)}. An operator must decide.`, STEPS.unknown)];
}

/**
 * One finding per order, which may hold several command types; one more for types that a release ended only in some
 * lanes.
 * @param {GroupState} state
 */
function holds({ holds: inForce, lanesConfigured }) {
  const orders = Map.groupBy(inForce, ({ at, lanes, operator }) => `${at} ${lanes.join()} ${operator}`);
  return [...orders.values()].flatMap((same) =>
    same.slice(0, 1).map(({ lanes, operator, seconds, until }) => {
      const commands = same.map(({ command }) => command).join(', ');
      const where =
        lanes.length === lanesConfigured ? '' : ` in ${count(lanes.length)} of ${count(lanesConfigured)} lanes`;
      const ends = until === null ? '' : `, until ${until}`;
      return finding(`${operator} has held ${commands}${where} for ${duration(seconds)}${ends}`, STEPS.held);
    }),
  );
}

/** @param {GroupState} state */
function deadLetters({ at, openLetters }) {
  if (openLetters.length === 0) return [];
  const reasons = openLetters.map(({ count: number, reason }) => `${reason} ${count(number)}`).join(', ');
  const number = openLetters.reduce((sum, letters) => sum + letters.count, 0);
  const last = Math.max(...openLetters.map(({ lastAt }) => Date.parse(lastAt)));
  const age = duration(Math.max(0, Math.round((Date.parse(at) - last) / 1000)));
  const open =
    number >= LETTERS_MAX
      ? `${count(number)} or more dead letters are open`
      : counted(number, 'dead letter is open', 'dead letters are open');
  const text = `${open} (${reasons}), the newest ${age} old`;
  return [finding(text, STEPS.deadLetters)];
}

/** @param {GroupState} state */
function ownFailures({ activity }) {
  if (activity.ownFailures === 0) return [];
  return [
    finding(
      `Our own code failed ${counted(activity.ownFailures, 'time')} since the members started`,
      STEPS.ownFailures,
    ),
  ];
}

/** @param {GroupState} state */
function oldDoubt({ unfinished }) {
  const old = unfinished.filter((group) => group.state === 'DOUBTFUL' && group.oldestSeconds >= DOUBT_SECONDS);
  return old.map((group) => {
    const text = `${counted(group.count, `${group.operation} command is`, `${group.operation} commands are`)} in doubt`;
    return finding(`${text}, the oldest command ${duration(group.oldestSeconds)} old`, STEPS.oldDoubt);
  });
}

/** @param {GroupState} state */
function staleEnds({ staleLagSeconds: age }) {
  return age === null ? [] : [finding(`Kafka has not answered for ${duration(age)}`, STEPS.staleEnds)];
}

/** @param {GroupState} state */
function heldBack({ lanes }) {
  const inputs = lanes
    .flatMap(({ inputs }) => inputs)
    .filter((input) => (input.heldBackSeconds ?? 0) >= HELD_BACK_SECONDS);
  const ledger = lanes.filter(({ ledgerHeldBackSeconds }) => ledgerHeldBackSeconds !== null);
  return [...heldBackInputs(inputs), ...heldBackLedger(ledger)];
}

/** @param {Lane['inputs']} inputs */
function heldBackInputs(inputs) {
  if (inputs.length === 0) return [];
  const messages = inputs.reduce((sum, input) => sum + input.heldBackMessages, 0);
  const oldest = Math.max(...inputs.map((input) => input.heldBackSeconds ?? 0));
  const commands = [...new Set(inputs.map(({ name }) => name))].join(', ');
  const text = `An open transaction has blocked ${counted(messages, 'message')} of ${commands} for ${duration(oldest)}`;
  return [finding(text, STEPS.heldBack)];
}

/** @param {Lane[]} lanes */
function heldBackLedger(lanes) {
  if (lanes.length === 0) return [];
  const oldest = Math.max(...lanes.map((lane) => lane.ledgerHeldBackSeconds ?? 0));
  const text = `An open transaction has blocked the ledger of ${lanesInWords(lanes)} for ${duration(oldest)}`;
  return [finding(text, STEPS.ledgerHeldBack)];
}

/** @param {GroupState} state */
function standstill({ lanes }) {
  const still = lanes.filter((lane) => (lane.uncommittedSeconds ?? 0) >= STANDSTILL_SECONDS);
  if (still.length === 0) return [];
  const oldest = Math.max(...still.map((lane) => lane.uncommittedSeconds ?? 0));
  const have = still.length === 1 ? 'has' : 'have';
  const text = `${sentence(lanesInWords(still))} ${have} committed nothing for ${duration(oldest)}`;
  return [finding(text, STEPS.standstill)];
}

/** @param {readonly Lane[]} lanes */
function lanesInWords(lanes) {
  return `${lanes.length === 1 ? 'lane' : 'lanes'} ${ranges(lanes.map(({ lane }) => lane))}`;
}

/**
 * Also long after a start: a lane that is taken over opens only once its ledger is read.
 * @param {GroupState} state
 */
function ledgerBehind({ members }) {
  return members.flatMap(({ figures, isCounted, process }) => {
    const behind = figures?.ledgerBehindRecords ?? 0;
    if (!isCounted || behind < LEDGER_BEHIND_RECORDS) return [];
    const what = counted(behind, 'record of the ledger is', 'records of the ledger are');
    const restore = figures?.restoreSeconds ?? null;
    const since = restore === null ? '' : `The restore began ${duration(restore)} ago.`;
    return [finding(`${what} not in the local store of ${process} yet`, STEPS.ledgerBehind, since)];
  });
}

/** @param {string} text */
function sentence(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
