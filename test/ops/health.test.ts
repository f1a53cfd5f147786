import { expect, test } from 'vitest';
import { readiness } from '../../src/ops/health.ts';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';
import { LedgerShortenedError } from '../../src/store/ledger-start.ts';
import { FakeProcessor, inputStatus, laneStatus } from './fake-processor.ts';

/** A module of the page, without browser types. */
const nextSteps: unknown = await import(new URL('../../src/ops/page/next-steps.js', import.meta.url).href);
const { stepOfReason } = nextSteps as { stepOfReason: (reason: string) => { advice: string } };

type Row = [name: string, reasons: string[], change: (processor: FakeProcessor) => void];

function openBreakers(processor: FakeProcessor, ...operations: readonly (typeof COMMAND_TYPES)[number][]): void {
  for (const operation of operations) processor.api.operations[operation].breaker = 'open';
}

const REFUSED = { failure: { kind: 'authentication' }, problem: 'it rejected the login' } as const;

const READY: Row[] = [
  ['all is well', [], () => undefined],
  [
    'a member without lanes stands by',
    [],
    (processor) => Object.assign(processor.lanes, { assigned: [], lanes: new Map() }),
  ],
  [
    'Kafka is away, which is no refusal',
    ['Kafka access cannot be checked: no broker answers'],
    (processor) => (processor.kafkaAccess = { kind: 'unknown', problem: 'no broker answers' }),
  ],
  [
    'the registry refuses us while no lane needs it',
    ['the schema registry cannot be used, but no command waits for it: it rejected the login'],
    (processor) => (processor.registryFault = REFUSED),
  ],
  [
    'one breaker is open: said, but the others are served',
    ['breaker open for execute-quote'],
    (processor) => openBreakers(processor, 'execute-quote'),
  ],
  [
    'a lane that is lost over and over: told with the last reason, also while it is open for a moment',
    ['lost repeatedly: lane 0 (4 times recently); last reason: refused: too large'],
    (processor) => {
      const trouble = { losses: 4, sinceMs: 0, lastMs: 9, reason: 'refused' as const, message: 'too large' };
      processor.setLane(0, laneStatus({ trouble }));
      processor.setLane(1, laneStatus({ trouble: { ...trouble, losses: 1 } }));
    },
  ],
];

