/** The upper part of the page: the verdict and key figures. */
import { byId, element, fillChildren, marked, setText } from './elements.js';
import {
  causeInWords,
  isLagKnown,
  isLedgerRead,
  lastMinute,
  oldestUnanswered,
  uncountedLanes,
  waitingByCause,
} from './lag.js';
import { verdictOn } from './verdict.js';
import { blockedOperations, isHeldInPart, serviceInWords } from './service.js';
import { count, counted, duration, LETTERS_MAX } from './words.js';

/** @typedef {import('../group/group-state.ts').GroupState} GroupState */
/** @typedef {{ name: string, value: string, note: string, kind?: 'warning' | 'bad' }} Figure */

const NOT_ANSWERING = 'Not answering';
const ABSENCE_ADVICE =
  'Check that the process is running, and read its log. If it has ended, other members take over its lanes. Each of them has this page, too.';

/** @param {GroupState} state */
export function showOverview(state) {
  showIdentity(state);
  showVerdict(state);
  showFigures(state);
}

/**
 * Shows that the process does not answer, and since when: the last known state may no longer be true.
 * @param {string} since
 */
export function showAbsence(since) {
  const verdict = byId('verdict');
  verdict.dataset['level'] = 'bad';
  const headline = byId('headline');
  if (headline.textContent !== NOT_ANSWERING) {
    setText(byId('summary'), `Last known state: ${headline.textContent}. Everything below is from then.`);
    setText(headline, NOT_ANSWERING);
    document.title = `${NOT_ANSWERING} - Payment processor`;
  }
  const item = element('li', {}, element('strong', { text: since }), element('span', { text: ABSENCE_ADVICE }));
  byId('findings').replaceChildren(item);
}

/** @param {GroupState} state */
function showIdentity(state) {
  const upSeconds = (Date.parse(state.at) - Date.parse(state.startedAt)) / 1000;
  const reporting = state.members.filter(({ isCounted }) => isCounted).length;
  const present = state.members.filter(({ standing }) => standing !== 'gone').length;
  const { groupId, prefix, service } = state.deployment;
  const asked = state.members.find(({ isThis }) => isThis)?.process ?? '';
  const up = `up for ${duration(Math.max(0, Math.round(upSeconds)))}`;
  setText(
    byId('identity'),
    `${prefix} in group ${groupId}, calling ${service}. ${count(reporting)} of ${counted(Math.max(reporting, present), 'member')} reporting. This page is from ${asked}, ${up}.`,
  );
}

/** @param {GroupState} state */
function showVerdict(state) {
  const { findings, headline, level, summary } = verdictOn(state);
  byId('verdict').dataset['level'] = level;
  setText(byId('headline'), headline);
  setText(byId('summary'), summary);
  fillChildren(byId('findings'), findings, newFinding, (item, { advice, command, isBad, runbook, text }) => {
    item.className = isBad ? 'bad' : 'warning';
    const [what, todo, next] = item.children;
    if (what !== undefined) setText(what, text);
    if (todo !== undefined) setText(todo, advice);
    if (next instanceof HTMLElement) fillNext(next, command, runbook);
  });
  document.title = `${headline} - Payment processor`;
}

const newFinding = () =>
  element(
    'li',
    {},
    element('strong'),
    element('span'),
    element('p', { className: 'next' }, element('code'), element('a')),
  );

/**
 * @param {HTMLElement} next
 * @param {string | null} command
 * @param {string | null} runbook
 */
function fillNext(next, command, runbook) {
  const [code, link] = next.children;
  next.hidden = command === null && runbook === null;
  if (code instanceof HTMLElement) {
    setText(code, command ?? '');
    code.hidden = command === null;
  }
  if (!(link instanceof HTMLAnchorElement)) return;
  setText(link, `Runbook: ${runbook}`);
  link.href = `/runbooks/${runbook}.md`;
  link.target = '_blank';
  link.rel = 'noopener';
  link.hidden = runbook === null;
}

/** @param {GroupState} state */
function showFigures(state) {
  fillChildren(
    byId('figures'),
    figuresOf(state),
    () =>
      element('div', {}, element('dt'), element('dd', { className: 'value' }), element('dd', { className: 'note' })),
    (item, { kind, name, note, value }) => {
      item.className = kind ?? '';
      [name, value, note].forEach((text, index) => {
        const part = item.children[index];
        if (part !== undefined) setText(part, text);
      });
    },
  );
}

