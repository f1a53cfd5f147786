/** Problems with members of the group: gone, silent, or of another release. Pure. */
import { finding, STEPS } from './next-steps.js';
import { counted, duration, inWords, MEMBER_FAULTS, ranges, timeOfDay } from './words.js';

/** @typedef {import('../group/group-state.ts').GroupState} GroupState */
/** @typedef {GroupState['members'][number]} Member */

/** How long we report a departed member once others have opened its lanes. */
const GONE_MS = 15 * 60_000;

/** @param {GroupState} state */
export function memberFindings(state) {
  return [...gone(state), ...silent(state), ...unreportedLanes(state), ...otherReleases(state)];
}

/**
 * The lanes that the member has, or had when it left, as far as we know.
 * @param {Member} member
 */
export function lastLanes({ assigned, figures, owned }) {
  if (figures !== null && figures.lanes.length > 0) return figures.lanes;
  return assigned.length > 0 ? assigned : owned;
}

/** @param {readonly number[]} lanes */
function lanesAre(lanes) {
  return lanes.length === 1 ? `Lane ${ranges(lanes)} is` : `Lanes ${ranges(lanes)} are`;
}

/** @param {GroupState} state */
function gone(state) {
  const nowMs = Date.parse(state.at);
  const isOpen = new Set(state.lanes.filter(({ stage }) => stage === 'open').map(({ lane }) => lane));
  const present = new Set(state.members.filter(({ standing }) => standing !== 'gone').map(({ process }) => process));
  const ofPresent = state.unreportedLanes.filter(({ process }) => process !== null && present.has(process));
  const isUnreported = new Set(ofPresent.map(({ lane }) => lane));
  const lost = state.members.filter((member) => {
    if (member.standing !== 'gone' || member.isThis) return false;
    const isWaiting = member.owned.some((lane) => !isOpen.has(lane));
    const isRecent = member.goneSince !== null && nowMs - Date.parse(member.goneSince) < GONE_MS;
    return isWaiting || (isRecent && !wasEnding(member) && !isReplaced(state, member));
  });
  return lost.map((member) => {
    const lanes = lastLanes(member);
    const waiting = lanes.filter((lane) => !isOpen.has(lane) && !isUnreported.has(lane));
    const unreported = lanes.filter((lane) => isUnreported.has(lane));
    const since = member.goneSince === null ? 'is gone' : `has been gone since ${momentAgo(member.goneSince, nowMs)}`;
    const had = lanes.length === 0 ? 'no lanes' : `${counted(lanes.length, 'lane')}: ${ranges(lanes)}`;
    const text = `Member ${member.process} ${since}. It owned ${had}.`;
    const notOpen = `${lanesAre(waiting)} not open anywhere yet; commands there wait in Kafka. `;
    const notReported = `${lanesAre(unreported)} with members that send no report. `;
    const others = lanes.length === 0 ? '' : 'Other members have opened all of them. ';
    const where = `${waiting.length > 0 ? notOpen : ''}${unreported.length > 0 ? notReported : ''}`;
    const why = `${where === '' ? others : where}${lastReport(member, nowMs)}`;
    return finding(text, STEPS.memberGone, why, waiting.length > 0);
  });
}

/**
 * Whether its last report said that it was shutting down, as when the group is scaled down.
 * @param {Member} member
 */
function wasEnding({ figures }) {
  return figures?.reasons.some((reason) => reason.startsWith('draining')) === true;
}

/**
 * Whether at least as many members have started since then as have left: a restart is no loss.
 * @param {GroupState} state
 * @param {Member} member
 */
function isReplaced(state, { answeredAt, goneSince }) {
  const leftMs = Date.parse(answeredAt ?? goneSince ?? '');
  const joined = state.members.filter(({ figures }) => Date.parse(figures?.startedAt ?? '') >= leftMs);
  const departed = state.members.filter((other) => !wasEnding(other) && Date.parse(other.goneSince ?? '') >= leftMs);
  return joined.filter(({ standing }) => standing !== 'gone').length >= departed.length;
}

/** @param {GroupState} state */
function silent({ at, members }) {
  const nowMs = Date.parse(at);
  return members
    .filter((member) => !member.isCounted && member.standing !== 'gone' && member.fault !== null)
    .map((member) => {
      const since = member.faultSince === null ? '' : ` since ${momentAgo(member.faultSince, nowMs)}`;
      const text = `No report from member ${member.process}${since}: ${inWords(MEMBER_FAULTS, member.fault ?? '')}`;
      const lanes = lastLanes(member);
      const its = lanes.length === 0 ? '' : `This page does not count its lanes (${ranges(lanes)}). `;
      const { address } = member;
      const step = address === null ? STEPS.memberSilent : { ...STEPS.memberSilent, command: askingCommand(address) };
      return finding(text, step, `${its}${lastReport(member, nowMs)}`);
    });
}

/**
 * Asks a member from where it is pasted. The image has Node, and no curl.
 * @param {string} address with no character that a shell interprets
 */
function askingCommand(address) {
  return `node -e "fetch('${address}/health/ready').then(async (it) => console.log(it.status, await it.text()), console.error)"`;
}

/**
 * Lanes that no member reports, beyond those of members that are gone or silent. That is normal while Kafka assigns lanes.
 * @param {GroupState} state
 */
function unreportedLanes({ isStarting, members, reasons, unreportedLanes: unreported }) {
  const named = new Set(members.filter(({ isCounted }) => !isCounted).flatMap((member) => lastLanes(member)));
  const lanes = unreported.map(({ lane }) => lane).filter((lane) => !named.has(lane));
  if (lanes.length === 0 || isStarting || reasons.length > 0) return [];
  const text = `No member reports ${counted(lanes.length, 'lane')}: ${ranges(lanes)}`;
  return [finding(text, STEPS.lanesUnreported)];
}

/** @param {GroupState} state */
function otherReleases({ members }) {
  return members
    .filter(({ isCounted, unreportedParts }) => isCounted && unreportedParts.length > 0)
    .map(({ process, release, unreportedParts }) => {
      const text = `Member ${process} runs another release (${release ?? 'not known'}) and does not report: ${unreportedParts.join(', ')}`;
      return finding(text, STEPS.otherRelease);
    });
}

/**
 * @param {Member} member
 * @param {number} nowMs
 */
function lastReport({ answeredAt }, nowMs) {
  return answeredAt === null ? '' : `Last report ${momentAgo(answeredAt, nowMs)}.`;
}

/**
 * @param {string} instant
 * @param {number} nowMs
 */
function momentAgo(instant, nowMs) {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(instant)) / 1000));
  return `${timeOfDay(new Date(instant))} (${duration(seconds)} ago)`;
}
