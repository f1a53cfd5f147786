import { describe, expect, it } from 'vitest';
import { Activity } from '../../src/ops/activity.ts';
import { METRICS, type MetricDefinition } from '../../src/ops/metrics-table.ts';
import {
  A_CALL,
  A_LETTER,
  aResult as result,
  entry,
  ScrapedProcessor,
  inputStatus,
  laneStatus,
} from './fake-processor.ts';

/** The value of each series of a metric, by its labels as written. */
function seriesOf(text: string, name: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  return Object.fromEntries(
    lines.map((line) => [
      line.slice(name.length, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  );
}

describe('the table of metrics', () => {
  const definitions: MetricDefinition[] = Object.values(METRICS);

  it('names each metric once, with its unit', () => {
    expect(new Set(definitions.map(({ name }) => name)).size).toBe(definitions.length);
    for (const { name, type, buckets } of definitions) {
      expect(name).toMatch(/^payments_[a-z]+(_[a-z]+)*$/);
      expect(name.endsWith('_total')).toBe(type === 'counter');
      expect(buckets !== undefined).toBe(type === 'histogram');
      if (type === 'histogram') expect(name).toMatch(/_seconds$/);
    }
  });

  it('matches the text that is served', async () => {
    const text = await new ScrapedProcessor().text();
    for (const { name, type } of definitions) expect(text).toContain(`# TYPE ${name} ${type}\n`);
    expect(text).toContain('# TYPE nodejs_eventloop_lag_p99_seconds gauge');
  });
});

describe('counters', () => {
  it('begin at zero and count the reports, which the activity passes on', async () => {
    const processor = new ScrapedProcessor();
    const { onCall, reports } = new Activity(processor.metrics, () => 0);
    const before = await processor.text();
    expect(before).toContain('payments_results_total{command="transfer-in",outcome="UNKNOWN",revision="first"} 0');
    reports.resulted(0, result({}));
    reports.resulted(0, result({ outcome: 'CONFLICT' }));
    reports.replayed(0);
    reports.moved(0);
    reports.quoteExpired(0, { cause: 'on-arrival', isMadeAnew: false });
    reports.statusChanged(0, 'quote');
    reports.failed(0, 'entry', new Error('x'));
    reports.committed();
    reports.laneLost('fenced');
    reports.redelivered(7);
    reports.deadLettered(0, A_LETTER);
    onCall(A_CALL);
    onCall({
      ...A_CALL,
      operation: 'list-transactions',
      outcomeKind: 'unreachable',
      isAnswered: false,
      httpStatus: null,
    });
    const text = await processor.text();
    for (const line of [
      'payments_results_total{command="transfer-in",outcome="ACCEPTED",revision="first"} 1',
      'payments_results_total{command="transfer-in",outcome="CONFLICT",revision="first"} 1',
      'payments_command_duration_seconds_sum{command="transfer-in"} 0.8',
      'payments_replays_total 1',
      'payments_moved_total 1',
      'payments_quotes_run_out_total{cause="on-arrival",made_anew="false"} 1',
      'payments_status_changes_total{kind="quote"} 1',
      'payments_own_failures_total{where="entry"} 1',
      'payments_commits_total 1',
      'payments_lanes_lost_total{reason="fenced"} 1',
      'payments_lanes_lost_total{reason="not-committed"} 0',
      'payments_redelivered_messages_total 7',
      'payments_dead_letters_total{reason="NO_KEY"} 1',
      'payments_api_call_duration_seconds_count{operation="transfer-in",outcome="accepted"} 1',
      'payments_api_call_duration_seconds_bucket{le="0.05",operation="transfer-in",outcome="accepted"} 1',
      'payments_api_responses_total{operation="transfer-in",status="2xx"} 1',
      'payments_api_responses_total{operation="list-transactions",status="none"} 1',
    ]) {
      expect(text).toContain(`${line}\n`);
    }
  });

  it("leave an operator's later decision out of the durations, and count it as a later revision", async () => {
    const processor = new ScrapedProcessor();
    const { metrics } = processor;
    metrics.reports.resulted(0, result({ outcome: 'UNKNOWN' }));
    metrics.reports.resulted(0, result({ outcome: 'EXPIRED', completedAt: 9_000_000n, revision: 2 }));
    metrics.reports.resulted(0, result({ outcome: 'CONFLICT', revision: 0 }));
    const text = await processor.text();
    expect(text).toContain('payments_results_total{command="transfer-in",outcome="EXPIRED",revision="later"} 1\n');
    expect(text).toContain('payments_results_total{command="transfer-in",outcome="EXPIRED",revision="first"} 0\n');
    expect(text).toContain('payments_results_total{command="transfer-in",outcome="CONFLICT",revision="first"} 1\n');
    expect(text).toContain('payments_command_duration_seconds_count{command="transfer-in"} 2\n');
    expect(text).toContain('payments_command_duration_seconds_sum{command="transfer-in"} 0.8\n');
  });

  it('have a bounded number of series, whatever is reported', async () => {
    const processor = new ScrapedProcessor();
    const { metrics } = processor;
    for (let index = 0; index < 50; index += 1) {
      metrics.reports.resulted(0, result({ commandType: `type-${index}`, outcome: `outcome-${index}` }));
      metrics.reports.failed(0, `place-${index}`, new Error('x'));
      metrics.onCall({ ...A_CALL, outcomeKind: `kind-${index}`, httpStatus: index * 100 });
    }
    const text = await processor.text();
    expect(text).toContain('payments_results_total{command="other",outcome="other",revision="first"} 50\n');
    expect(text).toContain('payments_own_failures_total{where="other"} 50\n');
    expect(text).not.toMatch(/(type|place|kind|outcome)-\d/);
  });
});

describe('gauges', () => {
  it('show lag by cause, and the causes add up to the lag', async () => {
    const processor = new ScrapedProcessor();
    processor.lanes.lanes = new Map([
      [
        0,
        laneStatus({
          inputs: [inputStatus({ position: 90n, buffered: 10, oldestTimestampMs: processor.nowMs - 5_000 })],
        }),
      ],
      [1, laneStatus({ inputs: [inputStatus({ position: 70n, cause: 'breaker' })] })],
      [2, laneStatus({ stage: 'stopped', inputs: [inputStatus({ position: 95n })] })],
      [3, laneStatus({ inputs: [inputStatus({ position: 100n })] })],
    ]);
    processor.ends = async () => new Map([0, 1, 2, 3].map((lane) => [lane, { low: 0n, high: 100n }]));
    const text = await processor.text();
    expect(seriesOf(text, 'payments_lag_messages')).toEqual({
      '{lane="0",command="transfer-in"}': 10,
      '{lane="1",command="transfer-in"}': 30,
      '{lane="2",command="transfer-in"}': 5,
      '{lane="3",command="transfer-in"}': 0,
    });
    const byCause = seriesOf(text, 'payments_not_admitted_messages');
    expect(byCause['{command="transfer-in",cause="catching-up"}']).toBe(10);
    expect(byCause['{command="transfer-in",cause="breaker"}']).toBe(30);
    expect(byCause['{command="transfer-in",cause="lane-not-open"}']).toBe(5);
    expect(Object.values(byCause).reduce((sum, value) => sum + value, 0)).toBe(45);
    expect(seriesOf(text, 'payments_lag_oldest_seconds')['{lane="0",command="transfer-in"}']).toBe(5);
    expect(seriesOf(text, 'payments_lanes')).toMatchObject({ '{stage="open"}': 3, '{stage="stopped"}': 1 });
  });

  it('age lag of which nothing is fetched, and keep the position of a closed lane', async () => {
    const processor = new ScrapedProcessor();
    processor.ends = async () => new Map([[0, { low: 0n, high: 8n }]]);
    processor.setLane(0, laneStatus({ inputs: [inputStatus({ position: 5n })] }));
    await processor.text();
    processor.setLane(0, laneStatus({ stage: 'acquiring', inputs: [inputStatus({ position: null })] }));
    processor.nowMs += 7_000;
    const text = await processor.text();
    expect(text).toContain('payments_lag_messages{lane="0",command="transfer-in"} 3\n');
    expect(text).toContain('payments_lag_oldest_seconds{lane="0",command="transfer-in"} 7\n');
    expect(text).toContain('payments_oldest_unanswered_seconds{command="transfer-in"} 7\n');
  });

  it('drop lanes that moved to another process', async () => {
    const processor = new ScrapedProcessor();
    processor.ends = async () => new Map([[0, { low: 0n, high: 8n }]]);
    processor.setLane(0, laneStatus({ inputs: [inputStatus({ position: 5n })] }));
    expect(seriesOf(await processor.text(), 'payments_lag_messages')).not.toEqual({});
    processor.lanes.lanes = new Map();
    expect(seriesOf(await processor.text(), 'payments_lag_messages')).toEqual({});
  });

  it('show unfinished commands by state, and the oldest in Kafka or the ledger', async () => {
    const processor = new ScrapedProcessor();
    const { nowMs } = processor;
    const calling = { state: 'INTENT', attemptId: 'a', processId: 'p', atMs: nowMs, timeoutMs: 1 } as const;
    processor.setLane(
      0,
      laneStatus({
        entries: [
          entry('transfer-in', nowMs - 10_000, { state: 'PARKED', untilMs: nowMs, reason: 'r' }),
          entry('transfer-in', nowMs - 60_000, { state: 'PARKED', untilMs: nowMs, reason: 'r' }),
          entry('execute-quote', nowMs - 20_000, { state: 'DOUBTFUL', settleAtMs: nowMs, reason: 'r', refusal: null }),
          { ...entry('execute-quote', nowMs - 15_000, calling), firstSentMs: nowMs - 14_000 },
          entry('execute-quote', nowMs - 15_000, calling),
        ],
        inputs: [inputStatus({ position: 5n, buffered: 1, oldestTimestampMs: nowMs - 90_000 })],
      }),
    );
    processor.ends = async () => new Map([[0, { low: 0n, high: 6n }]]);
    const text = await processor.text();
    expect(text).toContain('payments_unfinished_entries{state="PARKED",operation="transfer-in"} 2\n');
    expect(text).toContain('payments_unfinished_oldest_seconds{state="PARKED",operation="transfer-in"} 60\n');
    expect(text).toContain('payments_unfinished_entries{state="DOUBTFUL",operation="execute-quote"} 2\n');
    expect(text).toContain('payments_unfinished_entries{state="INTENT",operation="execute-quote"} 1\n');
    expect(text).toContain('payments_oldest_unanswered_seconds{command="transfer-in"} 90\n');
    expect(text).toContain('payments_oldest_unanswered_seconds{command="execute-quote"} 20\n');
  });

  it('show the stage of each breaker and whether the service is held', async () => {
    const processor = new ScrapedProcessor();
    processor.api.operations['execute-quote'].breaker = 'open';
    processor.api.state = { kind: 'held', reason: 'wrong credentials', setting: 'API_TOKEN_ID', sinceMs: 0 };
    const text = await processor.text();
    expect(text).toContain('payments_breaker_stage{operation="execute-quote",stage="open"} 1\n');
    expect(text).toContain('payments_breaker_stage{operation="execute-quote",stage="closed"} 0\n');
    expect(text).toContain('payments_service_held{setting="API_TOKEN_ID"} 1\n');
    expect(text).toContain('payments_service_held{setting="API_BASE_URL"} 0\n');
    expect(text).toContain('payments_ready 0\n');
  });
});

describe('asking for the ends of topics', () => {
  it('is shared by scrapes that come close together', async () => {
    const processor = new ScrapedProcessor();
    await Promise.all([1, 2, 3].map(() => processor.reader.read()));
    const askedAtFirst = processor.endsAsked;
    processor.nowMs += 1_999;
    await processor.reader.read();
    expect(processor.endsAsked).toBe(askedAtFirst);
    processor.nowMs += 1;
    await processor.reader.read();
    expect(processor.endsAsked).toBe(2 * askedAtFirst);
  });

  it('leaves lag unknown if it fails at first, and as last known if it fails later', async () => {
    const processor = new ScrapedProcessor();
    processor.setLane(0, laneStatus({ inputs: [inputStatus({ position: 5n })] }));
    processor.ends = () => Promise.reject(new Error('no broker'));
    expect(seriesOf(await processor.text(), 'payments_lag_messages')).toEqual({});
    processor.ends = async () => new Map([[0, { low: 0n, high: 6n }]]);
    await processor.reader.read();
    processor.ends = () => Promise.reject(new Error('no broker'));
    processor.nowMs += 10_000;
    const text = await processor.text();
    expect(text).toContain('payments_lag_messages{lane="0",command="transfer-in"} 1\n');
    expect(text).toContain('payments_lag_ends_age_seconds 10\n');
  });
});