/** @param {GroupState} state */
export function figuresOf(state) {
  const shares = waitingByCause(state, null);
  const isKnown = isLagKnown(state, null);
  const waiting = shares.reduce((sum, { messages }) => sum + messages, 0);
  const oldest = oldestUnanswered(state);
  const stale = state.staleLagSeconds;
  const asOf = stale === null ? null : `as of ${duration(stale)} ago`;
  const inDoubt = state.unfinished.filter((group) => group.state === 'DOUBTFUL');
  const doubtful = inDoubt.reduce((sum, group) => sum + group.count, 0);
  const oldestDoubt = Math.max(0, ...inDoubt.map((group) => group.oldestSeconds));
  const unfinished = state.unfinished.reduce((sum, group) => sum + group.count, 0);
  const openLanes = state.lanes.filter((lane) => lane.stage === 'open').length;
  const { unknownResults } = state;
  const letters = state.openLetters.reduce((sum, { count: number }) => sum + number, 0);
  return [
    {
      name: 'Oldest without a result',
      value: oldestInWords(oldest, isKnown && uncountedLanes(state) === 0),
      note: asOf ?? 'in Kafka or admitted',
      ...marked(asOf !== null || (oldest !== null && oldest >= 60), 'warning'),
    },
    {
      name: 'Waiting in Kafka',
      value: asFarAsRead(waiting, isKnown),
      note: asOf ?? (shares[0] === undefined ? lagNote(state, isKnown) : causeInWords(shares[0].cause)),
      ...marked(asOf !== null, 'warning'),
    },
    {
      name: 'Admitted, unfinished',
      value: atLeast(count(unfinished), state),
      note: `${counted(state.keysRemembered, 'key')} remembered`,
    },
    ...recentFigures(state),
    {
      name: 'Calls under way',
      value: `${count(state.callsUnderWay)} of ${count(state.callSlots)}`,
      note: serviceInWords(state),
      ...marked(
        state.service?.state === 'held' || blockedOperations(state).length > 0,
        isHeldInPart(state) ? 'warning' : 'bad',
      ),
    },
    {
      name: 'Lanes open',
      value: `${count(openLanes)} of ${count(state.lanesConfigured)}`,
      note: lanesNote(state, openLanes),
      ...marked(openLanes < state.lanesConfigured, 'warning'),
    },
    {
      name: 'In doubt',
      value: atLeast(count(doubtful), state),
      note: doubtful > 0 ? `oldest ${duration(oldestDoubt)}` : doubtNote(state),
      ...marked(doubtful > 0, 'warning'),
    },
    {
      name: 'UNKNOWN, to be decided',
      value: asFarAsRead(unknownResults.waiting, isLedgerRead(state)),
      note:
        unknownResults.oldestSeconds === null ? unknownNote(state) : `oldest ${duration(unknownResults.oldestSeconds)}`,
      ...marked(unknownResults.waiting > 0, 'bad'),
    },
    {
      name: 'Dead letters',
      value: asFarAsRead(letters, state.areLettersRead && letters < LETTERS_MAX),
      note: state.areLettersRead ? 'open' : 'their topic has not been read',
      ...marked(letters > 0 || !state.areLettersRead, 'warning'),
    },
  ];
}

/**
 * Lanes that no member counts may add to the value.
 * @param {string} value
 * @param {GroupState} state
 */
function atLeast(value, state) {
  if (state.lanes.length === 0) return 'not known';
  return uncountedLanes(state) > 0 ? `${value} or more` : value;
}

/** @param {GroupState} state */
function doubtNote(state) {
  const uncounted = uncountedLanes(state);
  return uncounted > 0 ? `${counted(uncounted, 'lane')} not counted` : 'nothing to settle';
}

/** @param {GroupState} state */
function unknownNote(state) {
  return isLedgerRead(state) ? 'in any lane' : 'the ledger is being read';
}

/**
 * @param {number} number
 * @param {boolean} isWhole
 */
function asFarAsRead(number, isWhole) {
  if (isWhole) return count(number);
  return number === 0 ? 'not known' : `${count(number)} or more`;
}

/**
 * @param {number | null} oldest
 * @param {boolean} isWhole every lane is counted
 */
function oldestInWords(oldest, isWhole) {
  if (oldest === null) return isWhole ? 'none' : 'not known';
  return isWhole ? duration(oldest) : `${duration(oldest)} or more`;
}

/**
 * @param {GroupState} state
 * @param {boolean} isKnown
 */
function lagNote({ lanes, unreportedLanes }, isKnown) {
  if (lanes.length === 0 && unreportedLanes.length > 0) return 'no lane is known';
  return isKnown ? 'no lag' : 'no answer from Kafka yet';
}

/**
 * @param {GroupState} state
 * @param {number} open
 */
function lanesNote({ lanes, unreportedLanes }, open) {
  if (lanes.length === 0) return 'none assigned yet';
  if (unreportedLanes.length > 0) return `${count(unreportedLanes.length)} not reported`;
  const stopped = lanes.filter(({ stage }) => stage === 'stopped').length;
  if (stopped > 0) return `${count(stopped)} stopped`;
  return open < lanes.length ? `${count(lanes.length - open)} not open yet` : 'all of them';
}

/** @param {GroupState} state */
function recentFigures(state) {
  const recent = lastMinute(state);
  const results = recent.reduce((sum, sample) => sum + sample.resultsAccepted + sample.resultsOther, 0);
  const slowest = Math.max(0, ...recent.map((sample) => sample.command95Seconds ?? 0));
  return [
    { name: 'Results, last minute', value: recent.length === 0 ? 'not yet' : count(results), note: 'all outcomes' },
    {
      name: 'Publishing to result, 95 %',
      value: slowest === 0 ? 'none' : duration(slowest),
      note: 'highest of any member, last minute',
    },
  ];
}
