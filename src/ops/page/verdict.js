/** The state in one line: what it means for commands. And the findings behind it. Pure. */
import { findingsOf } from './findings.js';
import { lastFault, oldestUnanswered, resultsWithin, waitingByCause } from './lag.js';
import { counted, duration } from './words.js';

/** @typedef {import('../group/group-state.ts').GroupState} GroupState */
/** @typedef {import('./next-steps.js').Finding} Finding */
/** @typedef {{ level: 'good' | 'warning' | 'bad', headline: string, summary: string, findings: Finding[] }} Verdict */

/** The objective for one command. If one has waited for this long and none got a result in that time, nothing works. */
const ANSWERED_WITHIN_SECONDS = 30;

/**
 * @param {GroupState} state
 * @returns {Verdict}
 */
export function verdictOn(state) {
  const findings = findingsOf(state);
  const fault = lastFault(state);
  if (state.isStarting) {
    const summary = 'Lanes open as the group assigns them.';
    return { level: 'warning', headline: 'Starting', summary, findings: findings.map(asWarning) };
  }
  if (state.holds.length > 0) {
    const headline = `Held by an operator: ${heldCommands(state)}`;
    const calls = !state.isLedgerRead
      ? 'No member has read the ledger to its end, so the holds may have changed: see `cli holds`.'
      : isHeldEverywhere(state)
        ? 'No call of these types begins.'
        : 'Lanes that have not confirmed it may still begin calls of these types.';
    const summary = `${calls} Commands wait until the hold ends. At their time limit they end EXPIRED, or UNKNOWN if a call is in doubt.`;
    return { level: findings.some(({ isBad }) => isBad) ? 'bad' : 'warning', headline, summary, findings };
  }
  if (isNothingAnswered(state)) {
    return { level: 'bad', headline: nothingAnswered(state), summary: fault, findings };
  }
  if (findings.some(({ isBad }) => isBad)) {
    const summary = 'Some or all work has stopped. Commands wait in Kafka or in the ledger until it resumes.';
    return { level: 'bad', headline: 'Not healthy', summary: fault === '' ? summary : `${summary} ${fault}`, findings };
  }
  if (findings.length > 0) {
    return { level: 'warning', headline: 'Working, with warnings', summary: fault, findings };
  }
  return { level: 'good', headline: 'Healthy', summary: healthySummary(state), findings };
}

/** @param {GroupState} state */
function isNothingAnswered(state) {
  if ((oldestUnanswered(state) ?? 0) < ANSWERED_WITHIN_SECONDS) return false;
  return resultsWithin(state, ANSWERED_WITHIN_SECONDS * 1000) === 0;
}

/** @param {GroupState} state */
function nothingAnswered(state) {
  const inKafka = waitingByCause(state, null).reduce((sum, { messages }) => sum + messages, 0);
  const admitted = state.unfinished.reduce((sum, group) => sum + group.count, 0);
  const waiting = counted(inKafka + admitted, 'command waits', 'commands wait');
  return `No results: ${waiting}, the oldest for ${duration(oldestUnanswered(state) ?? 0)}`;
}

/** @param {GroupState} state */
function heldCommands({ holds }) {
  return [...new Set(holds.map(({ command }) => command))].join(', ');
}

/**
 * Whether every held type is held in all lanes, by whichever order: lanes may follow different orders.
 * @param {GroupState} state
 */
function isHeldEverywhere({ holds, lanesConfigured }) {
  const ofCommands = Map.groupBy(holds, ({ command }) => command).values();
  return [...ofCommands].every((same) => new Set(same.flatMap(({ lanes }) => lanes)).size === lanesConfigured);
}

/** @param {GroupState} state */
function healthySummary(state) {
  const oldest = oldestUnanswered(state);
  if (oldest === null) return 'Every known command has its result.';
  return `Commands are being answered; the oldest without a result is ${duration(oldest)} old.`;
}

/** @param {Finding} finding */
function asWarning(finding) {
  return { ...finding, isBad: false };
}
