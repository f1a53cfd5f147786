/** Gauges for the ledger, for stalled lanes and for other producers' open transactions. */
import { describe, expect, it } from 'vitest';
import {
  ScrapedProcessor,
  inputStatus,
  laneOwner,
  laneStatus,
  ledgerLane,
  SECRET_KEY,
  TOPICS,
} from './fake-processor.ts';

describe('UNKNOWN results', () => {
  it('are counted for the lanes of this process, and shown for all lanes', async () => {
    const processor = new ScrapedProcessor();
    const { nowMs } = processor;
    const unknown = (count: number, oldestMs: number) => [{ command: 'transfer-in' as const, count, oldestMs }];
    processor.lanes.lanes = new Map([0, 1].map((lane) => [lane, laneStatus()]));
    processor.ledger.lanes = [
      ledgerLane(0, { unknown: unknown(2, nowMs - 60_000) }),
      ledgerLane(1, { unknown: unknown(1, nowMs - 90_000) }),
      ledgerLane(2, { unknown: unknown(4, nowMs - 7_000_000) }),
    ];
    processor.ledger.oldestUnknown = [
      { lane: 2, key: SECRET_KEY, command: 'transfer-in', completedMs: nowMs - 7_000_000 },
    ];
    const text = await processor.text();
    expect(text).toContain('payments_unknown_results{command="transfer-in"} 3\n');
    expect(text).toContain('payments_unknown_oldest_seconds{command="transfer-in"} 90\n');
    expect(text).toContain('payments_unknown_results{command="execute-quote"} 0\n');
    const { unknownResults } = await processor.reader.read();
    expect(unknownResults).toMatchObject({
      waiting: 7,
      oldestSeconds: 7_000,
      listed: [{ lane: 2, ageSeconds: 7_000 }],
    });
    expect(JSON.stringify(unknownResults)).not.toContain(SECRET_KEY);
  });
});

