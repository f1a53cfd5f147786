/** The metrics about statuses: their changes and the poller. Part of the table in `metrics-table.ts`. */
import type { MetricDefinition } from './metric-definition.ts';
import { LIST_OUTCOMES, POLL_KINDS, STATUS_KINDS } from './metric-labels.ts';

export const STATUS_METRICS = {
  statusChanges: {
    name: 'payments_status_changes_total',
    type: 'counter',
    help: 'Published status changes, by what changed.',
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
    help: 'Pages of GET /transactions that the status poller requested, by purpose and class of response.',
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
    help: 'Time that due pages waited for POLL_MAX_CALLS_PER_MINUTE. If it grows by almost one second per second, the budget is used up and the poller sees changes late.',
    labels: {},
  },
  pollWatched: {
    name: 'payments_poll_watched',
    type: 'gauge',
    help: 'Transactions that the status poller watches one by one: open ones, those of executed quotes that no page has shown yet, and terminal ones that took long to finish.',
    labels: {},
  },
  pollSweptTimestampSeconds: {
    name: 'payments_poll_swept_timestamp_seconds',
    type: 'gauge',
    help: 'Unix time at which the last full sweep ended: the slow pass over all recently created transactions, which finds changes that other pages miss. 0 until this process has seen one.',
    labels: {},
  },
} as const satisfies Record<string, MetricDefinition>;
