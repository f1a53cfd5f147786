/** For each alert: the change to a healthy group that must raise it, and which other alerts that rightly raises. */
import { flat, growing, on, risingTo, startingWith, type Change, type Instance } from './metric-series.ts';

/** What one of the alerts says about one member. */
interface Saying {
  readonly alert: string;
  readonly severity: 'page' | 'ticket';
  readonly instance: Instance;
  readonly setting?: string;
  readonly summary: string;
}

/** When, for how many minutes, what changes (null: nothing is scraped), which alerts fire, and what one of them says. */
export type AlertCase = readonly [string, number, readonly Change[] | null, readonly string[], Saying?];

const transferIn = { command: 'transfer-in' };

/** This share of commands (10 per sample in all) takes longer than 30 s. */
function slow(share: number): Change[] {
  return ['0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '10', '30'].map((le) =>
    on('commandDurationSeconds', growing(10 * (1 - share)), { le }, undefined, '_bucket'),
  );
}

/** Open for two samples out of three, in a trial at the third. */
function failingTrials(): Change[] {
  const course = (open: 0 | 1) => (samples: number) =>
    Array.from({ length: samples }, (_, index) => (index % 3 === 2 ? 1 - open : open)).join(' ');
  const ofStage = (stage: string, of: Change['course']): Change =>
    on('breakerStage', of, { operation: 'transfer-in', stage }, 'a');
  return [ofStage('closed', flat(0)), ofStage('open', course(1)), ofStage('trial', course(0))];
}

/** Alive for three samples, at the first of which it has not read what waits, then away for four. */
const crashing: Change['course'] = (samples) => '0 600 600 stale _ _ _ '.repeat(Math.ceil(samples / 7)).trim();

