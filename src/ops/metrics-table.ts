/**
 * Every metric of the processor, in one table. Registration, documentation, dashboards and alerts follow from it.
 *
 * A label takes only the values listed here, which bounds the number of series; any other value becomes `other`. Keys,
 * accounts and bodies are never labels.
 */
import { OUTCOME_NAMES } from 'payment-processor-contract/commands';
import { BREAKER_STAGES } from '../api/breaker.ts';
import { LANE_STAGES } from '../lanes/lane-status.ts';
import { LANE_LOSSES } from '../lanes/commits/troubles.ts';
import { DEAD_LETTER_REASONS } from '../producers/dead-letters.ts';
import { POLL_WORK_KINDS } from '../status/poller/agenda.ts';
import { NOT_ADMITTED_CAUSES } from './lag.ts';
import {
  CALL_OUTCOMES,
  COMMANDS,
  HELD_BACK,
  HELD_SETTINGS,
  HOLD_ENDS,
  KAFKA_REFUSALS,
  LIST_OUTCOMES,
  OPERATIONS,
  PUBLISHED,
  QUOTE_RUN_OUT_CAUSES,
  REGISTRY_FAILURES,
  REVISIONS,
  STATUS_KINDS,
  UNFINISHED_STATES,
} from './metric-labels.ts';

/** The values of a label; `lanes`: lane numbers, bounded by the setting LANES; `own`: one value per process. */
export type LabelValues = readonly string[] | 'lanes' | 'own';

export interface MetricDefinition {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: Readonly<Record<string, LabelValues>>;
  /** Upper bounds of a histogram, in the unit of its name. */
  readonly buckets?: readonly number[];
}

/** Replaces any value that is not listed. */
export const OTHER = 'other';

/** A healthy call takes tens of milliseconds; the last bounds are for long deadlines. */
const CALL_BUCKETS_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** From an immediate answer to a command that waited out an outage. */
const COMMAND_BUCKETS_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86_400];

