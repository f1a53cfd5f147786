/**
 * What this process has done: totals since its start, and figures since the last `takeInterval`.
 *
 * It sits between the lanes, the payment API and the metrics: it passes every report on, and counts some.
 */
import { createHistogram } from 'node:perf_hooks';
import type { CallReport } from '../api/payment-api.ts';
import type { Outcome } from 'payment-processor-contract/commands';
import { revisionLabel } from './metric-labels.ts';
import { METRICS, OTHER } from './metrics-table.ts';
import type { Metrics } from './metrics.ts';
import type { ActivityState, ResultCount } from './processor-state.ts';

export interface IntervalFigures {
  readonly resultsAccepted: number;
  readonly resultsOther: number;
  readonly calls: number;
  /** Calls without a usable answer of the service (`isAnswered`): also HTTP 401, redirects, and calls never sent. */
  readonly callFaults: number;
  /** 95th percentile of the seconds from a command's timestamp to its first result; null: no first results. */
  readonly command95Seconds: number | null;
}

/** Long enough for a command that waited out an outage. Longer durations count as this one. */
const DURATION_MS_MAX = 2 * 86_400_000;
const ACCEPTED: Outcome = 'ACCEPTED';
const EMPTY_INTERVAL = { resultsAccepted: 0, resultsOther: 0, calls: 0, callFaults: 0 };

export class Activity {
  readonly reports: Metrics['reports'];
  readonly onCall: Metrics['onCall'];
  readonly #startedMs: number;
  readonly #results = new Map<string, ResultCount>();
  /** In milliseconds. */
  readonly #commandDurations = createHistogram({ lowest: 1, highest: DURATION_MS_MAX, figures: 2 });
  #ownFailures = 0;
  #interval = { ...EMPTY_INTERVAL };

  /** @param metrics receives every report */
  constructor(metrics: Pick<Metrics, 'reports' | 'onCall'>, nowMs: () => number) {
    this.#startedMs = nowMs();
    this.reports = {
      ...metrics.reports,
      resulted: (lane, result) => {
        metrics.reports.resulted(lane, result);
        this.#countResult(result.commandType, result.outcome);
        if (revisionLabel(result.revision) === 'later') return;
        const durationMs = Number(result.completedAt - result.commandTimestamp);
        this.#commandDurations.record(Math.min(Math.max(durationMs, 1), DURATION_MS_MAX));
      },
      failed: (lane, where, error) => {
        metrics.reports.failed(lane, where, error);
        this.#ownFailures += 1;
      },
    };
    this.onCall = (report) => {
      metrics.onCall(report);
      this.#countCall(report);
    };
  }

  state(): ActivityState {
    return {
      startedAt: new Date(this.#startedMs).toISOString(),
      results: [...this.#results.values()],
      ownFailures: this.#ownFailures,
    };
  }

  /** Returns the figures since the last call, and starts the next interval. */
  takeInterval(): IntervalFigures {
    const durations = this.#commandDurations;
    const figures = {
      ...this.#interval,
      command95Seconds: durations.count === 0 ? null : durations.percentile(95) / 1000,
    };
    this.#interval = { ...EMPTY_INTERVAL };
    durations.reset();
    return figures;
  }

  /** Names that the table of metrics lacks count as `other`, so that the list stays bounded. */
  #countResult(commandType: string, outcomeName: string): void {
    const { labels } = METRICS.results;
    const command = labels.command.find((known) => known === commandType) ?? OTHER;
    const outcome = labels.outcome.find((known) => known === outcomeName) ?? OTHER;
    const name = `${command} ${outcome}`;
    this.#results.set(name, { command, outcome, count: (this.#results.get(name)?.count ?? 0) + 1 });
    if (outcome === ACCEPTED) this.#interval.resultsAccepted += 1;
    else this.#interval.resultsOther += 1;
  }

  /** List requests pay nothing; counting them would hide faults of the calls that do. */
  #countCall({ operation, isAnswered }: CallReport): void {
    if (operation === 'list-transactions') return;
    this.#interval.calls += 1;
    if (!isAnswered) this.#interval.callFaults += 1;
  }
}
