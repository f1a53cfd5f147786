/** What is the matter, in one line, with what was found. Pure. */
import { findingsOf } from './findings.js';
import { oldestUnanswered } from './lag.js';
import { duration } from './words.js';

/** @typedef {import('../group/group-state.ts').GroupState} GroupState */
/** @typedef {import('../group/group-history.ts').GroupSample} Sample */
/** @typedef {import('./findings.js').Finding} Finding */
/** @typedef {{ level: 'good' | 'warning' | 'bad', headline: string, summary: string, findings: Finding[] }} Verdict */

/**
 * @param {GroupState} state
 * @param {readonly Sample[]} samples
 * @returns {Verdict}
 */
export function verdictOn(state, samples) {
  const findings = findingsOf(state, samples);
  if (state.isStarting) {
    const summary = 'Lanes are opened as the group hands them out.';
    return { level: 'warning', headline: 'Starting', summary, findings: findings.map(asMild) };
  }
  if (state.holds.length > 0) {
    const headline = `Held by an operator: ${heldCommands(state)}`;
    const summary = 'No call of these begins: they wait in Kafka until they are released, and grow too old as ever.';
    return { level: findings.some(({ isBad }) => isBad) ? 'bad' : 'warning', headline, summary, findings };
  }
  if (findings.some(({ isBad }) => isBad)) {
    const summary = 'Some of the work, or all, stands still: commands wait in Kafka or in the ledger until it goes on.';
    return { level: 'bad', headline: 'Not healthy', summary, findings };
  }
  if (findings.length > 0) {
    return { level: 'warning', headline: 'Working, but look at this', summary: '', findings };
  }
  return { level: 'good', headline: 'Healthy', summary: healthySummary(state), findings };
}

/** @param {GroupState} state */
function heldCommands({ holds }) {
  return [...new Set(holds.map(({ command }) => command))].join(', ');
}

/** @param {GroupState} state */
function healthySummary(state) {
  const oldest = oldestUnanswered(state);
  const letters =
    (state.deadLetterRecords ?? 0) === 0
      ? ''
      : ' There are records on the dead-letter topic: doctor tells which nobody redrove.';
  if (oldest === null) return `Every command that is known has its result.${letters}`;
  return `Commands are being answered; the oldest without a result is ${duration(oldest)} old.${letters}`;
}

/** @param {Finding} mild */
function asMild(mild) {
  return { ...mild, isBad: false };
}