export const METRICS = {
  buildInfo: {
    name: 'payments_build_info',
    type: 'gauge',
    help: 'Always 1. The labels give the release, the name of the process (its host or Kubernetes pod, then the start of its id) and TOPIC_PREFIX.',
    labels: { version: 'own', process: 'own', prefix: 'own' },
  },
  lagMessages: {
    name: 'payments_lag_messages',
    type: 'gauge',
    help: "Commands, operators' decisions and holds not yet admitted to the ledger: the end of the partition minus the position of the lane. Only lanes assigned to this process.",
    labels: { lane: 'lanes', command: PUBLISHED },
  },
  lagOldestSeconds: {
    name: 'payments_lag_oldest_seconds',
    type: 'gauge',
    help: 'Age of the oldest message not yet admitted; 0 without lag. Before the process has fetched that message: the time for which it has seen lag at that offset.',
    labels: { lane: 'lanes', command: PUBLISHED },
  },
  lagEndsAgeSeconds: {
    name: 'payments_lag_ends_age_seconds',
    type: 'gauge',
    help: 'Age of the partition ends that the lag is computed from. It grows while Kafka does not answer. Before the first answer: time since the start.',
    labels: {},
  },
  heldBackMessages: {
    name: 'payments_held_back_messages',
    type: 'gauge',
    help: "Commands, operators' decisions and holds that no reader gets, because they lie behind a publisher's open transaction: the high watermark minus the last stable offset. No lag metric counts them.",
    labels: { lane: 'lanes', command: PUBLISHED },
  },
  heldBackSeconds: {
    name: 'payments_held_back_seconds',
    type: 'gauge',
    help: 'How long an open transaction has blocked readers; 0 if none does. `ledger`: a transaction of the processor itself, reported after 30 seconds; no process can take the lane over until it ends.',
    labels: { lane: 'lanes', command: HELD_BACK },
  },
  notAdmittedMessages: {
    name: 'payments_not_admitted_messages',
    type: 'gauge',
    help: "The lag, by what keeps a lane's oldest message from being admitted. The causes add up to the lag.",
    labels: { command: PUBLISHED, cause: NOT_ADMITTED_CAUSES },
  },
  observationsLagMessages: {
    name: 'payments_observations_lag_messages',
    type: 'gauge',
    help: 'Observations of transactions not yet reduced to status changes.',
    labels: { lane: 'lanes' },
  },
  unfinishedEntries: {
    name: 'payments_unfinished_entries',
    type: 'gauge',
    help: 'Admitted commands of open lanes without a result, by the state of their ledger entry and by their current operation. A command in doubt counts as DOUBTFUL even while its call is repeated.',
    labels: { state: UNFINISHED_STATES, operation: COMMANDS },
  },
  unfinishedOldestSeconds: {
    name: 'payments_unfinished_oldest_seconds',
    type: 'gauge',
    help: 'Age of the oldest admitted command of an open lane without a result, from its timestamp; 0 if there is none. States as in payments_unfinished_entries.',
    labels: { state: UNFINISHED_STATES, operation: COMMANDS },
  },
  laneUnfinishedEntries: {
    name: 'payments_lane_unfinished_entries',
    type: 'gauge',
    help: 'Admitted commands without a result, by open lane.',
    labels: { lane: 'lanes' },
  },
  laneUnfinishedLimitEntries: {
    name: 'payments_lane_unfinished_limit_entries',
    type: 'gauge',
    help: 'The setting MAX_UNFINISHED_PER_LANE: how many admitted commands without a result a lane may hold. At the limit the lane admits nothing.',
    labels: {},
  },
  oldestUnansweredSeconds: {
    name: 'payments_oldest_unanswered_seconds',
    type: 'gauge',
    help: 'Age of the oldest command without a result, in Kafka or in the ledger of an open lane; 0 if there is none.',
    labels: { command: COMMANDS },
  },
  oldestNotHeldSeconds: {
    name: 'payments_oldest_not_held_seconds',
    type: 'gauge',
    help: 'As payments_oldest_unanswered_seconds, without commands that an operator holds. A held command in doubt still counts.',
    labels: { command: COMMANDS },
  },
  results: {
    name: 'payments_results_total',
    type: 'counter',
    help: "Results, by command, outcome and revision: `first`, or `later` from an operator's decision. A result counts once, when its transaction is committed.",
    labels: { command: COMMANDS, outcome: OUTCOME_NAMES, revision: REVISIONS },
  },
  commandDurationSeconds: {
    name: 'payments_command_duration_seconds',
    type: 'histogram',
    help: 'Time from the timestamp of a command to the first revision of its result.',
    labels: { command: COMMANDS },
    buckets: COMMAND_BUCKETS_SECONDS,
  },
  unknownResults: {
    name: 'payments_unknown_results',
    type: 'gauge',
    help: "UNKNOWN results in the ledger that wait for an operator's decision. Only lanes assigned to this process.",
    labels: { command: COMMANDS },
  },
  unknownOldestSeconds: {
    name: 'payments_unknown_oldest_seconds',
    type: 'gauge',
    help: "How long the oldest UNKNOWN result in the lanes assigned to this process has waited for an operator's decision; 0 if there is none.",
    labels: { command: COMMANDS },
  },
  operatorHoldSeconds: {
    name: 'payments_operator_hold_seconds',
    type: 'gauge',
    help: "How long an operator has held commands; 0 if nobody does. `ends`: at a set time, or only by a release. All lanes, from this process's copy of the ledger.",
    labels: { command: COMMANDS, ends: HOLD_ENDS },
  },
  replays: {
    name: 'payments_replays_total',
    type: 'counter',
    help: 'Copies of finished commands, each answered with the same result again.',
    labels: {},
  },
  deadLetters: {
    name: 'payments_dead_letters_total',
    type: 'counter',
    help: 'Messages put on the dead-letter topic, by reason.',
    labels: { reason: DEAD_LETTER_REASONS },
  },
  openDeadLetters: {
    name: 'payments_dead_letters_open',
    type: 'gauge',
    help: 'Messages on the dead-letter topic that nobody has redriven or acknowledged, by reason; refused decisions never count. Counts the letters of all processes, up to 10,000 in all; after a start, those among the newest 10,000 offsets of each lane. Until the topic has been read, a reason without dead letters has no value.',
    labels: { reason: DEAD_LETTER_REASONS },
  },
  moved: {
    name: 'payments_moved_total',
    type: 'counter',
    help: "Commands and operators' decisions that the processor found in the wrong partition and moved to their key's partition.",
    labels: {},
  },
  quotesRunOut: {
    name: 'payments_quotes_run_out_total',
    type: 'counter',
    help: 'Quotes of commands with immediatelyExecute that expired before an execution took effect. `cause`: on arrival (the quote had expired, or was about to within seconds), or while waiting. `made_anew`: true if the processor makes another quote, false if the command ended EXPIRED.',
    labels: { cause: QUOTE_RUN_OUT_CAUSES, made_anew: ['true', 'false'] },
  },
  decisions: {
    name: 'payments_operator_decisions_total',
    type: 'counter',
    help: "Operators' decisions on results, by whether they were carried out.",
    labels: { carried_out: ['true', 'false'] },
  },
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
    labels: { kind: POLL_WORK_KINDS, outcome: LIST_OUTCOMES },
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
    help: 'Transactions that the status poller watches one by one: open ones, those of executed quotes that no page has shown yet, those whose order of changes is unclear, and terminal ones that took long to finish.',
    labels: {},
  },
  pollSweptTimestampSeconds: {
    name: 'payments_poll_swept_timestamp_seconds',
    type: 'gauge',
    help: 'Unix time at which the last full sweep ended: the slow pass over all recently created transactions, which finds changes that other pages miss. 0 until this process has seen one.',
    labels: {},
  },
  commits: {
    name: 'payments_commits_total',
    type: 'counter',
    help: 'Commits of lanes. A Kafka transaction with the commits of several lanes counts once for each.',
    labels: {},
  },
  laneUncommittedSeconds: {
    name: 'payments_lane_uncommitted_seconds',
    type: 'gauge',
    help: 'How long an open lane has committed nothing although it has something to commit: a transaction under way, or messages that it could admit. 0 if it has nothing to commit. A lane that is not open has no value.',
    labels: { lane: 'lanes' },
  },
  lanesLost: {
    name: 'payments_lanes_lost_total',
    type: 'counter',
    help: 'Lost lanes and failed attempts to acquire one, by reason. The next owner rereads the messages that a lost lane had not committed, and settles calls that are in doubt.',
    labels: { reason: LANE_LOSSES },
  },
  redelivered: {
    name: 'payments_redelivered_messages_total',
    type: 'counter',
    help: 'Messages that Kafka delivered again to a lane; the lane skips them.',
    labels: {},
  },
  ownFailures: {
    name: 'payments_own_failures_total',
    type: 'counter',
    help: 'Failures of our own code on a message or an entry; each is a bug. After three failures the lane sets the message or entry aside.',
    labels: { where: ['entry', 'admission', 'decision', 'hold', 'observation'] },
  },
  apiCallDurationSeconds: {
    name: 'payments_api_call_duration_seconds',
    type: 'histogram',
    help: 'Duration of calls to the payment API, including those that ended before they were sent, by operation and class of response.',
    labels: { operation: OPERATIONS, outcome: CALL_OUTCOMES },
    buckets: CALL_BUCKETS_SECONDS,
  },
  apiResponses: {
    name: 'payments_api_responses_total',
    type: 'counter',
    help: 'Calls to the payment API, by class of HTTP status; `none` if no status came.',
    labels: { operation: OPERATIONS, status: ['1xx', '2xx', '3xx', '4xx', '5xx', 'none'] },
  },
  breakerStage: {
    name: 'payments_breaker_stage',
    type: 'gauge',
    help: "Stage of an operation's breaker: 1 for the current stage, else 0.",
    labels: { operation: COMMANDS, stage: BREAKER_STAGES },
  },
  callsUnderWay: {
    name: 'payments_calls_under_way',
    type: 'gauge',
    help: 'Calls to the payment API under way.',
    labels: { operation: COMMANDS },
  },
  callSlots: {
    name: 'payments_call_slots',
    type: 'gauge',
    help: 'The setting API_MAX_CONCURRENCY: how many calls to the payment API this process may have under way at once.',
    labels: {},
  },
  serviceHeld: {
    name: 'payments_service_held',
    type: 'gauge',
    help: '1 while this process holds its calls to the payment service, or has not checked the service yet; else 0. `setting`: the one to check; `none` if the service does not answer or asks to wait, or has not been checked yet.',
    labels: { setting: HELD_SETTINGS },
  },
  ready: {
    name: 'payments_ready',
    type: 'gauge',
    help: '1 while the process is ready, as in /health/ready; else 0.',
    labels: {},
  },
  kafkaRefused: {
    name: 'payments_kafka_refused',
    type: 'gauge',
    help: '1 while Kafka refuses this process, by cause. Readiness and the log name the setting to correct or the right to grant. The process checks this only while readiness has a reason or its partition ends are old.',
    labels: { cause: KAFKA_REFUSALS },
  },
  registryFailing: {
    name: 'payments_registry_failing',
    type: 'gauge',
    help: '1 while this process cannot use the schema registry, by cause. Readiness and the log name the setting to correct or the right to grant. The process checks this every 5 seconds, even if no command needs the registry.',
    labels: { cause: REGISTRY_FAILURES },
  },
  groupConfirmed: {
    name: 'payments_group_confirmed',
    type: 'gauge',
    help: '1 if Kafka has confirmed the group membership of this process within the session timeout; else 0.',
    labels: {},
  },
  lanes: {
    name: 'payments_lanes',
    type: 'gauge',
    help: 'Lanes assigned to this process, by stage.',
    labels: { stage: LANE_STAGES },
  },
  lanesConfigured: {
    name: 'payments_lanes_configured',
    type: 'gauge',
    help: 'The setting LANES. The sum of open lanes over all processes should equal it.',
    labels: {},
  },
  ledgerBehindRecords: {
    name: 'payments_ledger_behind_records',
    type: 'gauge',
    help: 'Ledger records, all lanes, that the local store of this process has not yet applied. The process reads them before it takes a lane over. The metric counts offsets, so records that compaction has removed also count. NaN while the end of the ledger is unknown.',
    labels: {},
  },
  ledgerRestoreSeconds: {
    name: 'payments_ledger_restore_seconds',
    type: 'gauge',
    help: 'How long restoring the ledger took at startup: from opening the local store until it had applied everything that the ledger held then. During the restore: the time so far.',
    labels: {},
  },
  keysRemembered: {
    name: 'payments_keys_remembered',
    type: 'gauge',
    help: "Keys in this process's index of the ledger, all lanes.",
    labels: {},
  },
  stateDiskBytes: {
    name: 'payments_state_disk_bytes',
    type: 'gauge',
    help: 'Free and used bytes of the file system of STATE_DIR. The process ends when the file system is full.',
    labels: { part: ['free', 'used'] },
  },
  storeBytes: {
    name: 'payments_store_bytes',
    type: 'gauge',
    help: "Bytes that this process's local store occupies on the file system of STATE_DIR.",
    labels: {},
  },
  memoryLimitBytes: {
    name: 'payments_memory_limit_bytes',
    type: 'gauge',
    help: 'Memory that this process may use: the limit of its container, or else the memory of the machine.',
    labels: {},
  },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof METRICS;
export type LabelsOf<Name extends MetricName> = { readonly [Label in keyof (typeof METRICS)[Name]['labels']]: string };
