/** The members of the group, each with its own figures, and what changed in the group. */
import { byId, element, fillChildren, fillTable, marked, setText } from './elements.js';
import { lastLanes } from './member-findings.js';
import { count, counted, duration, inWords, MEMBER_FAULTS, ranges, timeOfDay, instantInWords } from './words.js';

/** @typedef {import('../group/group-state.ts').GroupState} GroupState */
/** @typedef {GroupState['members'][number]} Member */
/** @typedef {import('./elements.js').Cell} Cell */

/** More would be hard to read; the JSON has them all. */
const EVENTS_SHOWN_MAX = 50;

/** @param {GroupState} state */
export function showMembers(state) {
  const nowMs = Date.parse(state.at);
  const rows = state.members.map((member) => cellsOf(member, nowMs));
  const headings = [
    ...['Member', 'State', 'Lanes', 'In Kafka', 'Oldest', 'Unfinished', 'Calls', 'Last report', 'Address', 'Release'],
  ];
  fillTable('members', headings, rows, 'No member is known yet.');
  setText(byId('group'), state.isGroupKnown ? '' : 'Kafka has not said who is in the group.');
}

/**
 * @param {Member} member
 * @param {number} nowMs
 * @returns {Cell[]}
 */
function cellsOf(member, nowMs) {
  const { address, figures, host, isCounted, isOtherRelease, isThis, process, release, unreportedParts } = member;
  /** The figures of a silent member are from its last report. @type {Cell['kind'] | undefined} */
  const kind = isCounted ? undefined : 'quiet';
  /** @param {number | null | undefined} value @param {(value: number) => string} inWords @returns {Cell} */
  const number = (value, inWords) => ({
    text: value == null ? 'not known' : inWords(value),
    isNumber: true,
    ...(kind === undefined ? marked(value == null, 'quiet') : { kind }),
  });
  const isLate = (figures?.oldestSeconds ?? 0) >= 60 && isCounted;
  return [
    { text: isThis ? `${process} (this page)` : process },
    standingOf(member, nowMs),
    lanesOf(member),
    number(figures?.waiting, count),
    figures !== null && figures.oldestSeconds === null
      ? { text: 'none', isNumber: true, kind: 'quiet' }
      : { ...number(figures?.oldestSeconds, duration), ...marked(isLate, 'warning') },
    number(figures?.unfinished, count),
    number(figures?.callsUnderWay, (calls) =>
      figures?.callSlots == null ? count(calls) : `${count(calls)} of ${count(figures.callSlots)}`,
    ),
    lastReportCell(member),
    {
      text: address ?? host ?? 'none',
      ...marked(address === null, 'quiet'),
      title: `Host as Kafka sees it: ${host ?? 'none'}`,
    },
    {
      text: unreportedParts.length > 0 ? `${release ?? 'not reported'}, reports less` : (release ?? 'not reported'),
      ...marked(release === null, 'quiet'),
      ...marked(isOtherRelease, 'warning'),
    },
  ];
}

/**
 * @param {Member} member
 * @param {number} nowMs
 * @returns {Cell}
 */
function standingOf({ fault, figures, goneSince, isCounted, standing }, nowMs) {
  if (standing === 'gone') {
    const since = goneSince === null ? '' : ` since ${timeOfDay(new Date(goneSince))}`;
    return { text: `gone${since}`, kind: 'bad' };
  }
  if (!isCounted) {
    return fault === null
      ? { text: 'not asked yet', kind: 'quiet' }
      : { text: `no report: ${inWords(MEMBER_FAULTS, fault)}`, kind: 'warning' };
  }
  if (figures?.isStarting === true) return { text: 'starting', kind: 'warning' };
  if (figures?.ready === false) return { text: 'not ready', kind: 'bad', title: figures.reasons.join('; ') };
  const startedMs = Date.parse(figures?.startedAt ?? '');
  const up = Number.isNaN(startedMs) ? '' : `, up ${duration(Math.max(0, Math.round((nowMs - startedMs) / 1000)))}`;
  return { text: `ready${up}` };
}

/** @type {(member: Member) => Cell} */
function lanesOf(member) {
  const { assigned, figures, isCounted, isThis, owned, ownedSince, standing } = member;
  const taken = ownedSince === null ? '' : `; the last taken at ${instantInWords(new Date(ownedSince))}`;
  const title = `Assigned by the group: ${ranges(assigned)}; owned by the ledger: ${ranges(owned)}${taken}`;
  const lanes = lastLanes(member);
  if (standing === 'gone' && !isThis)
    return { text: lanes.length === 0 ? 'had none' : `had ${ranges(lanes)}`, kind: 'quiet', title };
  const notOpen = isCounted && figures !== null ? figures.lanes.length - figures.lanesOpen : 0;
  const open = notOpen === 0 ? '' : `, ${count(notOpen)} not open`;
  return { text: `${ranges(lanes)}${open}`, title, ...marked(notOpen > 0, 'warning') };
}

/** @type {(member: Member) => Cell} */
function lastReportCell({ answeredAt, isCounted, isThis }) {
  if (isThis || isCounted) return { text: 'now', isNumber: true };
  return { text: answeredAt === null ? 'never' : timeOfDay(new Date(answeredAt)), isNumber: true, kind: 'quiet' };
}

/** @param {GroupState} state */
export function showTimeline({ at, timeline }) {
  const today = new Date(at).toLocaleDateString('en-CA');
  const shown = timeline.slice(0, EVENTS_SHOWN_MAX);
  const none = shown.length === 0 ? [{ at: '', process: '', kind: '', text: 'Nothing so far.' }] : shown;
  fillChildren(
    byId('timeline'),
    none,
    () => element('li', {}, element('time'), element('span', { className: 'who' }), element('span')),
    (item, event) => {
      const [when, who, what] = item.children;
      const instant = new Date(event.at);
      if (when instanceof HTMLTimeElement) {
        when.dateTime = event.at;
        const isToday = instant.toLocaleDateString('en-CA') === today;
        setText(when, event.at === '' ? '' : isToday ? timeOfDay(instant) : instantInWords(instant));
      }
      if (who !== undefined) setText(who, event.process);
      if (what !== undefined) setText(what, event.text);
      item.className = event.kind;
    },
  );
  const left = timeline.length - shown.length;
  setText(byId('timeline-left'), left > 0 ? `${counted(left, 'earlier one')} in /api/group.` : '');
}
