/** For each alert: the change to a healthy group that must raise it, and which other alerts that rightly raises. */
import { LANE_ALERT_CASES } from './lane-alert-cases.ts';
import { flat, growing, risingTo, startingWith, type Change, type Instance } from './metric-series.ts';

export interface AlertCase {
  readonly when: string;
  readonly minutes: number;
  /** Null: nothing is scraped. */
  readonly changes: readonly Change[] | null;
  readonly fires: readonly string[];
  /** What one of them says about one member; omit it if that does not matter. */
  readonly says?: {
    readonly alert: string;
    readonly severity: 'page' | 'ticket';
    readonly instance: Instance;
    readonly setting?: string;
    readonly summary: string;
  };
}

const transferIn = { command: 'transfer-in' };

/** This share of commands (10 per sample in all) takes longer than 30 s. */
function slow(share: number): Change[] {
  return ['0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '10', '30'].map((le) => ({
    metric: 'commandDurationSeconds',
    suffix: '_bucket',
    labels: { le },
    course: growing(10 * (1 - share)),
  }));
}

/** Open for two samples out of three, in a trial at the third. */
function failingTrials(): Change[] {
  const course = (open: 0 | 1) => (samples: number) =>
    Array.from({ length: samples }, (_, index) => (index % 3 === 2 ? 1 - open : open)).join(' ');
  const ofStage = (stage: string, of: Change['course']): Change => ({
    metric: 'breakerStage',
    labels: { operation: 'transfer-in', stage },
    instance: 'a',
    course: of,
  });
  return [ofStage('closed', flat(0)), ofStage('open', course(1)), ofStage('trial', course(0))];
}

