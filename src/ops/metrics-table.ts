/**
 * Every metric of the processor, in one table: registration, documentation, dashboards and alerts follow from it.
 *
 * Labels take only the values listed, so that their number is bounded; what is not listed is counted as `other`. Keys,
 * accounts and bodies are never labels.
 */
import { OUTCOME_NAMES } from 'payment-processor-contract/commands';
import type { MetricDefinition } from './metric-definition.ts';
import {
  BREAKER_STAGES,
  CALL_OUTCOMES,
  CAUSES,
  COMMANDS,
  HELD_BACK,
  HOLD_ENDS,
  PUBLISHED,
  DEAD_LETTER_REASONS,
  KAFKA_REFUSALS,
  REGISTRY_FAILURES,
  LANE_LOSSES,
  LANE_STAGES,
  OPERATIONS,
  QUOTE_RUN_OUT_CAUSES,
  REVISIONS,
  UNFINISHED_STATES,
  HELD_SETTINGS,
} from './metric-labels.ts';
import { STATUS_METRICS } from './status-metrics-table.ts';

/** Stands for a value that is not listed. */
export const OTHER = 'other';

/** A healthy call takes tens of milliseconds; the last bounds are for long deadlines. */
const CALL_BUCKETS_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** From a command answered at once to one that waited out an outage. */
const COMMAND_BUCKETS_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86_400];

