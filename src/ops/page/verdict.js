/** What is the matter, in one line, with reasons and what to do. Pure. */
import { adviceOn, CAUSES, count, counted, duration, UNFINISHED } from './words.js';

/** @typedef {import('../processor-state.ts').ProcessorState} ProcessorState */
/** @typedef {import('../history.ts').Sample} Sample */
/** @typedef {{ text: string, advice: string | null, isBad: boolean }} Finding */
/** @typedef {{ level: 'good' | 'warning' | 'bad', headline: string, summary: string, findings: Finding[] }} Verdict */
/** @typedef {{ cause: string, messages: number }} CauseShare */

/** A command that waits longer is worth a look. */
const BEHIND_SECONDS = 60;
/** Settling takes a time-out and the settling time; doubt that is older does not get settled as it should. */
const DOUBT_SECONDS = 5 * 60;
/** Ends of partitions are asked for every few seconds. */
const ENDS_AGE_SECONDS = 20;
/** How long not being ready is part of a start. */
const START_SECONDS = 60;
/** Publishers end their transactions within seconds. */
const HELD_BACK_SECONDS = 30;
/** A commit that takes longer is given up. */
const STANDSTILL_SECONDS = 30;
/** A second's work of many processes. */
const LEDGER_BEHIND_RECORDS = 10_000;
const FAULTS_PERCENT = 10;
const TREND_MS = 60_000;
/** Less time than this says nothing of where it goes. */
const TREND_MINUTES_MIN = 0.25;
/** Fewer calls than this say nothing. */
const FAULTS_CALLS_MIN = 10;

/**
 * @param {ProcessorState} state
 * @param {readonly Sample[]} samples
 * @returns {Verdict}
 */
export function verdictOn(state, samples) {
  const findings = [
    ...state.reasons.map((reason) => finding(sentence(reason), adviceOn(reason), !state.ready)),
    ...behind(state, samples),
    ...callFaults(samples, state),
    ...peopleWanted(state),
    ...oldDoubt(state),
    ...heldBack(state),
    ...standstill(state),
    ...ledgerBehind(state),
    ...staleEnds(state),
  ];
  if (!state.ready && isStarting(state)) {
    const summary = 'It has just been started and opens its lanes as the group hands them out.';
    return { level: 'warning', headline: 'Starting', summary, findings: findings.map(asMild) };
  }
  if (!state.ready) {
    const summary = 'Some of its work, or all, stands still: commands wait in Kafka or in the ledger until it goes on.';
    return { level: 'bad', headline: 'Not healthy', summary, findings };
  }
  if (findings.length > 0) {
    return { level: 'warning', headline: 'Working, but look at this', summary: '', findings };
  }
  return { level: 'good', headline: 'Healthy', summary: healthySummary(state), findings };
}

/**
 * Commands waiting in Kafka by cause, largest first.
 * @param {ProcessorState} state
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
  return [...causes]
    .map(([cause, messages]) => ({ cause, messages }))
    .sort((left, right) => right.messages - left.messages);
}

/**
 * Whether Kafka has said of every input how much waits.
 * @param {ProcessorState} state
 * @param {string | null} command null: all
 */
export function isLagKnown(state, command) {
  const inputs = state.lanes.flatMap((lane) => lane.inputs).filter((input) => input.command !== null);
  const asked = inputs.filter((input) => command === null || input.command === command);
  return asked.length > 0 && asked.every((input) => input.lagMessages !== null);
}

/** @param {readonly CauseShare[]} shares */
export function causesInWords(shares) {
  return shares.map(({ cause, messages }) => `${count(messages)}: ${causeInWords(cause)}`).join('; ');
}

/** @param {string} cause */
export function causeInWords(cause) {
  return Object.entries(CAUSES).find(([known]) => known === cause)?.[1] ?? cause;
}

/**
 * @param {ProcessorState} state
 * @returns {number | null} seconds
 */