const NOT_READY: Row[] = [
  [
    'before the first assignment',
    ['not yet assigned: the consumer group has not assigned any lanes'],
    (processor) => Object.assign(processor.lanes, { assigned: null, lanes: new Map(), isGroupConfirmed: false }),
  ],
  [
    'Kafka does not confirm the group',
    ['group not confirmed: Kafka has answered no heartbeat within the session timeout'],
    (processor) => (processor.lanes.isGroupConfirmed = false),
  ],
  [
    'Kafka refuses rights, which is told before what follows from it',
    [
      'refused by Kafka: one right',
      'refused by Kafka: another right',
      'group not confirmed: Kafka has answered no heartbeat within the session timeout',
    ],
    (processor) => {
      processor.kafkaAccess = { kind: 'refused', cause: 'authorization', problems: ['one right', 'another right'] };
      processor.lanes.isGroupConfirmed = false;
    },
  ],
  [
    'the start waits for somebody who does not answer',
    [
      'starting: opening the ledger; waited 45 s for Kafka at 127.0.0.1:9092, 1 try failed: a request timed out',
      'not yet assigned: the consumer group has not assigned any lanes',
    ],
    (processor) => {
      const kafka = { whom: 'Kafka at 127.0.0.1:9092', what: 'opening the ledger' };
      processor.starting = { ...kafka, waitedMs: 45_400, failedTries: 1, problem: 'a request timed out' };
      processor.lanes.assigned = null;
    },
  ],
  [
    'the registry refuses us and a lane waits for it, told once',
    ['the schema registry cannot be used (lane 0): schema id 5: refused'],
    (processor) => {
      processor.registryFault = REFUSED;
      processor.setLane(
        0,
        laneStatus({ inputs: [inputStatus({ cause: 'registry', problem: 'schema id 5: refused' })] }),
      );
    },
  ],
  [
    'lanes are being acquired',
    ['acquiring lanes 1, 4'],
    (processor) => {
      processor.setLane(1, laneStatus({ stage: 'acquiring' }));
      processor.setLane(4, laneStatus({ stage: 'acquiring' }));
    },
  ],
  [
    'a lane is being released',
    ['releasing lane 2'],
    (processor) => processor.setLane(2, laneStatus({ stage: 'releasing' })),
  ],
  [
    'a lane is stopped',
    ['lane 3 is stopped: the topic was lost'],
    (processor) => processor.setLane(3, laneStatus({ stage: 'stopped', stoppedReason: 'the topic was lost' })),
  ],
  [
    'an unusable registry, reported once for all lanes',
    ['the schema registry cannot be used (lanes 0, 1): schema id 5 cannot be looked up'],
    (processor) => {
      const waiting = inputStatus({ cause: 'registry', problem: 'schema id 5 cannot be looked up' });
      for (const lane of [0, 1]) processor.setLane(lane, laneStatus({ inputs: [waiting] }));
    },
  ],
  [
    'the service was not checked yet',
    ['payment service not checked yet'],
    (processor) => (processor.api.state = { kind: 'unchecked' }),
  ],
  [
    'the service is held',
    ['payment service held: wrong credentials'],
    (processor) =>
      (processor.api.state = { kind: 'held', reason: 'wrong credentials', setting: 'API_TOKEN_ID', sinceMs: 0 }),
  ],
  [
    'other members have the lanes, for the service does not serve this one: told once',
    ['stands aside, and other members have the lanes: wrong credentials'],
    (processor) => {
      processor.lanes.asideReason = 'wrong credentials';
      processor.api.state = { kind: 'held', reason: 'wrong credentials', setting: 'API_TOKEN_ID', sinceMs: 0 };
    },
  ],
  [
    'every breaker is open: unreachable',
    [`payment service unreachable: breaker open for ${COMMAND_TYPES.join(', ')}`],
    (processor) => openBreakers(processor, ...COMMAND_TYPES),
  ],
  ['draining', ['draining: the process is shutting down'], (processor) => (processor.isDraining = true)],
  [
    'several at once are all told',
    [
      'draining: the process is shutting down',
      'group not confirmed: Kafka has answered no heartbeat within the session timeout',
      'releasing lane 0',
    ],
    (processor) => {
      processor.isDraining = true;
      processor.lanes.isGroupConfirmed = false;
      processor.setLane(0, laneStatus({ stage: 'releasing' }));
    },
  ],
];

function expectReadiness(ready: boolean, reasons: readonly string[], change: Row[2]): void {
  const processor = new FakeProcessor();
  change(processor);
  const { api, isDraining, kafkaAccess, lanes, registryFault, starting } = processor;
  const asked = { api, isDraining, kafkaAccess, lanes, registryFault, starting, servedOperations: COMMAND_TYPES };
  expect(readiness(asked)).toEqual({ ready, reasons });
}

test.each(READY)('ready: %s', (_name, reasons, change) => expectReadiness(true, reasons, change));
test.each(NOT_READY)('not ready: %s', (_name, reasons, change) => expectReadiness(false, reasons, change));

test.each([...READY, ...NOT_READY])('the page says what to do: %s', (_name, reasons) => {
  for (const reason of reasons) expect(stepOfReason(reason).advice, reason).not.toBe('See the log.');
});

test('a start that waits because the ledger has lost records has a step of its own', () => {
  const { message } = new LedgerShortenedError('ledger', 1, 7n, 2n);
  expect(stepOfReason(`starting: opening the ledger: ${message}`).advice).toContain('delete no volume');
});
