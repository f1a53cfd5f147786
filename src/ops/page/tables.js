/** The lower part of the page: by command and lane, and what waits for an operator. */
import { byId, fillTable, marked, setText } from './elements.js';
import { causesInWords, isLagKnown, waitingByCause } from './lag.js';
import { servedOperations } from './service.js';
import {
  BREAKERS,
  count,
  counted,
  DEAD_LETTERS,
  duration,
  instantInWords,
  MEMBER_STANDINGS,
  ranges,
  timeOfDay,
  UNFINISHED,
} from './words.js';

/** @typedef {import('../processor-state.ts').ProcessorState} ProcessorState */
/** @typedef {import('./elements.js').Cell} Cell */

/** Inputs of a lane besides commands. */
const OTHER_INPUTS = ['operator-decision', 'observation'];

/**
 * Whether an operator should look at those that ended so.
 * @type {Record<import('../../records/commands.ts').Outcome, boolean>}
 */
const OUTCOME_IS_AMISS = {
  ACCEPTED: false,
  REFUSED: false,
  INVALID: false,
  EXPIRED: false,
  FAILED: true,
  CONFLICT: false,
  UNKNOWN: true,
};

/** @param {ProcessorState} state */
export function showTables(state) {
  showCommands(state);
  showLanes(state);
  showMembers(state);
  showUnknown(state);
  showUnfinished(state);
  showDeadLetters(state);
  showResults(state);
}

/** @param {ProcessorState} state */
function showCommands(state) {
  const rows = servedOperations(state).map(({ allowance, breaker, callsUnderWay, operation }) => {
    const shares = waitingByCause(state, operation);
    const isKnown = isLagKnown(state, operation);
    const waiting = shares.reduce((sum, { messages }) => sum + messages, 0);
    const oldest = state.oldestUnansweredSeconds[operation];
    const unfinished = state.unfinished.filter((group) => group.operation === operation);
    /** @type {Cell[]} */
    const cells = [
      { text: operation },
      {
        text: isKnown || waiting > 0 ? count(waiting) : 'not known',
        isNumber: true,
        ...marked(waiting > 0, 'warning'),
      },
      {
        text: oldest !== null ? duration(oldest) : isKnown ? 'none' : 'not known',
        isNumber: true,
        ...marked((oldest ?? 0) >= 60, 'warning'),
      },
      {
        text: shares.length > 0 ? causesInWords(shares) : isKnown ? 'no lag' : '',
        ...marked(shares.length === 0, 'quiet'),
      },
      { text: count(unfinished.reduce((sum, group) => sum + group.count, 0)), isNumber: true },
      { text: BREAKERS[breaker], ...marked(breaker === 'open' || breaker === 'checking', 'bad') },
      {
        text: allowance === null ? count(callsUnderWay) : `${count(callsUnderWay)} of ${count(allowance)}`,
        isNumber: true,
      },
    ];
    return cells;
  });
  const headings = ['Command', 'In Kafka', 'Oldest', 'Why it waits', 'Unfinished', 'Breaker', 'Calls'];
  fillTable('commands', headings, rows, 'No command is served.');
}

/** @param {ProcessorState} state */
function showLanes(state) {
  const { isGroupConfirmed, lanes, lanesConfigured } = state;
  const here =
    lanes.length === 0
      ? 'No lane is'
      : `${lanes.length} of ${counted(lanesConfigured, 'lane')} ${lanes.length === 1 ? 'is' : 'are'}`;
  const others =
    lanes.length > 0 && lanes.length < lanesConfigured
      ? ' The others belong to the members below, each with a page of its own.'
      : '';
  const group = isGroupConfirmed
    ? 'Kafka confirms the membership of the group.'
    : 'Kafka does not confirm the membership of the group.';
  setText(byId('membership'), `${here} with this member.${others} ${group}`);
  const commands = servedOperations(state).map(({ operation }) => operation);
  const rows = lanes.map((lane) => {
    /** @type {Cell[]} */
    const cells = [
      { text: String(lane.lane) },
      // Why it is stopped is among the findings.
      { text: lane.stage, ...marked(lane.stage === 'stopped', 'bad') },
      { text: count(lane.unfinished), isNumber: true },
      ...commands.map((command) => inputCell(lane.inputs.find((input) => input.command === command))),
      ...OTHER_INPUTS.map((name) => inputCell(lane.inputs.find((input) => input.name === name))),
    ];
    return cells;
  });
  const none = 'No lanes: the group has handed out none to this process.';
  fillTable('lanes', ['Lane', 'Stage', 'Unfinished', ...commands, ...OTHER_INPUTS], rows, none);
}

/**
 * @param {import('../processor-state.ts').InputState | undefined} input
 * @returns {Cell}
 */