export const ALERT_CASES: readonly AlertCase[] = [
  [
    'a command is unanswered for a minute and a half',
    10,
    [on('oldestNotHeldSeconds', flat(90), transferIn, 'a')],
    ['PaymentsOldestUnansweredTooOld'],
  ],
  [
    'all processes crash again and again, and a command waits',
    30,
    [on('oldestNotHeldSeconds', crashing, transferIn)],
    ['PaymentsOldestUnansweredTooOld'],
  ],
  [
    'a command waited for a long time, and has had its result for four minutes',
    30,
    [on('oldestNotHeldSeconds', () => '0x4 600x46 0x20', transferIn)],
    [],
  ],
  [
    'an operator holds commands until an instant, and they wait',
    10,
    [
      on('operatorHoldSeconds', flat(600), { ...transferIn, ends: 'by-itself' }),
      on('oldestUnansweredSeconds', flat(600), transferIn),
      on('lagOldestSeconds', growing(30), transferIn),
      on('notAdmittedMessages', growing(5), { ...transferIn, cause: 'operator-hold' }),
    ],
    [],
  ],
  [
    'an operator holds commands, and one of another type waits',
    10,
    [
      on('operatorHoldSeconds', flat(600), { command: 'create-quote', ends: 'by-itself' }),
      on('oldestUnansweredSeconds', flat(600)),
      on('oldestNotHeldSeconds', flat(90), transferIn, 'a'),
    ],
    ['PaymentsOldestUnansweredTooOld'],
  ],
  [
    'half of the commands are answered late',
    30,
    slow(0.5),
    ['PaymentsObjectiveMissedFast', 'PaymentsObjectiveMissedSlow'],
  ],
  ['one in twenty commands is answered late', 30, slow(0.05), ['PaymentsObjectiveMissedSlow']],
  [
    'half of the commands are answered late because the service is held',
    30,
    [...slow(0.5), on('serviceHeld', flat(1), { setting: 'none' }), on('oldestNotHeldSeconds', flat(40))],
    ['PaymentsMemberNotReady', 'PaymentsServiceHeld'],
  ],
  [
    'half of the commands are answered late because a hold was released',
    30,
    [...slow(0.5), on('operatorHoldSeconds', () => '600x20 0x200', { ...transferIn, ends: 'by-release' })],
    [],
  ],
  [
    'half of the commands are answered late while an operator holds others',
    30,
    [...slow(0.5), on('operatorHoldSeconds', flat(600), { ...transferIn, ends: 'by-itself' })],
    ['PaymentsObjectiveMissedFast', 'PaymentsObjectiveMissedSlow'],
  ],
  [
    'half of the commands are answered late while one member of two holds the service',
    30,
    [...slow(0.5), on('serviceHeld', flat(1), { setting: 'none' }, 'b')],
    ['PaymentsMemberNotReady', 'PaymentsObjectiveMissedFast', 'PaymentsObjectiveMissedSlow'],
  ],
  [
    'half of the commands are answered late, after a start: the service is held until its first check',
    30,
    [...slow(0.5), on('serviceHeld', startingWith(1), { setting: 'none' })],
    ['PaymentsObjectiveMissedFast', 'PaymentsObjectiveMissedSlow'],
  ],
  [
    'more commands wait from minute to minute',
    30,
    [
      on('notAdmittedMessages', growing(5), { ...transferIn, cause: 'no-slot' }),
      on('lagOldestSeconds', flat(20), transferIn),
    ],
    ['PaymentsBehindAndGrowing'],
  ],
  [
    'a command has waited for half of the retention',
    15,
    [on('lagOldestSeconds', flat(310_000), transferIn, 'b')],
    ['PaymentsRetentionNear'],
  ],
  [
    'commands expire',
    20,
    [on('results', growing(1), { ...transferIn, outcome: 'EXPIRED', revision: 'first' })],
    ['PaymentsCommandsExpired'],
  ],
  [
    'an operator clears a backlog of UNKNOWN results, none of which was executed',
    20,
    [
      on('results', growing(3), { ...transferIn, outcome: 'EXPIRED', revision: 'later' }),
      on('decisions', growing(3), { carried_out: 'true' }),
    ],
    [],
  ],
  ['one command is UNKNOWN', 20, [on('unknownResults', risingTo(1), transferIn, 'a')], ['PaymentsResultsUnknown']],
  [
    'one command is UNKNOWN, and its lane goes to another process after two minutes without one',
    20,
    [
      on('unknownResults', () => '1x34 0x10', transferIn, 'a'),
      on('unknownResults', () => '0x38 1x10', transferIn, 'b'),
    ],
    ['PaymentsResultsUnknown'],
  ],
  [
    'an operator has resolved what was UNKNOWN',
    20,
    [
      on('unknownResults', () => '1x28 0x20', transferIn, 'a'),
      on('results', risingTo(1), { ...transferIn, outcome: 'UNKNOWN' }, 'a'),
    ],
    [],
  ],
  [
    'an operator has held commands for more than an hour, without an end',
    10,
    [
      on('operatorHoldSeconds', flat(4_000), { ...transferIn, ends: 'by-release' }),
      on('operatorHoldSeconds', flat(90_000), { command: 'create-quote', ends: 'by-itself' }),
    ],
    ['PaymentsHoldLasts'],
  ],
  [
    'every quote of a command had run out when it came',
    20,
    [on('quotesRunOut', risingTo(1), { cause: 'on-arrival', made_anew: 'false' }, 'a')],
    ['PaymentsCommandsExpired'],
  ],
  [
    'quotes run out while they wait, and are made anew',
    20,
    [on('quotesRunOut', growing(1), { cause: 'waiting', made_anew: 'true' })],
    [],
  ],
  [
    'a doubt stays',
    15,
    [on('unfinishedOldestSeconds', flat(400), { state: 'DOUBTFUL', operation: 'execute-quote' })],
    ['PaymentsDoubtNotSettled'],
  ],
  ['our own code fails once', 20, [on('ownFailures', risingTo(1), { where: 'entry' }, 'b')], ['PaymentsOwnFailures']],
  [
    'one message becomes a dead letter, and nobody handles it',
    20,
    [on('openDeadLetters', risingTo(1), { reason: 'UNREADABLE' })],
    ['PaymentsDeadLetters'],
  ],
  [
    'an entry failed and a quote ran out before a new process was first looked at',
    20,
    [
      on('ownFailures', flat(3), { where: 'entry' }, 'b'),
      on('quotesRunOut', flat(1), { cause: 'on-arrival', made_anew: 'false' }, 'b'),
    ],
    ['PaymentsCommandsExpired', 'PaymentsOwnFailures'],
  ],
  [
    'commands expired while no process ran, and were counted before a new one was first looked at',
    20,
    [
      on('results', flat(700), { ...transferIn, outcome: 'EXPIRED', revision: 'first' }, 'b'),
      on('results', growing(1), { ...transferIn, outcome: 'ACCEPTED', revision: 'first' }, 'b'),
    ],
    ['PaymentsCommandsExpired'],
  ],
  [
    'one member holds the service, and its commands wait',
    9,
    [
      on('serviceHeld', flat(1), { setting: 'API_BASE_URL' }, 'a'),
      on('oldestNotHeldSeconds', flat(40), transferIn, 'a'),
    ],
    ['PaymentsServiceHeld'],
    {
      ...{ alert: 'PaymentsServiceHeld', severity: 'page', instance: 'a', setting: 'API_BASE_URL' },
      summary:
        'a makes no call of the payment service, and its commands wait. Setting to look at: API_BASE_URL; /health/ready says why.',
    },
  ],
  [
    'one member holds the service, and others have its lanes',
    15,
    [
      on('serviceHeld', flat(1), { setting: 'API_TOKEN_ID' }, 'b'),
      on('ready', flat(0), {}, 'b'),
      on('oldestNotHeldSeconds', flat(40), transferIn, 'a'),
    ],
    ['PaymentsMemberNotReady'],
    {
      ...{ alert: 'PaymentsMemberNotReady', severity: 'ticket', instance: 'b', setting: 'API_TOKEN_ID' },
      summary: 'b has not been ready for minutes; setting to look at: API_TOKEN_ID.',
    },
  ],
  [
    'a breaker opens, every trial fails, and commands wait',
    10,
    [...failingTrials(), on('oldestNotHeldSeconds', flat(40), {}, 'a')],
    ['PaymentsBreakerOpen'],
  ],
  ['a breaker opens, every trial fails, and no command waits', 10, failingTrials(), []],
  [
    'the registry refuses the log-in of one process while no command needs it',
    5,
    [on('registryFailing', flat(1), { cause: 'authentication' }, 'b')],
    ['PaymentsRegistryRefused'],
  ],
  [
    'the registry is away while no command needs it',
    15,
    [
      on('registryFailing', flat(1), { cause: 'unreachable' }),
      on('registryFailing', flat(1), { cause: 'server-error' }),
    ],
    [],
  ],
  ['nothing is scraped', 10, null, ['PaymentsAbsent']],
  ['a lane is open nowhere', 10, [on('lanes', flat(0), { stage: 'open' }, 'b')], ['PaymentsLanesNotOpen']],
  [
    'a lane has stopped',
    10,
    [on('lanes', flat(0), { stage: 'open' }, 'b'), on('lanes', flat(1), { stage: 'stopped' }, 'b')],
    ['PaymentsLaneStopped'],
  ],
  ['an open lane does not move', 15, [on('lagOldestSeconds', growing(30), transferIn, 'a')], ['PaymentsLaneStalled']],
  [
    'a lane commits nothing though it has something to commit',
    15,
    [on('laneUncommittedSeconds', growing(30), {}, 'b')],
    ['PaymentsLaneStalled'],
  ],
  [
    'one lane is lost again and again, and commands wait',
    40,
    [
      on('lanesLost', growing(1), { reason: 'not-committed' }, 'b'),
      on('oldestUnansweredSeconds', flat(40), transferIn, 'b'),
    ],
    ['PaymentsLaneStalled'],
  ],
  [
    'Kafka refuses what a lane would commit',
    20,
    [
      on('lanesLost', risingTo(2), { reason: 'refused' }, 'b'),
      on('oldestUnansweredSeconds', flat(40), transferIn, 'b'),
    ],
    ['PaymentsLaneStalled'],
  ],
  ['a process is lost with its lane, once', 40, [on('lanesLost', risingTo(1), { reason: 'fenced' }, 'b')], []],
  [
    'a publisher leaves a transaction open',
    10,
    [on('heldBackSeconds', growing(30), transferIn, 'a')],
    ['PaymentsCommandsHeldBack'],
  ],
  [
    'Kafka has forgotten a transaction of the ledger',
    10,
    [on('heldBackSeconds', growing(30), { command: 'ledger' }, 'a')],
    ['PaymentsCommandsHeldBack'],
  ],
  [
    'a lane does not move because it is full',
    15,
    [
      on('lagOldestSeconds', growing(30), transferIn, 'a'),
      on('notAdmittedMessages', flat(5), { ...transferIn, cause: 'lane-full' }, 'a'),
    ],
    ['PaymentsBehindAndGrowing'],
  ],
  [
    'a lane cannot be acquired though the ledger is read',
    10,
    [
      on('lanes', flat(0), { stage: 'open' }, 'b'),
      on('lanes', flat(1), { stage: 'acquiring' }, 'b'),
      on('lanesLost', growing(2), { reason: 'not-acquired' }, 'b'),
    ],
    ['PaymentsLanesNotOpen'],
  ],
  [
    'Kafka refuses the rights of one process',
    5,
    [on('kafkaRefused', flat(1), { cause: 'authorization' }, 'b')],
    ['PaymentsKafkaRefused'],
  ],
  ['Kafka does not answer', 10, [on('lagEndsAgeSeconds', growing(30))], ['PaymentsKafkaNotAnswering']],
  [
    'one process does not become ready',
    15,
    [on('ready', flat(0), {}, 'b')],
    ['PaymentsMemberNotReady'],
    {
      ...{ alert: 'PaymentsMemberNotReady', severity: 'ticket', instance: 'b' },
      summary: 'b has not been ready for minutes.',
    },
  ],
  ['nobody polls', 20, [on('polling', flat(0)), on('pollCalls', flat(0))], ['PaymentsPollerFailing']],
  [
    'the poller gets no page',
    20,
    [on('pollCalls', flat(0)), on('pollCalls', growing(1), { outcome: 'unreachable' }, 'a')],
    ['PaymentsPollerFailing'],
  ],
  [
    'a process nears its memory limit',
    15,
    [on('nodejs_heap_size_total_bytes', flat(1.4e9), {}, 'a')],
    ['PaymentsProcessMemory'],
  ],
  [
    'the disk is full tomorrow',
    400,
    [
      on('stateDiskBytes', growing(-1e6, 2e9), { part: 'free' }, 'b'),
      on('stateDiskBytes', growing(1e6, 8e9), { part: 'used' }, 'b'),
    ],
    ['PaymentsDiskFilling'],
    {
      ...{ alert: 'PaymentsDiskFilling', severity: 'ticket', instance: 'b' },
      summary: 'The disk under STATE_DIR of b is full in 10h 0m 0s. A full disk ends the process.',
    },
  ],
  [
    'the disk is nearly full and fills no further',
    30,
    [on('stateDiskBytes', flat(1e8), { part: 'free' }, 'b')],
    ['PaymentsDiskFilling'],
  ],
  [
    'a restore fills a disk that is large enough',
    30,
    [on('stateDiskBytes', growing(-5e7, 9e9), { part: 'free' }, 'b')],
    [],
  ],
  ['all is well', 5, [], []],
  ['all has been well for an hour and a half', 90, [], []],
  [
    'one process is restarted, and its lane is away for a minute',
    60,
    [
      on('lanes', (samples) => `1x80 0x1 1x${samples}`, { stage: 'open' }, 'b'),
      on('lanes', (samples) => `0x80 1x1 0x${samples}`, { stage: 'acquiring' }, 'b'),
      on('ready', (samples) => `1x80 0x1 1x${samples}`, {}, 'b'),
      on('groupConfirmed', (samples) => `1x80 0x1 1x${samples}`, {}, 'b'),
      on('oldestNotHeldSeconds', (samples) => `1x80 30 60 1x${samples}`),
      on('commandDurationSeconds', (samples) => `0+10x80 0+10x${samples}`, {}, 'b', '_count'),
      on('commandDurationSeconds', (samples) => `0+10x80 0+10x${samples}`, {}, 'b', '_bucket'),
    ],
    [],
  ],
];
