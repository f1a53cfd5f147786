/** The page's verdict on states that processes report. test/operations tests the page in a browser. */
import { describe, expect, test } from 'vitest';
import { createMetrics } from '../../src/ops/metrics.ts';
import type { GroupSample } from '../../src/ops/group/group-history.ts';
import { groupState, type GroupState } from '../../src/ops/group/group-state.ts';
import { entry, FakeProcessor, inputStatus, laneStatus, ledgerLane } from './fake-processor.ts';
import { known, stateOf } from './group/known.ts';

/** Modules of the page, without browser types. */
const page = (name: string): Promise<unknown> => import(new URL(`../../src/ops/page/${name}`, import.meta.url).href);
const { verdictOn } = (await page('verdict.js')) as {
  verdictOn: (state: GroupState) => {
    headline: string;
    level: string;
    summary: string;
    findings: { text: string; advice: string; runbook: string; isBad: boolean }[];
  };
};
const { serviceInWords } = (await page('service.js')) as { serviceInWords: (state: GroupState) => string };

const REASON = 'wrong credentials: the payment service answers HTTP 401; check API_TOKEN_ID and API_CLIENT_SECRET';

function held(): FakeProcessor {
  const processor = new FakeProcessor();
  processor.api.state = { kind: 'held', reason: REASON, setting: 'API_TOKEN_ID', sinceMs: 0 };
  processor.nowMs += 120_000;
  return processor;
}

/** A minute of samples, each with this many results, and with these lags. */
function minute(state: GroupState, results: number, lags: readonly number[] = [], inputs = 0): GroupSample[] {
  return Array.from({ length: 12 }, (_, index) => ({
    ...{ at: new Date(Date.parse(state.at) - (11 - index) * 5_000).toISOString(), intervalSeconds: 5, members: 2 },
    ...{ lagMessages: lags[index] ?? 0, lagInputs: index < 12 - inputs ? 5 : 10 },
    ...{ unfinished: 0, oldestUnansweredSeconds: 0, calls: 0, callFaults: 0, command95Seconds: null },
    ...{ resultsAccepted: results, resultsOther: 0 },
  }));
}

/** Two members; the first one answers. */
async function group(first: FakeProcessor, second: FakeProcessor): Promise<GroupState> {
  const own = await stateOf(first, 'aaaaaaaa-1');
  const members = [known(own, { isThis: true }), known(await stateOf(second, 'bbbbbbbb-2'))];
  return groupState({ nowMs: Date.parse(own.at), own, members, samples: [], timeline: [] });
}

describe('a member that the service refuses, while it serves another', () => {
  test('stands aside: the page says which member, which setting, and that no command waits', async () => {
    const aside = held();
    aside.lanes = { ...aside.lanes, assigned: [], lanes: new Map(), asideReason: REASON };
    const state = await group(new FakeProcessor(aside.nowMs), aside);
    const { findings, headline } = verdictOn(state);
    expect(headline).toBe('Working, with warnings');
    expect(findings).toEqual([
      expect.objectContaining({
        text: `Member bbbbbbbb stands aside, and other members have the lanes: ${REASON}`,
        runbook: 'PaymentsServiceHeld',
        isBad: false,
      }),
    ]);
    expect(serviceInWords(state)).toBe('the service is held at bbbbbbbb: no calls there');
  });

  test('stands aside because a broker does not answer it: the page says so, and not that a setting is wrong', async () => {
    const own = new FakeProcessor();
    const aside = held();
    const asideReason = 'brokers do not answer this process, but they answer others: connect ETIMEDOUT 10.0.0.2:9092';
    aside.lanes = { ...aside.lanes, assigned: [], lanes: new Map(), asideReason };
    const { findings } = verdictOn(await group(own, aside));
    expect(findings[0]).toMatchObject({
      text: `Member bbbbbbbb stands aside, and other members have the lanes: ${asideReason}`,
      runbook: 'PaymentsMemberNotReady',
      isBad: false,
    });
  });

  test('still has lanes: the page says which member holds the service, not that there are no calls', async () => {
    const refused = held();
    const state = await group(new FakeProcessor(refused.nowMs), refused);
    const { findings, headline } = verdictOn(state);
    expect(headline).toBe('Not healthy');
    expect(findings[0]?.text).toBe(`Payment service held: ${REASON} at bbbbbbbb`);
    expect(serviceInWords(state)).toBe('the service is held at bbbbbbbb: no calls there');
  });
});