function inputCell(input) {
  if (input?.lagMessages == null) return { text: 'not known', kind: 'quiet', isNumber: true };
  const { cause, lagMessages, oldestSeconds, position, problem } = input;
  const title = `position ${position ?? 'not known'}${problem === null ? '' : `; ${problem}`}`;
  if (lagMessages === 0) return { text: '0', kind: 'quiet', isNumber: true, title };
  const age = oldestSeconds === null ? '' : `, ${duration(oldestSeconds)}`;
  const why = cause === null || cause === 'catching-up' ? '' : `, ${cause}`;
  return { text: `${count(lagMessages)}${age}${why}`, isNumber: true, title, ...marked(why !== '', 'warning') };
}

/** @param {ProcessorState} state */
function showMembers({ lanesConfigured, members }) {
  const rows = members.map(({ assigned, host, isThis, owned, process, since, standing }) => {
    const isAmiss = standing === 'gone' && owned.length > 0;
    /** @type {Cell[]} */
    const cells = [
      { text: process === null ? 'nobody yet' : isThis ? `${process} (this one)` : process },
      { text: MEMBER_STANDINGS[standing], ...marked(isAmiss, 'warning') },
      { text: host ?? '', ...marked(host === null, 'quiet') },
      { text: standing === 'unknown' ? 'not known' : ranges(assigned) },
      { text: ranges(owned), ...marked(standing === 'member' && ranges(owned) !== ranges(assigned), 'warning') },
      { text: since === null ? '' : instantInWords(new Date(since)), isNumber: true },
    ];
    return cells;
  });
  const owned = members.flatMap((member) => (member.standing === 'gone' ? [] : member.owned)).length;
  const whole = owned < lanesConfigured ? ` ${count(owned)} of ${counted(lanesConfigured, 'lane')} are owned.` : '';
  const known = members.some(({ standing }) => standing !== 'unknown');
  const number = counted(members.filter(({ standing }) => standing === 'member').length, 'member');
  setText(byId('group'), known ? `${number} in the group.${whole}` : `Kafka has not said who is in the group.${whole}`);
  const headings = ['Member', 'Standing', 'Connected from', 'Lanes by the group', 'Lanes by the ledger', 'Last taken'];
  fillTable('members', headings, rows, 'None is known yet.');
}

/** @param {ProcessorState} state */
function showUnknown({ unknownResults }) {
  const { listed, waiting } = unknownResults;
  const rows = listed.map(({ ageSeconds, command, keyHash, lane }) => [
    { text: keyHash },
    { text: command },
    { text: String(lane), isNumber: true },
    { text: duration(ageSeconds), isNumber: true },
  ]);
  const headings = [
    waiting > listed.length ? `Key hash (oldest ${listed.length} of ${count(waiting)})` : 'Key hash',
    'Command',
    'Lane',
    'Age',
  ];
  fillTable('unknown', headings, rows, 'None waits for an operator.');
}

/** @param {ProcessorState} state */
function showUnfinished({ unfinished }) {
  const rows = unfinished.map(({ count: number, oldestSeconds, operation, state }) => {
    /** @type {Cell[]} */
    const cells = [
      { text: `${state}: ${UNFINISHED[state]}`, ...marked(state === 'DOUBTFUL', 'warning') },
      { text: operation },
      { text: count(number), isNumber: true },
      { text: duration(oldestSeconds), isNumber: true },
    ];
    return cells;
  });
  fillTable('unfinished', ['State', 'Operation', 'Number', 'Oldest'], rows, 'None.');
}

/** @param {ProcessorState} state */
function showDeadLetters({ activity }) {
  const rows = activity.deadLetters.map(({ count: number, lastAt, reason }) => [
    { text: `${reason}: ${DEAD_LETTERS[reason]}` },
    { text: count(number), isNumber: true },
    { text: timeOfDay(new Date(lastAt)), isNumber: true },
  ]);
  fillTable('letters', ['Reason', 'Number', 'Last'], rows, 'None.');
}

/** @param {ProcessorState} state */
function showResults(state) {
  const { results } = state.activity;
  const rows = servedOperations(state).map(({ operation }) => {
    const cells = Object.entries(OUTCOME_IS_AMISS).map(([outcome, isAmiss]) => {
      const number = results.find((result) => result.command === operation && result.outcome === outcome)?.count ?? 0;
      const kind = number === 0 ? marked(true, 'quiet') : marked(isAmiss, 'bad');
      return { text: count(number), isNumber: true, ...kind };
    });
    return [{ text: operation }, ...cells];
  });
  fillTable('results', ['Command', ...Object.keys(OUTCOME_IS_AMISS).map(titleCase)], rows, 'No command is served.');
}

/** @param {string} word */
function titleCase(word) {
  return word.slice(0, 1) + word.slice(1).toLowerCase();
}
