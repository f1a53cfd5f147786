import { describe, expect, it } from 'vitest';
import { EVENTS_MAX, laneRangesInWords, Timeline } from '../../src/ops/timeline.ts';
import type { LaneReports } from '../../src/lanes/reports.ts';
import { SECRET_KEY } from './fake-processor.ts';

const BEGIN_MS = Date.parse('2026-03-01T12:00:00Z');

class Told extends Timeline {
  nowMs: number;

  constructor() {
    super(() => this.nowMs);
    this.nowMs = BEGIN_MS;
  }

  texts(): string[] {
    return this.events().map(({ kind, text }) => `${kind}: ${text}`);
  }

  lanes(...lanes: number[]): void {
    this.seen({ lanes: lanes.map((lane) => ({ lane })) as never });
  }
}

describe('the timeline of a process', () => {
  it('notes lanes gained and lost, and nothing without a change', () => {
    const timeline = new Told();
    timeline.lanes();
    timeline.lanes(0, 1, 2, 5);
    timeline.lanes(0, 1, 2, 5);
    timeline.lanes(1, 7);
    timeline.lanes();
    expect(timeline.texts()).toEqual([
      'lanes: got lanes 0 to 2, 5; now has lanes 0 to 2, 5',
      'lanes: got lane 7, no longer has lanes 0, 2, 5; now has lanes 1, 7',
      'lanes: no longer has lanes 1, 7; now has no lane',
    ]);
    expect(laneRangesInWords([3, 1, 2])).toBe('lanes 1 to 3');
  });

  it('notes once when a breaker opens or closes or the service is held, and passes every line on', () => {
    const timeline = new Told();
    const logged: string[] = [];
    const log = timeline.withApiLog((_level, event) => void logged.push(event));
    log('warn', 'breaker-changed', { operation: 'transfer-in', stage: 'open', faultPercent: 60, lastFault: 'lost' });
    log('debug', 'breaker-changed', { operation: 'transfer-in', stage: 'trial', lastFault: 'lost' });
    log('info', 'breaker-changed', { operation: 'transfer-in', stage: 'closed', notClosedMs: 5_000 });
    log('warn', 'breaker-changed', { operation: 'create-quote', stage: 'open', faultPercent: null, lastFault: null });
    log('error', 'payment-service-held', { reason: 'HTTP 401 for jane@example.org' });
    log('info', 'payment-service-serving', {});
    log('error', 'call-own-failure', { error: 'TypeError' });
    expect(logged).toHaveLength(7);
    expect(timeline.texts()).toEqual([
      'breaker: opened the breaker of transfer-in (60 % faults, last: lost)',
      'breaker: closed the breaker of transfer-in again',
      'breaker: opened the breaker of create-quote',
      'service: holds its calls to the payment service: HTTP 401 for [redacted]',
      'service: can use the payment service: the check succeeded',
    ]);
  });

  it('notes decisions with key hash, operator and whether they were carried out, but not the reason', () => {
    const timeline = new Told();
    const handed: unknown[] = [];
    const reports = timeline.withReports({
      decided: (...parts: unknown[]) => handed.push(parts),
    } as unknown as LaneReports);
    const decision = {
      decision: 'RETRY',
      expectedRevision: 1,
      transactionId: null,
      operator: 'ada',
      reason: 'Jane called',
    };
    reports.decided(2, SECRET_KEY, decision, true, 7n);
    reports.decided(2, SECRET_KEY, { ...decision, decision: 'x'.repeat(900), operator: 'y'.repeat(900) }, false, 8n);
    expect(handed).toHaveLength(2);
    const [carriedOut = '', refused = ''] = timeline.texts();
    expect(carriedOut).toMatch(/^decision: carried out: RETRY of the key with hash [0-9a-f]{16} in lane 2, by ada$/);
    expect(refused).toMatch(/^decision: refused: x{20} of /);
    expect(refused.length).toBeLessThan(200);
    expect(JSON.stringify(timeline.events())).not.toMatch(new RegExp(`${SECRET_KEY}|Jane`));
  });

  it('is bounded in number and age, and keeps numbering', () => {
    const timeline = new Told();
    for (let index = 1; index <= EVENTS_MAX + 5; index += 1) timeline.note('lanes', `number ${index}`);
    expect(timeline.events()).toHaveLength(EVENTS_MAX);
    expect(timeline.events()[0]).toMatchObject({ number: 6, text: 'number 6' });
    timeline.nowMs += 24 * 3_600_000 + 1;
    timeline.note('lanes', 'of today');
    expect(timeline.texts()).toEqual(['lanes: of today']);
  });
});