export const ALERT_CASES: readonly AlertCase[] = [
  {
    when: 'a command is unanswered for a minute and a half',
    minutes: 10,
    changes: [{ metric: 'oldestNotHeldSeconds', labels: transferIn, instance: 'a', course: flat(90) }],
    fires: ['PaymentsOldestUnansweredTooOld'],
  },
  {
    when: 'an operator holds commands until an instant, and they wait',
    minutes: 10,
    changes: [
      { metric: 'operatorHoldSeconds', labels: { ...transferIn, ends: 'by-itself' }, course: flat(600) },
      { metric: 'oldestUnansweredSeconds', labels: transferIn, course: flat(600) },
      { metric: 'lagOldestSeconds', labels: transferIn, course: growing(30) },
      { metric: 'notAdmittedMessages', labels: { ...transferIn, cause: 'operator-hold' }, course: growing(5) },
    ],
    fires: [],
  },
  {
    when: 'an operator holds commands, and one of another type waits',
    minutes: 10,
    changes: [
      { metric: 'operatorHoldSeconds', labels: { command: 'create-quote', ends: 'by-itself' }, course: flat(600) },
      { metric: 'oldestUnansweredSeconds', course: flat(600) },
      { metric: 'oldestNotHeldSeconds', labels: transferIn, instance: 'a', course: flat(90) },
    ],
    fires: ['PaymentsOldestUnansweredTooOld'],
  },
  {
    when: 'half of the commands are answered late',
    minutes: 30,
    changes: slow(0.5),
    fires: ['PaymentsObjectiveMissedFast', 'PaymentsObjectiveMissedSlow'],
  },
  {
    when: 'one in twenty commands is answered late',
    minutes: 30,
    changes: slow(0.05),
    fires: ['PaymentsObjectiveMissedSlow'],
  },
  {
    when: 'half of the commands are answered late because the service is held',
    minutes: 30,
    changes: [
      ...slow(0.5),
      { metric: 'serviceHeld', labels: { setting: 'none' }, course: flat(1) },
      { metric: 'oldestNotHeldSeconds', course: flat(40) },
    ],
    fires: ['PaymentsMemberNotReady', 'PaymentsServiceHeld'],
  },
  {
    when: 'half of the commands are answered late because a hold was released',
    minutes: 30,
    changes: [
      ...slow(0.5),
      { metric: 'operatorHoldSeconds', labels: { ...transferIn, ends: 'by-release' }, course: () => '600x20 0x200' },
    ],
    fires: [],
  },
  {
    when: 'half of the commands are answered late while an operator holds others',
    minutes: 30,
    changes: [
      ...slow(0.5),
      { metric: 'operatorHoldSeconds', labels: { ...transferIn, ends: 'by-itself' }, course: flat(600) },
    ],
    fires: ['PaymentsObjectiveMissedFast', 'PaymentsObjectiveMissedSlow'],
  },
  {
    when: 'half of the commands are answered late while one member of two holds the service',
    minutes: 30,
    changes: [...slow(0.5), { metric: 'serviceHeld', labels: { setting: 'none' }, instance: 'b', course: flat(1) }],
    fires: ['PaymentsMemberNotReady', 'PaymentsObjectiveMissedFast', 'PaymentsObjectiveMissedSlow'],
  },
  {
    when: 'half of the commands are answered late, after a start: the service is held until its first check',
    minutes: 30,
    changes: [...slow(0.5), { metric: 'serviceHeld', labels: { setting: 'none' }, course: startingWith(1) }],
    fires: ['PaymentsObjectiveMissedFast', 'PaymentsObjectiveMissedSlow'],
  },
  {
    when: 'more commands wait from minute to minute',
    minutes: 30,
    changes: [
      { metric: 'notAdmittedMessages', labels: { ...transferIn, cause: 'no-slot' }, course: growing(5) },
      { metric: 'lagOldestSeconds', labels: transferIn, course: flat(20) },
    ],
    fires: ['PaymentsBehindAndGrowing'],
  },
  {
    when: 'a command has waited for half of the retention',
    minutes: 15,
    changes: [{ metric: 'lagOldestSeconds', labels: transferIn, instance: 'b', course: flat(310_000) }],
    fires: ['PaymentsRetentionNear'],
  },
  {
    when: 'commands expire',
    minutes: 20,
    changes: [
      { metric: 'results', labels: { ...transferIn, outcome: 'EXPIRED', revision: 'first' }, course: growing(1) },
    ],
    fires: ['PaymentsCommandsExpired'],
  },
  {
    when: 'an operator clears a backlog of UNKNOWN results, none of which was executed',
    minutes: 20,
    changes: [
      { metric: 'results', labels: { ...transferIn, outcome: 'EXPIRED', revision: 'later' }, course: growing(3) },
      { metric: 'decisions', labels: { carried_out: 'true' }, course: growing(3) },
    ],
    fires: [],
  },
  {
    when: 'one command is UNKNOWN',
    minutes: 20,
    changes: [{ metric: 'unknownResults', labels: transferIn, instance: 'a', course: risingTo(1) }],
    fires: ['PaymentsResultsUnknown'],
  },
  {
    when: 'one command is UNKNOWN, and its lane goes to another process after two minutes without one',
    minutes: 20,
    changes: [
      { metric: 'unknownResults', labels: transferIn, instance: 'a', course: () => '1x34 0x10' },
      { metric: 'unknownResults', labels: transferIn, instance: 'b', course: () => '0x38 1x10' },
    ],
    fires: ['PaymentsResultsUnknown'],
  },
  {
    when: 'an operator has resolved what was UNKNOWN',
    minutes: 20,
    changes: [
      { metric: 'unknownResults', labels: transferIn, instance: 'a', course: () => '1x28 0x20' },
      { metric: 'results', labels: { ...transferIn, outcome: 'UNKNOWN' }, instance: 'a', course: risingTo(1) },
    ],
    fires: [],
  },
  {
    when: 'an operator has held commands for more than an hour, without an end',
    minutes: 10,
    changes: [
      { metric: 'operatorHoldSeconds', labels: { ...transferIn, ends: 'by-release' }, course: flat(4_000) },
      { metric: 'operatorHoldSeconds', labels: { command: 'create-quote', ends: 'by-itself' }, course: flat(90_000) },
    ],
    fires: ['PaymentsHoldLasts'],
  },
  {
    when: 'every quote of a command had run out when it came',
    minutes: 20,
    changes: [
      {
        metric: 'quotesRunOut',
        labels: { cause: 'on-arrival', made_anew: 'false' },
        instance: 'a',
        course: risingTo(1),
      },
    ],
    fires: ['PaymentsCommandsExpired'],
  },
  {
    when: 'quotes run out while they wait, and are made anew',
    minutes: 20,
    changes: [{ metric: 'quotesRunOut', labels: { cause: 'waiting', made_anew: 'true' }, course: growing(1) }],
    fires: [],
  },
  {
    when: 'a doubt stays',
    minutes: 15,
    changes: [
      {
        metric: 'unfinishedOldestSeconds',
        labels: { state: 'DOUBTFUL', operation: 'execute-quote' },
        course: flat(400),
      },
    ],
    fires: ['PaymentsDoubtNotSettled'],
  },
  {
    when: 'our own code fails once',
    minutes: 20,
    changes: [{ metric: 'ownFailures', labels: { where: 'entry' }, instance: 'b', course: risingTo(1) }],
    fires: ['PaymentsOwnFailures'],
  },
  {
    when: 'one message becomes a dead letter, and nobody handles it',
    minutes: 20,
    changes: [{ metric: 'openDeadLetters', labels: { reason: 'UNREADABLE' }, course: risingTo(1) }],
    fires: ['PaymentsDeadLetters'],
  },
  {
    when: 'an entry failed and a quote ran out before a new process was first looked at',
    minutes: 20,
    changes: [
      { metric: 'ownFailures', labels: { where: 'entry' }, instance: 'b', course: flat(3) },
      { metric: 'quotesRunOut', labels: { cause: 'on-arrival', made_anew: 'false' }, instance: 'b', course: flat(1) },
    ],
    fires: ['PaymentsCommandsExpired', 'PaymentsOwnFailures'],
  },
  {
    when: 'one member holds the service, and its commands wait',
    minutes: 9,
    changes: [
      { metric: 'serviceHeld', labels: { setting: 'API_BASE_URL' }, instance: 'a', course: flat(1) },
      { metric: 'oldestNotHeldSeconds', labels: transferIn, instance: 'a', course: flat(40) },
    ],
    fires: ['PaymentsServiceHeld'],
    says: {
      ...{ alert: 'PaymentsServiceHeld', severity: 'page', instance: 'a', setting: 'API_BASE_URL' },
      summary:
        'a makes no call of the payment service, and its commands wait. Setting to look at: API_BASE_URL; /health/ready says why.',
    },
  },
  {
    when: 'one member holds the service, and others have its lanes',
    minutes: 15,
    changes: [
      { metric: 'serviceHeld', labels: { setting: 'API_TOKEN_ID' }, instance: 'b', course: flat(1) },
      { metric: 'ready', instance: 'b', course: flat(0) },
      { metric: 'oldestNotHeldSeconds', labels: transferIn, instance: 'a', course: flat(40) },
    ],
    fires: ['PaymentsMemberNotReady'],
    says: {
      ...{ alert: 'PaymentsMemberNotReady', severity: 'ticket', instance: 'b', setting: 'API_TOKEN_ID' },
      summary: 'b has not been ready for minutes; setting to look at: API_TOKEN_ID.',
    },
  },
  {
    when: 'a breaker opens, every trial fails, and commands wait',
    minutes: 10,
    changes: [...failingTrials(), { metric: 'oldestNotHeldSeconds', instance: 'a', course: flat(40) }],
    fires: ['PaymentsBreakerOpen'],
  },
  {
    when: 'a breaker opens, every trial fails, and no command waits',
    minutes: 10,
    changes: failingTrials(),
    fires: [],
  },
  {
    when: 'the registry refuses the log-in of one process while no command needs it',
    minutes: 5,
    changes: [{ metric: 'registryFailing', labels: { cause: 'authentication' }, instance: 'b', course: flat(1) }],
    fires: ['PaymentsRegistryRefused'],
  },
  {
    when: 'the registry is away while no command needs it',
    minutes: 15,
    changes: [
      { metric: 'registryFailing', labels: { cause: 'unreachable' }, course: flat(1) },
      { metric: 'registryFailing', labels: { cause: 'server-error' }, course: flat(1) },
    ],
    fires: [],
  },
  { when: 'nothing is scraped', minutes: 10, changes: null, fires: ['PaymentsAbsent'] },
  ...LANE_ALERT_CASES,
  {
    when: 'nobody polls',
    minutes: 20,
    changes: [
      { metric: 'polling', course: flat(0) },
      { metric: 'pollCalls', course: flat(0) },
    ],
    fires: ['PaymentsPollerFailing'],
  },
  {
    when: 'the poller gets no page',
    minutes: 20,
    changes: [
      { metric: 'pollCalls', course: flat(0) },
      { metric: 'pollCalls', labels: { outcome: 'unreachable' }, instance: 'a', course: growing(1) },
    ],
    fires: ['PaymentsPollerFailing'],
  },
  {
    when: 'a process nears its memory limit',
    minutes: 15,
    changes: [{ metric: 'nodejs_heap_size_total_bytes', instance: 'a', course: flat(1.4e9) }],
    fires: ['PaymentsProcessMemory'],
  },
  {
    when: 'the disk is full tomorrow',
    minutes: 400,
    changes: [
      { metric: 'stateDiskBytes', labels: { part: 'free' }, instance: 'b', course: growing(-1e6, 2e9) },
      { metric: 'stateDiskBytes', labels: { part: 'used' }, instance: 'b', course: growing(1e6, 8e9) },
    ],
    fires: ['PaymentsDiskFilling'],
    says: {
      ...{ alert: 'PaymentsDiskFilling', severity: 'ticket', instance: 'b' },
      summary: 'The disk under STATE_DIR of b is full in 10h 0m 0s. A full disk ends the process.',
    },
  },
  {
    when: 'the disk is nearly full and fills no further',
    minutes: 30,
    changes: [{ metric: 'stateDiskBytes', labels: { part: 'free' }, instance: 'b', course: flat(1e8) }],
    fires: ['PaymentsDiskFilling'],
  },
  {
    when: 'a restore fills a disk that is large enough',
    minutes: 30,
    changes: [{ metric: 'stateDiskBytes', labels: { part: 'free' }, instance: 'b', course: growing(-5e7, 9e9) }],
    fires: [],
  },
  { when: 'all is well', minutes: 5, changes: [], fires: [] },
  { when: 'all has been well for an hour and a half', minutes: 90, changes: [], fires: [] },
  {
    when: 'one process is restarted, and its lane is away for a minute',
    minutes: 60,
    changes: [
      { metric: 'lanes', labels: { stage: 'open' }, instance: 'b', course: (samples) => `1x80 0x1 1x${samples}` },
      { metric: 'lanes', labels: { stage: 'acquiring' }, instance: 'b', course: (samples) => `0x80 1x1 0x${samples}` },
      { metric: 'ready', instance: 'b', course: (samples) => `1x80 0x1 1x${samples}` },
      { metric: 'groupConfirmed', instance: 'b', course: (samples) => `1x80 0x1 1x${samples}` },
      { metric: 'oldestNotHeldSeconds', course: (samples) => `1x80 30 60 1x${samples}` },
      {
        metric: 'commandDurationSeconds',
        suffix: '_count',
        instance: 'b',
        course: (samples) => `0+10x80 0+10x${samples}`,
      },
      {
        metric: 'commandDurationSeconds',
        suffix: '_bucket',
        instance: 'b',
        course: (samples) => `0+10x80 0+10x${samples}`,
      },
    ],
    fires: [],
  },
];
