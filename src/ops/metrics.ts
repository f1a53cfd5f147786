/**
 * Keeps the metrics of `metrics-table.ts`, with prom-client. Events increase the counters, and set the poller's gauges. Each scrape
 * sets the other gauges from the state.
 *
 * Owns its registry and the collectors of process metrics.
 */
import { totalmem } from 'node:os';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { processName } from '../consumers/group-processes.ts';
import type { CallReport } from '../api/payment-api.ts';
import type { LaneReports } from '../lanes/reports.ts';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';
import type { PollerReports } from '../status/poller/poller.ts';
import { PUBLISHED, revisionLabel } from './metric-labels.ts';
import { METRICS, OTHER, type LabelsOf, type MetricDefinition, type MetricName } from './metrics-table.ts';
import { RELEASE } from './release.ts';
import type { ProcessorState } from './processor-state.ts';

export interface Metrics {
  /** For the lanes. Cheap, never throws. */
  readonly reports: LaneReports & { readonly poll: PollerReports };
  /** For the payment API. Cheap, never throws. */
  readonly onCall: (report: CallReport) => void;
  /** `Content-Type` of the text. */
  readonly contentType: string;
  /** All metrics in Prometheus' text format, with gauges set from the state. */
  text(state: ProcessorState): Promise<string>;
}

/** A counter with more series than this starts without any. No counter of `metrics-table.ts` has that many. */
const SERIES_AT_START_MAX = 100;
/**
 * Sampling interval of the event loop's delay: a tenth of the delay that the runbooks call late. Each sample wakes the process: sampling
 * every 10 ms took a quarter of an idle process's time.
 */
const EVENT_LOOP_SAMPLE_MS = 50;
/** Gauges that prom-client names like counters. Each is only the sum of a gauge by type. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  const set = registerAll(registry);
  return {
    reports: {
      resulted: (_lane, result) => {
        const revision = revisionLabel(result.revision);
        set.add('results', { command: result.commandType, outcome: result.outcome, revision });
        // A decision hours later does not show how long commands take.
        if (revision === 'later') return;
        const durationMs = Number(result.completedAt - result.commandTimestamp);
        set.observe('commandDurationSeconds', { command: result.commandType }, Math.max(0, durationMs) / 1000);
      },
      replayed: () => set.add('replays', {}),
      deadLettered: (_lane, { reason }) => set.add('deadLetters', { reason }),
      moved: () => set.add('moved', {}),
      quoteExpired: (_lane, { cause, isMadeAnew }) => set.add('quotesRunOut', { cause, made_anew: String(isMadeAnew) }),
      statusChanged: (_lane, kind) => set.add('statusChanges', { kind }),
      decided: (_lane, _key, _decision, isCarriedOut) => set.add('decisions', { carried_out: String(isCarriedOut) }),
      failed: (_lane, where) => set.add('ownFailures', { where }),
      committed: () => set.add('commits', {}),
      laneLost: (reason) => set.add('lanesLost', { reason }),
      redelivered: (messages) => set.add('redelivered', {}, messages),
      poll: {
        polling: (isPolling) => set.put('polling', {}, isPolling ? 1 : 0),
        called: (kind, outcome) => set.add('pollCalls', { kind, outcome }),
        published: (observations) => set.add('pollObservations', {}, observations),
        waitedForBudget: (ms) => set.add('pollBudgetWaitSeconds', {}, ms / 1000),
        watching: (transactions) => set.put('pollWatched', {}, transactions),
        swept: (atMs) => set.put('pollSweptTimestampSeconds', {}, atMs / 1000),
      },
    },
    onCall: ({ operation, outcomeKind, httpStatus, durationMs }) => {
      set.observe('apiCallDurationSeconds', { operation, outcome: outcomeKind }, durationMs / 1000);
      const status = httpStatus === null ? 'none' : `${Math.floor(httpStatus / 100)}xx`;
      set.add('apiResponses', { operation, status });
    },
    contentType: registry.contentType,
    text: (state) => {
      writeGauges(set, state);
      return registry.metrics();
    },
  };
}

interface MetricSet {
  add<Name extends MetricName>(name: Name, labels: LabelsOf<Name>, value?: number): void;
  observe<Name extends MetricName>(name: Name, labels: LabelsOf<Name>, value: number): void;
  put<Name extends MetricName>(name: Name, labels: LabelsOf<Name>, value: number): void;
  /** Drops the series of a gauge, so that lanes that left this process disappear. */
  clear(name: MetricName): void;
}