test('a hold is the headline, with operator, duration and lanes', async () => {
  const processor = new FakeProcessor();
  const hold = { offset: '0', operator: 'ada', reason: 'incident 31', until: null };
  const at = new Date(processor.nowMs - 7_200_000).toISOString();
  const until = new Date(processor.nowMs - 1_000).toISOString();
  processor.ledger.lanes = [0, 1].map((lane) => {
    const holds = { 'transfer-in': { ...hold, at }, 'create-quote': { ...hold, at, until } };
    return ledgerLane(lane, { holds });
  });
  const state = await group(processor, new FakeProcessor(processor.nowMs));
  const { findings, headline, summary } = verdictOn(state);
  expect(headline).toBe('Held by an operator: transfer-in');
  expect(summary).toMatch(/^Lanes that have not confirmed it may still begin calls of these types\. /);
  expect(verdictOn({ ...state, lanesConfigured: 2 }).summary).toMatch(/^No call of these types begins\. /);
  expect(verdictOn({ ...state, lanesConfigured: 2, isLedgerRead: false }).summary).toMatch(
    /^No member has read the ledger to its end, so the holds may have changed: see `cli holds`\. /,
  );
  const ofCreateQuote = { ...state.holds[0]!, command: 'create-quote', lanes: [1] };
  expect(verdictOn({ ...state, holds: [...state.holds, ofCreateQuote] }).findings.slice(0, 2)).toMatchObject([
    { text: 'ada has held transfer-in in 2 of 6 lanes for 2 h' },
    { text: 'ada has held create-quote in 1 of 6 lanes for 2 h' },
  ]);
  expect(findings[0]).toMatchObject({
    text: 'ada has held transfer-in in 2 of 6 lanes for 2 h',
    runbook: 'PaymentsHoldLasts',
    isBad: false,
  });
  const series = 'payments_operator_hold_seconds{command="transfer-in",ends="by-release"} 7200\n';
  expect(await createMetrics().text(await stateOf(processor, 'aaaaaaaa-1'))).toContain(series);
});

test('what waits for Kafka, the registry or a commit: each with what to do', async () => {
  const processor = new FakeProcessor();
  const waiting = { position: 4_997n, highWatermark: 5_000n, cause: 'registry', problem: 'refused' } as const;
  for (const lane of [1, 2]) processor.setLane(lane, laneStatus({ inputs: [inputStatus(waiting)] }));
  const state = await group(processor, new FakeProcessor(processor.nowMs));
  const lanes = state.lanes.map((lane) => ({
    ...lane,
    ...{ ledgerHeldBackSeconds: 40, uncommittedSeconds: lane.lane === 2 ? 55 : 0 },
    inputs: lane.inputs.map((input) => ({ ...input, heldBackMessages: 12, heldBackSeconds: 40 })),
  }));
  const members = state.members.map((member) => ({
    ...member,
    figures: { ...member.figures!, ledgerBehindRecords: member.isThis ? 30_000 : 0 },
  }));
  const { findings } = verdictOn({ ...state, lanes, members });
  for (const [text, advice] of [
    [
      'The schema registry cannot be used (lanes 1, 2): refused at aaaaaaaa',
      'None is lost or refused. Check the registry',
    ],
    [
      'An open transaction has blocked 24 messages of transfer-in for 40 s',
      'Find the publisher by its transactional id',
    ],
    ['An open transaction has blocked the ledger of lanes 0 to 2 for 40 s', 'Do not abort it before you have read'],
    ['Lane 2 has committed nothing for 55 s', 'Check the log, the brokers and the network'],
    ['30,000 records of the ledger are not in the local store of aaaaaaaa yet', 'A lane that it takes over opens once'],
  ] as const) {
    expect(findings.find((finding) => finding.text === text)?.advice, text).toContain(advice);
  }
});

test.each([
  ['Growing by 120 a minute.', [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110], 0],
  ['Falling now: 0 (55 s ago), 560 (20 s ago), 313 now.', [0, 40, 90, 160, 220, 300, 420, 560, 748, 600, 450, 313], 0],
  // A lane that was handed over with its lag.
  ['Neither growing nor falling.', [0, 0, 0, 0, 0, 0, 0, 0, 1_000, 1_000, 1_000, 1_000], 4],
])('%s', async (trend, lags, inputs) => {
  const processor = new FakeProcessor();
  const waiting = inputStatus({ buffered: 1, oldestTimestampMs: processor.nowMs - 90_000 });
  processor.setLane(0, laneStatus({ inputs: [waiting] }));
  const state = await group(processor, new FakeProcessor(processor.nowMs));
  const { findings } = verdictOn({ ...state, samples: minute(state, 5, lags, inputs) });
  expect(findings.find(({ text }) => text.startsWith('Behind'))?.advice).toContain(trend);
});

