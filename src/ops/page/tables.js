/** The lower part of the page: figures by command and by lane, and what waits for an operator. */
import { fillTable, marked } from './elements.js';
import { causeInWords, causesInWords, isLagKnown, isLedgerRead, uncountedLanes, waitingByCause } from './lag.js';
import { atMembers, servedOperations } from './service.js';
import { BREAKERS, count, duration, inWords, OUTCOME_NEEDS_OPERATOR, UNFINISHED } from './words.js';

/** @typedef {import('../group/group-state.ts').GroupState} GroupState */
/** @typedef {import('./elements.js').Cell} Cell */

/** A lane's inputs besides commands. */
const OTHER_INPUTS = ['operator-decision', 'operator-hold', 'observation'];

/** @param {GroupState} state */
export function showTables(state) {
  showCommands(state);
  showLanes(state);
  showUnknown(state);
  showUnfinished(state);
  showResults(state);
}

/** @param {number | null} oldest seconds that the oldest command without a result has waited */
function noLag(oldest) {
  return oldest === null ? 'no lag' : 'admitted: see below';
}

/** @param {GroupState} state */
function showCommands(state) {
  const rows = servedOperations(state).map(({ allowance, blockedAt, breaker, callsUnderWay, operation }) => {
    const shares = waitingByCause(state, operation);
    const isKnown = isLagKnown(state, operation);
    const waiting = shares.reduce((sum, { messages }) => sum + messages, 0);
    const oldest = state.oldestUnansweredSeconds[operation] ?? null;
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
        text: oldest !== null ? duration(oldest) : isKnown && uncountedLanes(state) === 0 ? 'none' : 'not known',
        isNumber: true,
        ...marked((oldest ?? 0) >= 60, 'warning'),
      },
      {
        text: shares.length > 0 ? causesInWords(shares) : isKnown ? noLag(oldest) : '',
        ...marked(shares.length === 0, 'quiet'),
      },
      { text: count(unfinished.reduce((sum, group) => sum + group.count, 0)), isNumber: true },
      { text: `${inWords(BREAKERS, breaker)}${breakerAt(state, blockedAt)}`, ...marked(blockedAt.length > 0, 'bad') },
      {
        text: allowance === null ? count(callsUnderWay) : `${count(callsUnderWay)} of ${count(allowance)}`,
        isNumber: true,
      },
    ];
    return cells;
  });
  const served = new Set(servedOperations(state).map(({ operation }) => operation));
  const unread = state.operations.filter(({ operation }) => !served.has(operation));
  rows.push(
    ...unread.map(({ operation }) =>
      [operation, '', '', 'not read: SANDBOX_COMMANDS is off', '', '', ''].map(quietCell),
    ),
  );
  const headings = ['Command', 'In Kafka', 'Oldest', 'Why it waits', 'Unfinished', 'Breaker', 'Calls'];
  fillTable('commands', headings, rows, 'No command is served.');
}

/** @type {(text: string) => Cell} */
function quietCell(text) {
  return { text, kind: 'quiet' };
}

/**
 * @param {GroupState} state
 * @param {readonly string[]} blockedAt
 */
function breakerAt(state, blockedAt) {
  return blockedAt.length === 0 ? '' : atMembers(state, blockedAt);
}

