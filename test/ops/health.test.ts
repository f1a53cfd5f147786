import { describe, expect, it } from 'vitest';
import { readiness } from '../../src/ops/health.ts';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';
import { FakeProcessor, inputStatus, laneStatus } from './fake-processor.ts';

interface Row {
  name: string;
  change: (processor: FakeProcessor) => void;
  ready: boolean;
  reasons: string[];
}

function openBreakers(processor: FakeProcessor, ...operations: readonly (typeof COMMAND_TYPES)[number][]): void {
  for (const operation of operations) processor.api.operations[operation].breaker = 'open';
}

const REFUSED = { failure: { kind: 'authentication' }, problem: 'it rejected the login' } as const;

const ROWS: Row[] = [
  { name: 'all is well', change: () => undefined, ready: true, reasons: [] },
  {
    name: 'a member without lanes stands by',
    change: (processor) => Object.assign(processor.lanes, { assigned: [], lanes: new Map() }),
    ready: true,
    reasons: [],
  },
  {
    name: 'before the first assignment',
    change: (processor) =>
      Object.assign(processor.lanes, { assigned: null, lanes: new Map(), isGroupConfirmed: false }),
    ready: false,
    reasons: ['not yet assigned: the consumer group has not assigned any lanes'],
  },
  {
    name: 'Kafka does not confirm the group',
    change: (processor) => (processor.lanes.isGroupConfirmed = false),
    ready: false,
    reasons: ['group not confirmed: Kafka has answered no heartbeat within the session timeout'],
  },
  {
    name: 'Kafka refuses rights, which is told before what follows from it',
    change: (processor) => {
      processor.kafkaAccess = { kind: 'refused', cause: 'authorization', problems: ['one right', 'another right'] };
      processor.lanes.isGroupConfirmed = false;
    },
    ready: false,
    reasons: [
      'refused by Kafka: one right',
      'refused by Kafka: another right',
      'group not confirmed: Kafka has answered no heartbeat within the session timeout',
    ],
  },
  {
    name: 'the start waits for somebody who does not answer',
    change: (processor) => {
      const kafka = { whom: 'Kafka at 127.0.0.1:9092', what: 'opening the ledger' };
      processor.starting = { ...kafka, waitedMs: 45_400, failedTries: 1, problem: 'a request timed out' };
      processor.lanes.assigned = null;
    },
    ready: false,
    reasons: [
      'starting: opening the ledger; waited 45 s for Kafka at 127.0.0.1:9092, 1 try failed: a request timed out',
      'not yet assigned: the consumer group has not assigned any lanes',
    ],
  },
  {
    name: 'Kafka is away, which is no refusal',
    change: (processor) => (processor.kafkaAccess = { kind: 'unknown', problem: 'no broker answers' }),
    ready: true,
    reasons: ['Kafka access cannot be checked: no broker answers'],
  },
  {
    name: 'the registry refuses us while no lane needs it',
    change: (processor) => (processor.registryFault = REFUSED),
    ready: true,
    reasons: ['the schema registry cannot be used, but no command waits for it: it rejected the login'],
  },
  {
    name: 'the registry refuses us and a lane waits for it, told once',
    change: (processor) => {
      processor.registryFault = REFUSED;
      processor.setLane(
        0,
        laneStatus({ inputs: [inputStatus({ cause: 'registry', problem: 'schema id 5: refused' })] }),
      );
    },
    ready: false,
    reasons: ['the schema registry cannot be used (lane 0): schema id 5: refused'],
  },
  {
    name: 'lanes are being acquired',
    change: (processor) => {
      processor.setLane(1, laneStatus({ stage: 'acquiring' }));
      processor.setLane(4, laneStatus({ stage: 'acquiring' }));
    },
    ready: false,
    reasons: ['acquiring lanes 1, 4'],
  },
  {
    name: 'a lane is being released',
    change: (processor) => processor.setLane(2, laneStatus({ stage: 'releasing' })),
    ready: false,
    reasons: ['releasing lane 2'],
  },
  {
    name: 'a lane is stopped',
    change: (processor) => processor.setLane(3, laneStatus({ stage: 'stopped', stoppedReason: 'the topic was lost' })),
    ready: false,
    reasons: ['lane 3 is stopped: the topic was lost'],
  },
  {
    name: 'an unusable registry, reported once for all lanes',
    change: (processor) => {
      const waiting = inputStatus({ cause: 'registry', problem: 'schema id 5 cannot be looked up' });
      for (const lane of [0, 1]) processor.setLane(lane, laneStatus({ inputs: [waiting] }));
    },
    ready: false,
    reasons: ['the schema registry cannot be used (lanes 0, 1): schema id 5 cannot be looked up'],
  },
  {
    name: 'the service was not checked yet',
    change: (processor) => (processor.api.state = { kind: 'unchecked' }),
    ready: false,
    reasons: ['payment service not checked yet'],
  },
  {
    name: 'the service is held',
    change: (processor) =>
      (processor.api.state = { kind: 'held', reason: 'wrong credentials', setting: 'API_TOKEN_ID', sinceMs: 0 }),
    ready: false,
    reasons: ['payment service held: wrong credentials'],
  },
  {
    name: 'other members have the lanes, for the service does not serve this one: told once',
    change: (processor) => {
      processor.lanes.asideReason = 'wrong credentials';
      processor.api.state = { kind: 'held', reason: 'wrong credentials', setting: 'API_TOKEN_ID', sinceMs: 0 };
    },
    ready: false,
    reasons: ['stands aside, and other members have the lanes: wrong credentials'],
  },
  {
    name: 'one breaker is open: said, but the others are served',
    change: (processor) => openBreakers(processor, 'execute-quote'),
    ready: true,
    reasons: ['breaker open for execute-quote'],
  },
  {
    name: 'every breaker is open: unreachable',
    change: (processor) => openBreakers(processor, ...COMMAND_TYPES),
    ready: false,
    reasons: [`payment service unreachable: breaker open for ${COMMAND_TYPES.join(', ')}`],
  },
  {
    name: 'draining',
    change: (processor) => (processor.isDraining = true),
    ready: false,
    reasons: ['draining: the process is shutting down'],
  },
  {
    name: 'a lane that is lost over and over: told with the last reason, also while it is open for a moment',
    change: (processor) => {
      const trouble = { losses: 4, sinceMs: 0, lastMs: 9, reason: 'refused' as const, message: 'too large' };
      processor.setLane(0, laneStatus({ trouble }));
      processor.setLane(1, laneStatus({ trouble: { ...trouble, losses: 1 } }));
    },
    ready: true,
    reasons: ['lost repeatedly: lane 0 (4 times recently); last reason: refused: too large'],
  },
  {
    name: 'several at once are all told',
    change: (processor) => {
      processor.isDraining = true;
      processor.lanes.isGroupConfirmed = false;
      processor.setLane(0, laneStatus({ stage: 'releasing' }));
    },
    ready: false,
    reasons: [
      'draining: the process is shutting down',
      'group not confirmed: Kafka has answered no heartbeat within the session timeout',
      'releasing lane 0',
    ],
  },
];

describe('readiness', () => {
  it.each(ROWS)('$name', ({ change, ready, reasons }) => {
    const processor = new FakeProcessor();
    change(processor);
    const { api, isDraining, kafkaAccess, lanes, registryFault, starting } = processor;
    const asked = { api, isDraining, kafkaAccess, registryFault, lanes, starting, servedOperations: COMMAND_TYPES };
    expect(readiness(asked)).toEqual({
      ready,
      reasons,
    });
  });
});
