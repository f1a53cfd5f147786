/** For each alert on lanes, on their members and on Kafka: the change to a healthy group that must raise it. */
import type { AlertCase } from './alert-cases.ts';
import { flat, growing, risingTo } from './metric-series.ts';

const transferIn = { command: 'transfer-in' };

export const LANE_ALERT_CASES: readonly AlertCase[] = [
  {
    when: 'a lane is open nowhere',
    minutes: 10,
    changes: [{ metric: 'lanes', labels: { stage: 'open' }, instance: 'b', course: flat(0) }],
    fires: ['PaymentsLanesNotOpen'],
  },
  {
    when: 'a lane has stopped',
    minutes: 10,
    changes: [
      { metric: 'lanes', labels: { stage: 'open' }, instance: 'b', course: flat(0) },
      { metric: 'lanes', labels: { stage: 'stopped' }, instance: 'b', course: flat(1) },
    ],
    fires: ['PaymentsLaneStopped'],
  },
  {
    when: 'an open lane does not move',
    minutes: 15,
    changes: [{ metric: 'lagOldestSeconds', labels: transferIn, instance: 'a', course: growing(30) }],
    fires: ['PaymentsLaneStalled'],
  },
  {
    when: 'a lane commits nothing though it has something to commit',
    minutes: 15,
    changes: [{ metric: 'laneUncommittedSeconds', instance: 'b', course: growing(30) }],
    fires: ['PaymentsLaneStalled'],
  },
  {
    when: 'one lane is lost again and again, and commands wait',
    minutes: 40,
    changes: [
      { metric: 'lanesLost', labels: { reason: 'not-committed' }, instance: 'b', course: growing(1) },
      { metric: 'oldestUnansweredSeconds', labels: transferIn, instance: 'b', course: flat(40) },
    ],
    fires: ['PaymentsLaneStalled'],
  },
  {
    when: 'Kafka refuses what a lane would commit',
    minutes: 20,
    changes: [
      { metric: 'lanesLost', labels: { reason: 'refused' }, instance: 'b', course: risingTo(2) },
      { metric: 'oldestUnansweredSeconds', labels: transferIn, instance: 'b', course: flat(40) },
    ],
    fires: ['PaymentsLaneStalled'],
  },
  {
    when: 'a process is lost with its lane, once',
    minutes: 40,
    changes: [{ metric: 'lanesLost', labels: { reason: 'fenced' }, instance: 'b', course: risingTo(1) }],
    fires: [],
  },
  {
    when: 'a publisher leaves a transaction open',
    minutes: 10,
    changes: [{ metric: 'heldBackSeconds', labels: transferIn, instance: 'a', course: growing(30) }],
    fires: ['PaymentsCommandsHeldBack'],
  },
  {
    when: 'Kafka has forgotten a transaction of the ledger',
    minutes: 10,
    changes: [{ metric: 'heldBackSeconds', labels: { command: 'ledger' }, instance: 'a', course: growing(30) }],
    fires: ['PaymentsCommandsHeldBack'],
  },
  {
    when: 'a lane does not move because it is full',
    minutes: 15,
    changes: [
      { metric: 'lagOldestSeconds', labels: transferIn, instance: 'a', course: growing(30) },
      { metric: 'notAdmittedMessages', labels: { ...transferIn, cause: 'lane-full' }, instance: 'a', course: flat(5) },
    ],
    fires: ['PaymentsBehindAndGrowing'],
  },
  {
    when: 'a lane cannot be acquired though the ledger is read',
    minutes: 10,
    changes: [
      { metric: 'lanes', labels: { stage: 'open' }, instance: 'b', course: flat(0) },
      { metric: 'lanes', labels: { stage: 'acquiring' }, instance: 'b', course: flat(1) },
      { metric: 'lanesLost', labels: { reason: 'not-acquired' }, instance: 'b', course: growing(2) },
    ],
    fires: ['PaymentsLanesNotOpen'],
  },
  {
    when: 'Kafka refuses the rights of one process',
    minutes: 5,
    changes: [{ metric: 'kafkaRefused', labels: { cause: 'authorization' }, instance: 'b', course: flat(1) }],
    fires: ['PaymentsKafkaRefused'],
  },
  {
    when: 'Kafka does not answer',
    minutes: 10,
    changes: [{ metric: 'lagEndsAgeSeconds', course: growing(30) }],
    fires: ['PaymentsKafkaNotAnswering'],
  },
  {
    when: 'one process does not become ready',
    minutes: 15,
    changes: [{ metric: 'ready', instance: 'b', course: flat(0) }],
    fires: ['PaymentsMemberNotReady'],
    says: {
      ...{ alert: 'PaymentsMemberNotReady', severity: 'ticket', instance: 'b' },
      summary: 'b has not been ready for minutes.',
    },
  },
];