export const METRICS = {
  buildInfo: {
    name: 'payments_build_info',
    type: 'gauge',
    help: '1, with the release, the name of the process (its host, in Kubernetes the pod, and the beginning of its id) and TOPIC_PREFIX.',
    labels: { version: 'own', process: 'own', prefix: 'own' },
  },
  lagMessages: {
    name: 'payments_lag_messages',
    type: 'gauge',
    help: 'Commands and decisions of operators that are not admitted to the ledger: the end of the partition minus the position of the lane. Only lanes assigned to this process.',
    labels: { lane: 'lanes', command: PUBLISHED },
  },
  lagOldestSeconds: {
    name: 'payments_lag_oldest_seconds',
    type: 'gauge',
    help: 'Age of the oldest message that is not admitted; 0 without lag. While nothing of it has been fetched: how long this process has seen it waiting.',
    labels: { lane: 'lanes', command: PUBLISHED },
  },
  lagEndsAgeSeconds: {
    name: 'payments_lag_ends_age_seconds',
    type: 'gauge',
    help: 'Age of the partition ends that the lag is computed from; it grows while Kafka does not answer. Before the first answer: time since the start.',
    labels: {},
  },
  heldBackMessages: {
    name: 'payments_held_back_messages',
    type: 'gauge',
    help: 'Commands and decisions of operators that no reader gets, for they lie behind a transaction that their publisher has not ended: the high watermark minus the last stable offset. They are in no lag.',
    labels: { lane: 'lanes', command: PUBLISHED },
  },
  heldBackSeconds: {
    name: 'payments_held_back_seconds',
    type: 'gauge',
    help: 'How long readers have not got past that transaction; 0 where nothing is held back. `ledger`: past one of the processor itself that nobody has ended, told after 30 seconds; a lane cannot be taken over meanwhile.',
    labels: { lane: 'lanes', command: HELD_BACK },
  },
  notAdmittedMessages: {
    name: 'payments_not_admitted_messages',
    type: 'gauge',
    help: 'The lag by what keeps the oldest message of a lane from being admitted; the causes add up to the lag.',
    labels: { command: PUBLISHED, cause: CAUSES },
  },
  observationsLagMessages: {
    name: 'payments_observations_lag_messages',
    type: 'gauge',
    help: 'Observations of transactions that are not reduced to status changes yet.',
    labels: { lane: 'lanes' },
  },
  unfinishedEntries: {
    name: 'payments_unfinished_entries',
    type: 'gauge',
    help: 'Admitted commands without a result, by the state of their ledger entry and the operation they are at.',
    labels: { state: UNFINISHED_STATES, operation: COMMANDS },
  },
  unfinishedOldestSeconds: {
    name: 'payments_unfinished_oldest_seconds',
    type: 'gauge',
    help: 'Age of the oldest of them, from the timestamp of the command; 0 where there are none.',
    labels: { state: UNFINISHED_STATES, operation: COMMANDS },
  },
  laneUnfinishedEntries: {
    name: 'payments_lane_unfinished_entries',
    type: 'gauge',
    help: 'Admitted commands without a result, by lane.',
    labels: { lane: 'lanes' },
  },
  laneUnfinishedLimitEntries: {
    name: 'payments_lane_unfinished_limit_entries',
    type: 'gauge',
    help: 'How many of them a lane holds at most, the setting MAX_UNFINISHED_PER_LANE; at the limit it admits nothing.',
    labels: {},
  },
  oldestUnansweredSeconds: {
    name: 'payments_oldest_unanswered_seconds',
    type: 'gauge',
    help: 'Age of the oldest command without a result, wherever it is: in Kafka or in the ledger. 0 where there is none.',
    labels: { command: COMMANDS },
  },
  oldestNotHeldSeconds: {
    name: 'payments_oldest_not_held_seconds',
    type: 'gauge',
    help: 'The same, of commands that no operator holds.',
    labels: { command: COMMANDS },
  },
  results: {
    name: 'payments_results_total',
    type: 'counter',
    help: "Results, by command, outcome and revision: first, or later by an operator's decision. Counted when put into a transaction: one that fails counts its results again.",
    labels: { command: COMMANDS, outcome: OUTCOME_NAMES, revision: REVISIONS },
  },
  commandDurationSeconds: {
    name: 'payments_command_duration_seconds',
    type: 'histogram',
    help: 'From the timestamp of a command to the first revision of its result.',
    labels: { command: COMMANDS },
    buckets: COMMAND_BUCKETS_SECONDS,
  },
  unknownResults: {
    name: 'payments_unknown_results',
    type: 'gauge',
    help: "Results UNKNOWN in the ledger that wait for an operator's decision, of the lanes of this process.",
    labels: { command: COMMANDS },
  },
  unknownOldestSeconds: {
    name: 'payments_unknown_oldest_seconds',
    type: 'gauge',
    help: 'How long the oldest of them has waited; 0 where there are none.',
    labels: { command: COMMANDS },
  },
  operatorHoldSeconds: {
    name: 'payments_operator_hold_seconds',
    type: 'gauge',
    help: "How long commands have been held by an operator, by whether that ends at its own instant or by a release; 0 where they are not. By this process's copy of the ledger, all lanes.",
    labels: { command: COMMANDS, ends: HOLD_ENDS },
  },
  replays: {
    name: 'payments_replays_total',
    type: 'counter',
    help: 'Copies of finished commands that were answered with the same result again.',
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
    help: 'Messages on the dead-letter topic that nobody redrove or acknowledged, of all processes, by reason; of the newest 10,000 of each lane.',
    labels: { reason: DEAD_LETTER_REASONS },
  },
  moved: {
    name: 'payments_moved_total',
    type: 'counter',
    help: 'Commands found in a partition that is not the one of their key, and moved there.',
    labels: {},
  },
  quotesRunOut: {
    name: 'payments_quotes_run_out_total',
    type: 'counter',
    help: 'Quotes of commands with immediatelyExecute that ran out before their execution was sent: on arrival (they had run out when they came, or within seconds) or waiting; by whether another was made, or the command ended EXPIRED.',
    labels: { cause: QUOTE_RUN_OUT_CAUSES, made_anew: ['true', 'false'] },
  },
  decisions: {
    name: 'payments_operator_decisions_total',
    type: 'counter',
    help: "Operators' decisions on results, by whether they were carried out.",
    labels: { carried_out: ['true', 'false'] },
  },
  ...STATUS_METRICS,
  commits: {
    name: 'payments_commits_total',
    type: 'counter',
    help: 'Transactions that lanes have committed.',
    labels: {},
  },
  laneUncommittedSeconds: {
    name: 'payments_lane_uncommitted_seconds',
    type: 'gauge',
    help: 'How long an open lane has committed nothing although it has something to commit: a transaction that has begun, or messages that nothing keeps it from admitting. 0 for a lane that has nothing to commit; none for one that is not open.',
    labels: { lane: 'lanes' },
  },
  lanesLost: {
    name: 'payments_lanes_lost_total',
    type: 'counter',
    help: 'Lanes that were lost, and attempts to acquire one that failed, by reason. What a lane has not committed is done again by its next owner.',
    labels: { reason: LANE_LOSSES },
  },
  redelivered: {
    name: 'payments_redelivered_messages_total',
    type: 'counter',
    help: 'Messages that Kafka delivered once more to a lane that has had them; they are passed over.',
    labels: {},
  },
  ownFailures: {
    name: 'payments_own_failures_total',
    type: 'counter',
    help: 'Failures of our own code on a message or an entry, each a bug; after three on the same one it is set aside.',
    labels: { where: ['reading', 'entry', 'admission', 'decision', 'observation'] },
  },
  apiCallDurationSeconds: {
    name: 'payments_api_call_duration_seconds',
    type: 'histogram',
    help: 'Calls of the payment API that ended, made or not, by operation and how the answer was read.',
    labels: { operation: OPERATIONS, outcome: CALL_OUTCOMES },
    buckets: CALL_BUCKETS_SECONDS,
  },
  apiResponses: {
    name: 'payments_api_responses_total',
    type: 'counter',
    help: 'Calls of the payment API by the class of their HTTP status; none where no whole answer came.',
    labels: { operation: OPERATIONS, status: ['1xx', '2xx', '3xx', '4xx', '5xx', 'none'] },
  },
  breakerStage: {
    name: 'payments_breaker_stage',
    type: 'gauge',
    help: 'Stage of the breaker of an operation: 1 for the present stage, else 0.',
    labels: { operation: COMMANDS, stage: BREAKER_STAGES },
  },
  callsUnderWay: {
    name: 'payments_calls_under_way',
    type: 'gauge',
    help: 'Calls of the payment API under way.',
    labels: { operation: COMMANDS },
  },
  callSlots: {
    name: 'payments_call_slots',
    type: 'gauge',
    help: 'How many of them may be under way at once in this process, the setting API_MAX_CONCURRENCY.',
    labels: {},
  },
  serviceHeld: {
    name: 'payments_service_held',
    type: 'gauge',
    help: '1 while this process makes no call because the payment service is held or has not been checked yet, by the setting to look at: none where the service itself does not answer. Else 0.',
    labels: { setting: HELD_SETTINGS },
  },
  ready: {
    name: 'payments_ready',
    type: 'gauge',
    help: '1 while the process is ready, as /health/ready says; else 0.',
    labels: {},
  },
  kafkaRefused: {
    name: 'payments_kafka_refused',
    type: 'gauge',
    help: '1 while Kafka refuses this process, by cause; readiness and the log name the setting or the right to correct. Looked at while the process is not ready or the ends of partitions are old.',
    labels: { cause: KAFKA_REFUSALS },
  },
  registryFailing: {
    name: 'payments_registry_failing',
    type: 'gauge',
    help: '1 while this process cannot use the schema registry, by cause; readiness and the log name the setting or the right to correct. It is asked every 5 seconds, also while no command needs it.',
    labels: { cause: REGISTRY_FAILURES },
  },
  groupConfirmed: {
    name: 'payments_group_confirmed',
    type: 'gauge',
    help: '1 while Kafka has confirmed the membership of the group within the session time-out; else 0.',
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
    help: 'Lanes in all, the setting LANES: the sum of open lanes over all processes should be this.',
    labels: {},
  },
  ledgerBehindRecords: {
    name: 'payments_ledger_behind_records',
    type: 'gauge',
    help: 'Records of the ledger, all lanes, that the local store of this process has not applied: what it would read before it could take a lane over. Compacted records count, too. NaN while it is not known where the ledger ends.',
    labels: {},
  },
  ledgerRestoreSeconds: {
    name: 'payments_ledger_restore_seconds',
    type: 'gauge',
    help: 'How long the start took to restore the ledger: from the opening of the local store until all that the ledger held then was applied. While it is under way: how long so far.',
    labels: {},
  },
  keysRemembered: {
    name: 'payments_keys_remembered',
    type: 'gauge',
    help: 'Keys in the index of the ledger of this process, all lanes.',
    labels: {},
  },
  stateDiskBytes: {
    name: 'payments_state_disk_bytes',
    type: 'gauge',
    help: 'Bytes of the file system that STATE_DIR is on, free and used. A full one ends the process.',
    labels: { part: ['free', 'used'] },
  },
  storeBytes: {
    name: 'payments_store_bytes',
    type: 'gauge',
    help: 'Bytes that the local store of this process occupies there.',
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
/** The labels that a metric wants, each with its value. */
export type LabelsOf<Name extends MetricName> = { readonly [Label in keyof (typeof METRICS)[Name]['labels']]: string };