test('behind: the oldest command, and how many wait in Kafka for what', async () => {
  const processor = new FakeProcessor();
  const waiting = { highWatermark: 5_000n, held: 1, oldestTimestampMs: processor.nowMs - 90_000 };
  processor.setLane(1, laneStatus({ inputs: [inputStatus({ ...waiting, position: 4_980n, cause: 'no-slot' })] }));
  processor.setLane(2, laneStatus({ inputs: [inputStatus({ ...waiting, position: 4_990n, cause: 'lane-full' })] }));
  const { findings } = verdictOn(await group(processor, new FakeProcessor(processor.nowMs)));
  const found = findings.find(({ text }) => text.startsWith('Behind'));
  expect(found?.text).toBe('Behind. Oldest command without a result: transfer-in 1 min 30 s');
  expect(found?.advice).toContain('30 commands wait in Kafka (20: no free call slot; 10: the lane is full');
});

test('the service is held if it refuses all members', async () => {
  const state = await group(held(), held());
  expect(verdictOn(state).headline).toBe('Not healthy');
  expect(serviceInWords(state)).toBe('the service is held: no calls');
});

describe('the headline follows the effect', () => {
  const WAITING = { state: 'PARKED', untilMs: 0, reason: 'never sent' } as const;

  /** The first member's transfers wait, and its breaker is open. */
  async function outage(seconds: number): Promise<GroupState> {
    const first = new FakeProcessor();
    first.nowMs += 120_000;
    Object.assign(first.api.operations['transfer-in'], { breaker: 'open', lastFault: 'ECONNREFUSED' });
    const waiting = [1, 2].map(() => entry('transfer-in', first.nowMs - seconds * 1_000, WAITING));
    first.setLane(0, laneStatus({ entries: waiting }));
    return group(first, new FakeProcessor(first.nowMs));
  }

  test('no results while commands wait is red, with how many, for how long, and the last fault', async () => {
    const state = await outage(69);
    expect(verdictOn({ ...state, samples: minute(state, 0) })).toMatchObject({
      level: 'bad',
      headline: 'No results: 2 commands wait, the oldest for 1 min 9 s',
      summary: 'Last fault: connection refused by api.example.com.',
    });
  });

  test.each([
    ['others are answered', 69, 3],
    ['nothing has waited longer than the objective', 20, 0],
  ])('is amber where %s, and names the fault', async (_when, seconds, results) => {
    const state = await outage(seconds);
    expect(verdictOn({ ...state, samples: minute(state, results) })).toMatchObject({
      level: 'warning',
      headline: 'Working, with warnings',
      summary: 'Last fault: connection refused by api.example.com.',
    });
  });

  test('calls without a usable answer are a finding, with their share of the last minute', async () => {
    const state = await outage(20);
    const samples = minute(state, 3).map((sample) => ({ ...sample, calls: 6, callFaults: 3 }));
    const texts = verdictOn({ ...state, samples }).findings.map(({ text }) => text);
    expect(texts).toEqual(
      expect.arrayContaining([
        expect.stringContaining('Breaker open for transfer-in'),
        expect.stringContaining('50 % of the calls of the last minute got no usable answer'),
      ]),
    );
  });

  test('makes no claim about a period that no sample covers', async () => {
    const state = await outage(69);
    expect(verdictOn({ ...state, samples: minute(state, 0).slice(-2) }).level).toBe('warning');
  });
});

test('lanes of a gone member do not count as waiting if a member without a report has them', async () => {
  const first = new FakeProcessor();
  first.nowMs += 120_000;
  const own = await stateOf(first, 'aaaaaaaa-1');
  const second = new FakeProcessor(first.nowMs);
  second.lanes.lanes = new Map([1, 2].map((lane) => [lane, laneStatus()]));
  const nowMs = Date.parse(own.at);
  const gone = known(await stateOf(second, 'bbbbbbbb-2'), {
    standing: 'gone',
    goneSinceMs: nowMs - 1_000,
    answeredMs: nowMs - 5_000,
  });
  const silent = { ...known(own), process: 'cccccccc', figures: null, answeredMs: null, assigned: [1] };
  const told = (others: (typeof gone)[]): unknown => {
    const members = [known(own, { isThis: true }), gone, ...others];
    const { findings } = verdictOn(groupState({ nowMs, own, members, samples: [], timeline: [] }));
    return findings.find(({ text }) => text.startsWith('Member bbbbbbbb has been gone'));
  };
  expect(told([])).toMatchObject({
    advice: expect.stringMatching(/^Lanes 1 to 2 are not open anywhere yet; commands/) as string,
    isBad: true,
  });
  const advice =
    /^Lane 2 is not open anywhere yet; commands there wait in Kafka\. Lane 1 is with members that send no report\. Last/;
  expect(told([silent])).toMatchObject({ advice: expect.stringMatching(advice) as string });
  expect(told([{ ...silent, assigned: [1, 2] }])).toMatchObject({
    advice: expect.stringMatching(/^Lanes 1 to 2 are with members that send no report\. Last report/) as string,
    isBad: false,
  });
});