function registerAll(registry: Registry): MetricSet {
  const counters = new Map<MetricName, Counter>();
  const gauges = new Map<MetricName, Gauge>();
  const histograms = new Map<MetricName, Histogram>();
  for (const name of Object.keys(METRICS) as MetricName[]) {
    const definition: MetricDefinition = METRICS[name];
    const common = {
      name: definition.name,
      help: definition.help,
      labelNames: Object.keys(definition.labels),
      registers: [registry],
    };
    switch (definition.type) {
      case 'counter': {
        const counter = new Counter(common);
        // A series that begins at its first event hides that event from rate().
        for (const labels of allLabels(definition)) counter.inc(labels, 0);
        counters.set(name, counter);
        break;
      }
      case 'gauge':
        gauges.set(name, new Gauge(common));
        break;
      case 'histogram':
        histograms.set(name, new Histogram({ ...common, buckets: [...(definition.buckets ?? [])] }));
        break;
    }
  }
  return {
    add: (name, labels, value = 1) => counters.get(name)?.inc(bounded(name, labels), value),
    observe: (name, labels, value) => histograms.get(name)?.observe(bounded(name, labels), value),
    put: (name, labels, value) => gauges.get(name)?.set(bounded(name, labels), value),
    clear: (name) => gauges.get(name)?.reset(),
  };
}

/** Values that the table does not list become `other`: unexpected values in results or answers must not create series. */
function bounded(name: MetricName, labels: Readonly<Record<string, string>>): Record<string, string> {
  const definition: MetricDefinition = METRICS[name];
  const pairs = Object.entries(labels).map(([label, value]) => {
    const values = definition.labels[label];
    return [label, typeof values === 'string' || values?.includes(value) ? value : OTHER];
  });
  return Object.fromEntries(pairs) as Record<string, string>;
}

function allLabels(definition: MetricDefinition): Record<string, string>[] {
  let combinations: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries(definition.labels)) {
    if (typeof values === 'string') return [];
    combinations = combinations.flatMap((labels) => values.map((value) => ({ ...labels, [label]: value })));
  }
  return combinations.length > SERIES_AT_START_MAX ? [] : combinations;
}

/** Synchronous from the first reset to the last value, so that no scrape sees a partial state. */
function writeGauges(set: MetricSet, state: ProcessorState): void {
  set.put('buildInfo', { version: RELEASE, process: processName(state.processId), prefix: state.deployment.prefix }, 1);
  writeLag(set, state);
  writeUnfinished(set, state);
  writeService(set, state);
  writeLedger(set, state);
  for (const stage of METRICS.lanes.labels.stage) {
    set.put('lanes', { stage }, state.lanes.filter((lane) => lane.stage === stage).length);
  }
  set.put('lanesConfigured', {}, state.lanesConfigured);
  set.put('ready', {}, state.ready ? 1 : 0);
  for (const cause of METRICS.kafkaRefused.labels.cause) {
    set.put('kafkaRefused', { cause }, state.kafkaRefusal === cause ? 1 : 0);
  }
  for (const cause of METRICS.registryFailing.labels.cause) {
    set.put('registryFailing', { cause }, state.registryFailure === cause ? 1 : 0);
  }
  set.put('groupConfirmed', {}, state.isGroupConfirmed ? 1 : 0);
  set.put('keysRemembered', {}, state.keysRemembered);
  for (const reason of METRICS.openDeadLetters.labels.reason) {
    const open = state.openLetters.find((letters) => letters.reason === reason);
    // 0 would resolve the alert although the true number is unknown.
    if (open !== undefined || state.areLettersRead) set.put('openDeadLetters', { reason }, open?.count ?? 0);
  }
  set.put('laneUnfinishedLimitEntries', {}, state.unfinishedMax);
  set.put('callSlots', {}, state.callSlots);
  // Without a limit Node reports 0, or more than the machine has.
  set.put('memoryLimitBytes', {}, Math.min(process.constrainedMemory() || Infinity, totalmem()));
}

