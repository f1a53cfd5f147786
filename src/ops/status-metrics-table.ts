/** The part of the table of metrics that is about statuses: their changes, and the poller. */
import type { MetricDefinition } from './metric-definition.ts';
import { LIST_OUTCOMES, POLL_KINDS, STATUS_KINDS } from './metric-labels.ts';

export const STATUS_METRICS = {
  statusChanges: {
    name: 'payments_status_changes_total',
    type: 'counter',
    help: 'Status changes published, by what changed.',
    labels: { kind: STATUS_KINDS },
  },
  polling: {
    name: 'payments_polling',
    type: 'gauge',
    help: '1 while this process polls the statuses of transactions, which the owner of lane 0 does; else 0.',
    labels: {},
  },
  pollCalls: {
    name: 'payments_poll_calls_total',
    type: 'counter',
    help: 'Pages of GET /transactions that the status poller asked for, by purpose and by the class of the answer.',
    labels: { kind: POLL_KINDS, outcome: LIST_OUTCOMES },
  },
  pollObservations: {
    name: 'payments_poll_observations_total',
    type: 'counter',
    help: 'Observations published by the status poller: transactions that showed something new.',
    labels: {},
  },
  pollBudgetWaitSeconds: {
    name: 'payments_poll_budget_wait_seconds_total',
    type: 'counter',
    help: 'Time that due pages waited for POLL_MAX_CALLS_PER_MINUTE. Close to one second per second, the budget is used up and the poller sees changes later.',
    labels: {},
  },
  pollWatched: {
    name: 'payments_poll_watched',
    type: 'gauge',
    help: 'Transactions that the status poller watches one by one: open ones, and terminal ones that took long to finish.',
    labels: {},
  },
  pollSweptTimestampSeconds: {
    name: 'payments_poll_swept_timestamp_seconds',
    type: 'gauge',
    help: 'When the last full pass over all watched transactions ended, in seconds since 1970; 0 until this process has seen one.',
    labels: {},
  },
} as const satisfies Record<string, MetricDefinition>;