describe('the ledger', () => {
  it('is behind by the records between its end and its read position, all lanes', async () => {
    const processor = new ScrapedProcessor();
    processor.ledger.lanes = [ledgerLane(0, { nextOffset: 90n }), ledgerLane(1, { nextOffset: 100n })];
    processor.ends = async () => new Map([0, 1].map((lane) => [lane, { low: 0n, high: 100n }]));
    processor.ledger.restore = { isUnderWay: true, seconds: 12.5 };
    const text = await processor.text();
    expect(text).toContain('payments_ledger_behind_records 10\n');
    expect(text).toContain('payments_ledger_restore_seconds 12.5\n');
  });

  it('is shown with its disk space, and without any before the store is open', async () => {
    const processor = new ScrapedProcessor();
    expect(await processor.text()).not.toMatch(/^payments_state_disk_bytes\{/m);
    processor.ledger.disk = { freeBytes: 3e9, usedBytes: 7e9, storeBytes: 1e9 };
    const text = await processor.text();
    expect(text).toContain('payments_state_disk_bytes{part="free"} 3000000000\n');
    expect(text).toContain('payments_state_disk_bytes{part="used"} 7000000000\n');
    expect(text).toContain('payments_store_bytes 1000000000\n');
  });

  it('does not count as read while its end is unknown', async () => {
    const processor = new ScrapedProcessor();
    processor.ledger.lanes = [ledgerLane(0, { nextOffset: 90n })];
    processor.ends = () => Promise.reject(new Error('no broker'));
    expect(await processor.text()).toMatch(/^payments_ledger_behind_records NaN$/im);
  });
});

describe('a lane that commits nothing', () => {
  async function secondsOf(processor: ScrapedProcessor): Promise<string | undefined> {
    return /^payments_lane_uncommitted_seconds\{lane="0"\} (.+)$/m.exec(await processor.text())?.[1];
  }

  it('is shown by the age of its transaction', async () => {
    const processor = new ScrapedProcessor();
    processor.setLane(0, laneStatus({ isIdle: true, committedMs: processor.nowMs - 3_600_000 }));
    expect(await secondsOf(processor)).toBe('0');
    processor.setLane(0, laneStatus({ isIdle: false, committedMs: processor.nowMs - 3_600_000 }));
    expect(await secondsOf(processor)).toBe('0');
    processor.nowMs += 45_000;
    expect(await secondsOf(processor)).toBe('45');
    processor.setLane(0, laneStatus({ isIdle: false, committedMs: processor.nowMs - 100 }));
    expect(await secondsOf(processor)).toBe('0.1');
    processor.setLane(0, laneStatus({ stage: 'acquiring' }));
    expect(await secondsOf(processor)).toBeUndefined();
  });

  it('is shown by messages that it could admit, not by those that must wait', async () => {
    const processor = new ScrapedProcessor();
    processor.ends = async () => new Map([[0, { low: 0n, high: 8n }]]);
    const committedMs = processor.nowMs - 9_000;
    const waiting = (cause: 'breaker' | null) =>
      laneStatus({ committedMs, inputs: [inputStatus({ position: 5n, cause })] });
    processor.setLane(0, waiting('breaker'));
    await secondsOf(processor);
    processor.nowMs += 30_000;
    expect(await secondsOf(processor)).toBe('0');
    processor.setLane(0, waiting(null));
    await secondsOf(processor);
    processor.nowMs += 30_000;
    expect(await secondsOf(processor)).toBe('30');
  });
});

describe("messages behind a publisher's open transaction", () => {
  it('are counted, with how long readers have been blocked', async () => {
    const processor = new ScrapedProcessor();
    let stable = 8n;
    processor.setLane(0, laneStatus({ inputs: [inputStatus({ position: 8n })] }));
    processor.ends = async () => new Map([[0, { low: 0n, high: stable }]]);
    processor.highWatermarks = async (topic) => {
      const { commands, ledger, operatorDecisions, operatorHolds } = TOPICS;
      expect([...Object.values(commands), operatorDecisions, operatorHolds, ledger]).toContain(topic);
      return new Map([[0, topic === TOPICS.ledger ? stable : 11n]]);
    };
    await processor.reader.read();
    processor.nowMs += 40_000;
    const held = await processor.text();
    expect(held).toContain('payments_held_back_messages{lane="0",command="transfer-in"} 3\n');
    expect(held).toContain('payments_held_back_seconds{lane="0",command="transfer-in"} 40\n');
    expect(held).toContain('payments_lag_messages{lane="0",command="transfer-in"} 0\n');
    stable = 10n;
    processor.nowMs += 5_000;
    expect(await processor.text()).toContain('payments_held_back_seconds{lane="0",command="transfer-in"} 0\n');
    stable = 11n;
    processor.nowMs += 5_000;
    expect(await processor.text()).toContain('payments_held_back_messages{lane="0",command="transfer-in"} 0\n');
  });
});

describe('a hanging transaction in the ledger', () => {
  it('is shown once it lasts longer than any of our own can, until readers get past it', async () => {
    const processor = new ScrapedProcessor();
    let stable = 631n;
    processor.setLane(0, laneStatus({ stage: 'acquiring' }));
    processor.ends = async () => new Map([[0, { low: 0n, high: stable }]]);
    processor.highWatermarks = async (topic) => new Map([[0, topic === TOPICS.ledger ? 644n : stable]]);
    const toldSeconds = async (afterMs: number): Promise<string | undefined> => {
      processor.nowMs += afterMs;
      const text = await processor.text();
      return /payments_held_back_seconds\{lane="0",command="ledger"\} (\d+)/.exec(text)?.[1];
    };
    expect(await toldSeconds(0)).toBe('0');
    expect(await toldSeconds(25_000)).toBe('0');
    expect(await toldSeconds(15_000)).toBe('40');
    expect((await processor.reader.read()).lanes[0]?.ledgerHeldBackSeconds).toBe(40);
    stable = 640n;
    expect(await toldSeconds(15_000)).toBe('0');
    stable = 644n;
    expect(await toldSeconds(60_000)).toBe('0');
  });
});

describe('the processes of the group', () => {
  it('are listed with the lanes that the group assigned and those that the ledger says they own', async () => {
    const processor = new ScrapedProcessor();
    processor.lanes.processId = 'aaaaaaaa-0000';
    processor.ledger.lanes = [
      ledgerLane(0, { owner: laneOwner('aaaaaaaa-0000', 1_000) }),
      ledgerLane(1, { owner: laneOwner('bbbbbbbb-0000', 2_000) }),
      ledgerLane(2, { owner: laneOwner('cccccccc-0000', 3_000) }),
      ledgerLane(3),
    ];
    processor.members = async () => [
      { process: 'bbbbbbbb', host: '10.0.0.2', lanes: [1, 2], address: null },
      { process: 'aaaaaaaa', host: '10.0.0.1', lanes: [0, 3], address: 'http://10.0.0.1:8080' },
    ];
    const { members } = await processor.reader.read();
    expect(members).toEqual([
      {
        ...{ process: 'aaaaaaaa', isThis: true, standing: 'member', host: '10.0.0.1', address: 'http://10.0.0.1:8080' },
        ...{ assigned: [0, 3], owned: [0], since: '1970-01-01T00:00:01.000Z' },
      },
      {
        ...{ process: 'bbbbbbbb', isThis: false, standing: 'member', host: '10.0.0.2', address: null },
        ...{ assigned: [1, 2], owned: [1], since: '1970-01-01T00:00:02.000Z' },
      },
      {
        ...{ process: null, isThis: false, standing: 'gone', host: null, address: null },
        ...{ assigned: [], owned: [3], since: null },
      },
      {
        ...{ process: 'cccccccc', isThis: false, standing: 'gone', host: null, address: null },
        ...{ assigned: [], owned: [2], since: '1970-01-01T00:00:03.000Z' },
      },
    ]);
  });

  it('do not count as gone while Kafka has not said who is in the group', async () => {
    const processor = new ScrapedProcessor();
    processor.members = () => Promise.reject(new Error('not allowed'));
    processor.ledger.lanes = [ledgerLane(0, { owner: laneOwner('bbbbbbbb-0', 0) })];
    const { lagEndsAgeSeconds, members } = await processor.reader.read();
    expect(members).toMatchObject([{ process: 'bbbbbbbb', standing: 'unknown' }]);
    expect(lagEndsAgeSeconds).toBe(0);
  });
});
