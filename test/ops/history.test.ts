import { describe, expect, it } from 'vitest';
import { History } from '../../src/ops/history.ts';
import { A_CALL, aResult as result, inputStatus, laneStatus, ScrapedProcessor } from './fake-processor.ts';

class Remembering extends ScrapedProcessor {
  readonly history = new History({
    activity: this.activity,
    readState: () => this.reader.read(),
    clock: this.clock,
    onError: (error) => expect.fail(String(error)),
  });

  async sampleAfterMs(passedMs: number): Promise<void> {
    this.nowMs += passedMs;
    await this.history.sample();
  }
}

describe('the history', () => {
  it('keeps 15 minutes, however long it runs', async () => {
    const processor = new Remembering();
    for (let index = 0; index < 200; index += 1) await processor.sampleAfterMs(5_000);
    const samples = processor.history.samples();
    expect(samples).toHaveLength(180);
    expect(samples.at(-1)?.at).toBe(new Date(processor.nowMs).toISOString());
  });

  it('counts what happened in each interval, with the length of the interval', async () => {
    const processor = new Remembering();
    processor.setLane(0, laneStatus({ inputs: [inputStatus({ position: 3n })] }));
    processor.ends = async () => new Map([[0, { low: 0n, high: 10n }]]);
    processor.activity.reports.resulted(0, result({}));
    processor.activity.reports.resulted(0, result({ outcome: 'REFUSED' }));
    for (const durationMs of [10, 20, 30, 1_000]) processor.activity.onCall({ ...A_CALL, durationMs });
    processor.activity.onCall({ ...A_CALL, outcomeKind: 'doubt', isAnswered: false });
    // A definite refusal is an answer.
    processor.activity.onCall({ ...A_CALL, outcomeKind: 'not-here' });
    processor.activity.onCall({ ...A_CALL, operation: 'list-transactions' });
    await processor.sampleAfterMs(8_000);
    await processor.sampleAfterMs(5_000);
    const [first, second] = processor.history.samples();
    expect(first).toMatchObject({ resultsAccepted: 1, resultsOther: 1, calls: 6, callFaults: 1, lagMessages: 7 });
    expect(first?.intervalSeconds).toBe(8);
    expect(second).toMatchObject({ resultsAccepted: 0, calls: 0, command95Seconds: null, intervalSeconds: 5 });
  });

  it('dates a sample when it is complete, because another member may ask meanwhile', async () => {
    const processor = new Remembering();
    const startedMs = processor.nowMs;
    processor.setLane(0, laneStatus({ inputs: [inputStatus({ position: 3n })] }));
    processor.ends = async () => {
      processor.nowMs = startedMs + 5_400;
      return new Map([[0, { low: 0n, high: 10n }]]);
    };
    await processor.sampleAfterMs(5_000);
    expect(Date.parse(processor.history.samples()[0]!.at)).toBe(startedMs + 5_400);
  });

  it('gives percentiles that are at most a tenth too high', async () => {
    const processor = new Remembering();
    for (let ms = 1n; ms <= 1_000n; ms += 1n) {
      processor.activity.reports.resulted(0, result({ commandTimestamp: 0n, completedAt: ms }));
    }
    await processor.sampleAfterMs(5_000);
    const { command95Seconds } = processor.history.samples()[0]!;
    expect(command95Seconds).toBeGreaterThanOrEqual(0.95);
    expect(command95Seconds).toBeLessThanOrEqual(0.95 * 1.1);
  });

  it('says when lag is unknown', async () => {
    const processor = new Remembering();
    processor.ends = () => Promise.reject(new Error('no broker'));
    processor.setLane(0, laneStatus({ inputs: [inputStatus({ position: 3n })] }));
    await processor.sampleAfterMs(5_000);
    expect(processor.history.samples()[0]?.lagMessages).toBeNull();
  });
});

describe('the activity', () => {
  it('counts results by command and outcome, and keeps their number bounded', () => {
    const { activity } = new ScrapedProcessor();
    for (let index = 0; index < 50; index += 1) activity.reports.resulted(0, result({ commandType: `type-${index}` }));
    const state = activity.state();
    expect(state.results).toEqual([{ command: 'other', outcome: 'ACCEPTED', count: 50 }]);
  });
});