function writeLedger(set: MetricSet, { holds, ledger, unknownResults }: ProcessorState): void {
  for (const command of COMMAND_TYPES) {
    for (const ends of METRICS.operatorHoldSeconds.labels.ends) {
      const matching = holds.filter(
        (hold) => hold.command === command && (hold.until === null) === (ends === 'by-release'),
      );
      set.put('operatorHoldSeconds', { command, ends }, Math.max(0, ...matching.map(({ seconds }) => seconds)));
    }
    const found = unknownResults.ofOwnLanes.find((group) => group.command === command);
    set.put('unknownResults', { command }, found?.count ?? 0);
    set.put('unknownOldestSeconds', { command }, found?.oldestSeconds ?? 0);
  }
  set.clear('stateDiskBytes');
  if (ledger.disk !== null) {
    set.put('stateDiskBytes', { part: 'free' }, ledger.disk.freeBytes);
    set.put('stateDiskBytes', { part: 'used' }, ledger.disk.usedBytes);
  }
  set.put('storeBytes', {}, ledger.disk?.storeBytes ?? 0);
  // 0 would claim we are caught up.
  set.put('ledgerBehindRecords', {}, ledger.behindRecords ?? NaN);
  set.put('ledgerRestoreSeconds', {}, ledger.restore?.seconds ?? 0);
}

const LANE_GAUGES = [
  'lagMessages',
  'lagOldestSeconds',
  'heldBackMessages',
  'heldBackSeconds',
  'observationsLagMessages',
  'laneUncommittedSeconds',
  'laneUnfinishedEntries',
] as const;

function writeLag(set: MetricSet, state: ProcessorState): void {
  for (const name of LANE_GAUGES) set.clear(name);
  const notAdmitted = new Map<string, number>();
  for (const { lane, inputs, ledgerHeldBackSeconds, stage, uncommittedSeconds, unfinished } of state.lanes) {
    set.put('laneUnfinishedEntries', { lane: String(lane) }, unfinished);
    set.put('heldBackSeconds', { lane: String(lane), command: 'ledger' }, ledgerHeldBackSeconds ?? 0);
    if (stage === 'open') set.put('laneUncommittedSeconds', { lane: String(lane) }, uncommittedSeconds ?? 0);
    for (const { cause, heldBackMessages, heldBackSeconds, lagMessages, name, oldestSeconds } of inputs) {
      if (lagMessages === null) continue;
      if (name === 'observation') {
        set.put('observationsLagMessages', { lane: String(lane) }, lagMessages);
        continue;
      }
      const labels = { lane: String(lane), command: name };
      set.put('lagMessages', labels, lagMessages);
      set.put('lagOldestSeconds', labels, oldestSeconds ?? 0);
      set.put('heldBackMessages', labels, heldBackMessages);
      set.put('heldBackSeconds', labels, heldBackSeconds ?? 0);
      if (cause === null) continue;
      const waiting = `${name} ${cause}`;
      notAdmitted.set(waiting, (notAdmitted.get(waiting) ?? 0) + lagMessages);
    }
  }
  for (const command of PUBLISHED) {
    for (const cause of METRICS.notAdmittedMessages.labels.cause) {
      set.put('notAdmittedMessages', { command, cause }, notAdmitted.get(`${command} ${cause}`) ?? 0);
    }
  }
  set.put('lagEndsAgeSeconds', {}, state.lagEndsAgeSeconds);
}

function writeUnfinished(set: MetricSet, state: ProcessorState): void {
  for (const operation of COMMAND_TYPES) {
    for (const entryState of METRICS.unfinishedEntries.labels.state) {
      const found = state.unfinished.find((group) => group.state === entryState && group.operation === operation);
      set.put('unfinishedEntries', { state: entryState, operation }, found?.count ?? 0);
      set.put('unfinishedOldestSeconds', { state: entryState, operation }, found?.oldestSeconds ?? 0);
    }
    set.put('oldestUnansweredSeconds', { command: operation }, state.oldestUnansweredSeconds[operation] ?? 0);
    set.put('oldestNotHeldSeconds', { command: operation }, state.oldestNotHeldSeconds[operation] ?? 0);
  }
}

function writeService(set: MetricSet, state: ProcessorState): void {
  const { setting: toCheck, state: service } = state.service;
  for (const setting of METRICS.serviceHeld.labels.setting) {
    set.put('serviceHeld', { setting }, service !== 'serving' && setting === (toCheck ?? 'none') ? 1 : 0);
  }
  for (const { breaker, callsUnderWay, operation } of state.operations) {
    set.put('callsUnderWay', { operation }, callsUnderWay);
    for (const stage of METRICS.breakerStage.labels.stage) {
      set.put('breakerStage', { operation, stage }, stage === breaker ? 1 : 0);
    }
  }
}