export function oldestUnanswered(state) {
  const ages = Object.values(state.oldestUnansweredSeconds).filter((age) => age !== null);
  return ages.length === 0 ? null : Math.max(...ages);
}

/**
 * @param {ProcessorState} state
 * @param {readonly Sample[]} samples
 * @returns {Finding[]}
 */
function behind(state, samples) {
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
      : `${counted(waiting, 'command')} in Kafka. ${causesInWords(shares)}. ${trend(waiting, samples)}`;
  return [finding(`Behind: the oldest command without a result has waited: ${waits}`, why, false)];
}

/** @param {ProcessorState} state */
function statesInWords({ unfinished }) {
  return unfinished.map((group) => `${count(group.count)} ${group.operation} ${UNFINISHED[group.state]}`).join('; ');
}

/**
 * @param {number} waiting
 * @param {readonly Sample[]} samples
 */
function trend(waiting, samples) {
  const last = samples.at(-1);
  if (last === undefined) return '';
  const lastMs = Date.parse(last.at);
  const earlier = samples.find((sample) => lastMs - Date.parse(sample.at) <= TREND_MS);
  const minutes = earlier === undefined ? 0 : (lastMs - Date.parse(earlier.at)) / 60_000;
  if (earlier === undefined || minutes < TREND_MINUTES_MIN) return '';
  if (last.lagMessages === null || earlier.lagMessages === null) return '';
  const perMinute = Math.round((last.lagMessages - earlier.lagMessages) / minutes);
  if (perMinute > 0) return `Growing by ${count(perMinute)} a minute.`;
  if (perMinute === 0) return 'Neither growing nor falling.';
  return `Falling by ${count(-perMinute)} a minute: none left in about ${duration((waiting / -perMinute) * 60)}.`;
}

/**
 * @param {readonly Sample[]} samples
 * @param {ProcessorState} state
 * @returns {Finding[]}
 */
function callFaults(samples, state) {
  const recent = lastMinute(samples, state);
  const calls = recent.reduce((sum, sample) => sum + sample.calls, 0);
  const faults = recent.reduce((sum, sample) => sum + sample.callFaults, 0);
  if (calls < FAULTS_CALLS_MIN || faults * 100 < calls * FAULTS_PERCENT) return [];
  const percent = Math.round((faults * 100) / calls);
  const text = `${percent} % of the calls of the last minute got no usable answer`;
  return [finding(text, 'They are tried again or settled as their operation allows: see the payment service.', false)];
}

/**
 * @param {readonly Sample[]} samples
 * @param {ProcessorState} state
 */
export function lastMinute(samples, state) {
  return samples.filter((sample) => Date.parse(state.at) - Date.parse(sample.at) < 60_000);
}

/**
 * @param {ProcessorState} state
 * @returns {Finding[]}
 */
function peopleWanted({ activity, unknownResults }) {
  const { ownFailures } = activity;
  const findings = [];
  if (unknownResults.waiting > 0) {
    const oldest = unknownResults.oldestSeconds ?? 0;
    const results = counted(unknownResults.waiting, 'result is UNKNOWN and wants', 'results are UNKNOWN and want');
    const advice = 'Find out at the payment service whether money moved, then tell with the command line: resolve KEY.';
    findings.push(finding(`${results} an operator, for ${duration(oldest)} by now`, advice, false));
  }
  if (ownFailures > 0) {
    const text = `Our own code failed ${counted(ownFailures, 'time')} since the start`;
    findings.push(finding(text, 'The log has own-failure: a bug. What fails three times is set aside.', false));
  }
  return findings;
}

/**
 * @param {ProcessorState} state
 * @returns {Finding[]}
 */