/** @param {GroupState} state */
function showLanes(state) {
  const { lanes, unreportedLanes } = state;
  const commands = servedOperations(state).map(({ operation }) => operation);
  /** @type {{ lane: number, cells: Cell[] }[]} */
  const reported = lanes.map((lane) => ({
    lane: lane.lane,
    cells: [
      { text: String(lane.lane) },
      { text: lane.process },
      // Why it is stopped is among the findings.
      { text: lane.stage, ...marked(lane.stage === 'stopped', 'bad') },
      { text: count(lane.unfinished), isNumber: true },
      ...commands.map((command) => inputCell(lane.inputs.find((input) => input.command === command))),
      ...OTHER_INPUTS.map((name) => inputCell(lane.inputs.find((input) => input.name === name))),
    ],
  }));
  /** @type {Cell} */
  const notKnown = { text: 'not known', kind: 'quiet', isNumber: true };
  /** @type {{ lane: number, cells: Cell[] }[]} */
  const unreported = unreportedLanes.map(({ lane, process, waiting }) => ({
    lane,
    cells: [
      { text: String(lane) },
      { text: process ?? 'none', kind: 'quiet' },
      { text: 'not reported', kind: 'warning' },
      notKnown,
      ...commands.map((command) => (waiting === null ? notKnown : unreportedCell(waiting, command))),
      ...OTHER_INPUTS.map(() => notKnown),
    ],
  }));
  const rows = [...reported, ...unreported].sort((left, right) => left.lane - right.lane).map(({ cells }) => cells);
  fillTable('lanes', ['Lane', 'Member', 'Stage', 'Unfinished', ...commands, ...OTHER_INPUTS], rows, 'None.');
}

/**
 * @param {readonly { command: string, messages: number }[]} waiting
 * @param {string} command
 * @returns {Cell}
 */
function unreportedCell(waiting, command) {
  const messages = waiting.find((each) => each.command === command)?.messages ?? 0;
  const title = "from the group's committed offsets";
  return { text: count(messages), isNumber: true, title, kind: messages > 0 ? 'warning' : 'quiet' };
}

/** @type {(input: GroupState['lanes'][number]['inputs'][number] | undefined) => Cell} */
function inputCell(input) {
  if (input?.lagMessages == null) return { text: 'not known', kind: 'quiet', isNumber: true };
  const { cause, lagMessages, oldestSeconds, position, problem } = input;
  const title = `position ${position ?? 'not known'}${problem === null ? '' : `; ${problem}`}`;
  if (lagMessages === 0) return { text: '0', kind: 'quiet', isNumber: true, title };
  const age = oldestSeconds === null ? '' : `, ${duration(oldestSeconds)}`;
  const why = cause === null || cause === 'catching-up' ? '' : `, ${causeInWords(cause)}`;
  return { text: `${count(lagMessages)}${age}${why}`, isNumber: true, title, ...marked(why !== '', 'warning') };
}

/** @param {GroupState} state */
function showUnknown(state) {
  const { listed, waiting } = state.unknownResults;
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
  fillTable('unknown', headings, rows, isLedgerRead(state) ? 'None waits for an operator.' : 'Not known yet.');
}

/** @param {GroupState} state */
function showUnfinished(state) {
  const rows = state.unfinished.map(({ count: number, oldestSeconds, operation, state: phase }) => {
    /** @type {Cell[]} */
    const cells = [
      { text: `${phase}: ${inWords(UNFINISHED, phase)}`, ...marked(phase === 'DOUBTFUL', 'warning') },
      { text: operation },
      { text: count(number), isNumber: true },
      { text: duration(oldestSeconds), isNumber: true },
    ];
    return cells;
  });
  fillTable(
    'unfinished',
    ['State', 'Operation', 'Number', 'Oldest'],
    rows,
    uncountedLanes(state) > 0 ? 'None in the lanes that are counted.' : 'None.',
  );
}

/** @param {GroupState} state */
function showResults(state) {
  const { results } = state.activity;
  const rows = servedOperations(state).map(({ operation }) => {
    const cells = Object.entries(OUTCOME_NEEDS_OPERATOR).map(([outcome, needsOperator]) => {
      const number = results.find((result) => result.command === operation && result.outcome === outcome)?.count ?? 0;
      const kind = number === 0 ? marked(true, 'quiet') : marked(needsOperator, 'bad');
      return { text: count(number), isNumber: true, ...kind };
    });
    return [{ text: operation }, ...cells];
  });
  fillTable(
    'results',
    ['Command', ...Object.keys(OUTCOME_NEEDS_OPERATOR).map(titleCase)],
    rows,
    'No command is served.',
  );
}

/** @param {string} word */
function titleCase(word) {
  return word.slice(0, 1) + word.slice(1).toLowerCase();
}