function oldDoubt({ unfinished }) {
  const old = unfinished.filter((group) => group.state === 'DOUBTFUL' && group.oldestSeconds >= DOUBT_SECONDS);
  return old.map((group) => {
    const text = `${counted(group.count, `${group.operation} is`, `${group.operation} are`)} in doubt`;
    const advice = 'It is settled by the same call again or by a look-up, as soon as the payment service answers.';
    return finding(`${text}, the oldest command ${duration(group.oldestSeconds)} old`, advice, false);
  });
}

/**
 * @param {ProcessorState} state
 * @returns {Finding[]}
 */
function staleEnds({ lagEndsAgeSeconds, lanes }) {
  if (lanes.length === 0 || lagEndsAgeSeconds < ENDS_AGE_SECONDS) return [];
  const text = `Kafka has not said for ${duration(lagEndsAgeSeconds)} where its partitions end`;
  return [finding(text, 'What waits in Kafka is as old as that. Look at the brokers and the network.', false)];
}

/**
 * @param {ProcessorState} state
 * @returns {Finding[]}
 */
function heldBack({ lanes }) {
  const inputs = lanes
    .flatMap(({ inputs }) => inputs)
    .filter((input) => (input.heldBackSeconds ?? 0) >= HELD_BACK_SECONDS);
  if (inputs.length === 0) return [];
  const messages = inputs.reduce((sum, input) => sum + input.heldBackMessages, 0);
  const oldest = Math.max(...inputs.map((input) => input.heldBackSeconds ?? 0));
  const commands = [...new Set(inputs.map(({ name }) => name))].join(', ');
  const text = `${counted(messages, 'message', 'messages')} of ${commands} cannot be read, for ${duration(oldest)} by now`;
  const advice =
    'A publisher has left a transaction open, and Kafka gives readers nothing behind it: find the publisher.';
  return [finding(text, advice, false)];
}

/**
 * @param {ProcessorState} state
 * @returns {Finding[]}
 */
function standstill({ lanes }) {
  const still = lanes.filter((lane) => (lane.uncommittedSeconds ?? 0) >= STANDSTILL_SECONDS);
  if (still.length === 0) return [];
  const oldest = Math.max(...still.map((lane) => lane.uncommittedSeconds ?? 0));
  const numbers = still.map(({ lane }) => lane).join(', ');
  const text = `${counted(still.length, 'lane has', 'lanes have')} committed nothing for ${duration(oldest)}: ${numbers}`;
  return [finding(text, 'There is something to commit. Look at the log, the brokers and the network.', false)];
}

/**
 * While lanes are being opened it is part of that.
 * @param {ProcessorState} state
 * @returns {Finding[]}
 */
function ledgerBehind({ ledger }) {
  const { behindRecords, restore } = ledger;
  if (behindRecords === null || behindRecords < LEDGER_BEHIND_RECORDS) return [];
  const what = counted(behindRecords, 'record of the ledger is', 'records of the ledger are');
  const text = `${what} not in the local store yet`;
  const since = restore?.isUnderWay === true ? ` It was started ${duration(restore.seconds)} ago.` : '';
  return [finding(text, `A lane that it takes over opens when they are.${since}`, false)];
}

/** @param {ProcessorState} state */
function isStarting(state) {
  const ageMs = Date.parse(state.at) - Date.parse(state.activity.startedAt);
  const hasStopped = state.lanes.some((lane) => lane.stage === 'stopped');
  return ageMs < START_SECONDS * 1000 && state.service.state !== 'held' && !hasStopped;
}

/** @param {ProcessorState} state */
function healthySummary(state) {
  const oldest = oldestUnanswered(state);
  if (oldest === null) return 'Every command that is known has its result.';
  return `Commands are being answered; the oldest without a result is ${duration(oldest)} old.`;
}

/**
 * @param {string} text
 * @param {string | null} advice
 * @param {boolean} isBad
 * @returns {Finding}
 */
function finding(text, advice, isBad) {
  return { text, advice, isBad };
}

/** @param {Finding} mild */
function asMild(mild) {
  return { ...mild, isBad: false };
}

/** @param {string} text */
function sentence(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
