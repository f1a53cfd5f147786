/** A checker that sees nothing proves nothing: each kind of fault is put into correct evidence, and must be reported. */
import { expect, test } from 'vitest';
import { NO_EFFECTS } from '../../test/support/no-effects.ts';
import { countHandles, tcpSocketsOf, type OpenHandles } from './process-handles.ts';
import { sumOf, type ProcessSample, type SharedSample } from './samples.ts';
import { judgeSoak } from './soak-judgement.ts';
import { kindOf, type Kind } from './soak-load.ts';
import type { SoakEvidence } from './soak-scenario.ts';

const MINUTES = 40;
const OPEN: OpenHandles = {
  handles: { tcp: 20, unix: 3, pipe: 9, event: 9, file: 5, other: 0 },
  connections: { kafka: 6, registry: 1, service: 12, served: 1, other: 0 },
};

/** A sample every ten seconds; what warms up does so in the first half, and the heap is a saw. */
function samplesOf(minutes: number, change: (sample: ProcessSample, index: number) => ProcessSample): ProcessSample[] {
  return Array.from({ length: minutes * 6 }, (_, index) =>
    change(
      {
        atMs: index * 10_000,
        name: 'a',
        pid: 100,
        memory: { resident: 300, anonymous: 180 + Math.min(index, 60) },
        heapUsedMebibytes: 60 + (index % 7) * 6,
        eventLoopP99Ms: 25,
        lagMessages: 0,
        keysRemembered: 78_000,
        ...OPEN,
      },
      index,
    ),
  );
}

const steady = (sample: ProcessSample): ProcessSample => sample;

function sharedOf(change: (sample: SharedSample, index: number) => SharedSample = (sample) => sample): SharedSample[] {
  return Array.from({ length: MINUTES * 6 }, (_, index) =>
    change(
      {
        atMs: index * 10_000,
        published: index,
        answered: index,
        storeMebibytes: { '0': 90, '1': 91 },
        kafkaMebibytes: index % 6 === 0 ? 300 + (index % 30) * 4 : null,
      },
      index,
    ),
  );
}

const ONCE = { calls: 1, effects: 1, transactionIds: [] };

/** One command of each kind, the transfer twice. */
function evidenceOf(changes: Partial<SoakEvidence> = {}): SoakEvidence {
  const kinds: Kind[] = ['transfer-in', 'create-quote', 'immediate-quote', 'execute-quote', 'reject-transaction'];
  return {
    minutes: MINUTES,
    commandsPerSecond: 130,
    disturbances: [{ atMs: 60_000, name: 'b', how: 'kill -9' }],
    processes: samplesOf(MINUTES, steady),
    shared: sharedOf(),
    commands: new Map(kinds.map((kind) => [kind, { type: kind, subject: `subject of ${kind}` }])),
    copied: new Set(['transfer-in']),
    first: new Map(
      kinds.map((kind) => [kind, { outcome: 'ACCEPTED', id: kind, replays: kind === 'transfer-in' ? 1 : 0 }]),
    ),
    contradictions: [],
    loadFailures: [],
    leftOut: 0,
    effects: {
      ...NO_EFFECTS,
      operations: {
        ...NO_EFFECTS.operations,
        'transfer-in': { 'transfer-in': ONCE },
        'create-quote': { 'create-quote': ONCE, 'immediate-quote': ONCE },
        'execute-quote': { 'immediate-quote.execute': ONCE },
      },
      quotes: { 'subject of execute-quote': { executeCalls: 2, executions: 1 } },
      transactions: { 'subject of reject-transaction': { rejectCalls: 1, rejections: 1 } },
    },
    areBooksBalanced: true,
    ...changes,
  };
}

function withOutcome(key: string, outcome: 'UNKNOWN' | 'REFUSED'): SoakEvidence['first'] {
  return new Map([...evidenceOf().first, [key, { outcome, id: key, replays: 1 }]]);
}

function growingBy(change: (sample: ProcessSample, index: number) => Partial<ProcessSample>): SoakEvidence {
  return evidenceOf({ processes: samplesOf(MINUTES, (sample, index) => ({ ...sample, ...change(sample, index) })) });
}

test('evidence of a run without fault is right, and its outcomes are counted', () => {
  const judgement = judgeSoak(evidenceOf());
  expect(judgement.wrong).toEqual([]);
  expect(judgement.outcomes['transfer-in']).toEqual({ ACCEPTED: 1 });
});

const { effects, first } = evidenceOf();
const wrongs: [string, SoakEvidence, RegExp][] = [
  ['a lost command', evidenceOf({ first: new Map([...first].slice(1)) }), /transfer-in: no result/],
  ['a second result', evidenceOf({ contradictions: ['k: REFUSED after ACCEPTED'] }), /REFUSED after ACCEPTED/],
  [
    'a second effect',
    evidenceOf({ effects: { ...effects, quotes: { 'subject of execute-quote': { executeCalls: 2, executions: 2 } } } }),
    /execute-quote: took effect 2 times/,
  ],
  ['ACCEPTED without an effect', evidenceOf({ effects: { ...effects, transactions: {} } }), /ACCEPTED, but 0 effects/],
  [
    'REFUSED with an effect',
    evidenceOf({ first: withOutcome('transfer-in', 'REFUSED') }),
    /REFUSED, but it took effect/,
  ],
  ['a result of nobody', evidenceOf({ commands: new Map([...evidenceOf().commands].slice(1)) }), /never published/],
  ['a copy without an answer', evidenceOf({ copied: new Set(['create-quote']) }), /create-quote: its copy/],
  ['books out of balance', evidenceOf({ areBooksBalanced: false }), /out of balance/],
  ['a load that was not constant', evidenceOf({ leftOut: 3 }), /3 commands were left out/],
  ['processes that never lived long', evidenceOf({ processes: samplesOf(14, steady) }), /lived long enough/],
  [
    'memory that grows',
    growingBy(({ memory }, index) => ({ memory: { ...memory, anonymous: memory.anonymous + index / 2 } })),
    /memory without mapped files, MiB rose/,
  ],
  [
    'a heap that grows',
    growingBy((sample, index) => ({ heapUsedMebibytes: 60 + index / 4 + (index % 7) * 6 })),
    /heap once collected, MiB rose/,
  ],
  [
    'handles that grow',
    growingBy(({ handles }, index) => ({ handles: { ...handles, file: Math.floor(index / 20) } })),
    /handles but TCP rose/,
  ],
  [
    'connections that grow',
    growingBy(({ connections }, index) => ({ connections: { ...connections, kafka: Math.floor(index / 20) } })),
    /connections, kafka rose/,
  ],
  [
    'a pool of connections without end',
    growingBy(({ connections }, index) => ({ connections: { ...connections, service: index } })),
    /connections, service were 239, more than 120/,
  ],
  [
    'keys that are never forgotten',
    growingBy((sample, index) => ({ keysRemembered: index * 1_000 })),
    /keys remembered/,
  ],
  [
    'a store that grows',
    evidenceOf({ shared: sharedOf((sample, index) => ({ ...sample, storeMebibytes: { '0': 90 + index / 2 } })) }),
    /store 0: on disk, MiB rose/,
  ],
  [
    "a broker's disk that grows",
    evidenceOf({ shared: sharedOf((sample, index) => ({ ...sample, kafkaMebibytes: 300 + index * 2 })) }),
    /Kafka: on disk at its peak, MiB rose/,
  ],
];

test.each(wrongs)('the judgement tells of %s', (_name, evidence, pattern) => {
  expect(judgeSoak(evidence).wrong.join('\n')).toMatch(pattern);
});

test('what is UNKNOWN is counted, and may have taken effect', () => {
  const judgement = judgeSoak(evidenceOf({ first: withOutcome('transfer-in', 'UNKNOWN') }));
  expect(judgement.wrong).toEqual([]);
  expect(judgement.outcomes['transfer-in']).toEqual({ UNKNOWN: 1 });
});

test('handles are distinguished by kind, connections by their peer', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0',
    '   1: 0100007F:D431 0100007F:2384 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0',
    '   2: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 13 1 0',
    '   3: 0100007F:D432 0100007F:0050 08 00000000:00000000 00:00000000 00000000     0        0 14 1 0',
  ].join('\n');
  const targets = [11, 12, 13, 14, 99].map((inode) => `socket:[${inode}]`);
  const others = ['pipe:[5]', 'anon_inode:[eventpoll]', '/state/0/data.mdb'];
  const open = countHandles([...targets, ...others], tcpSocketsOf(table), new Map([[0x2384, 'kafka']]), 0x1f90);
  expect(open.handles).toEqual({ tcp: 4, unix: 1, pipe: 1, event: 1, file: 1, other: 0 });
  expect(open.connections).toEqual({ kafka: 1, registry: 0, service: 0, served: 1, other: 1 });
});

test('a metric is the sum of its series, and null where it has none', () => {
  const metrics = '# TYPE lag gauge\nlag{lane="0"} 2\nlag{lane="1"} 3\nlag_other 9\nheap 1.5e3\n';
  expect(sumOf(metrics, 'lag')).toBe(5);
  expect(sumOf(metrics, 'heap')).toBe(1_500);
  expect(sumOf(metrics, 'none')).toBeNull();
});

test('every kind of command is among twenty', () => {
  const kinds = Array.from({ length: 20 }, (_, index) => kindOf(index));
  expect(kinds.filter((kind) => kind === 'transfer-in')).toHaveLength(13);
  expect(new Set(kinds).size).toBe(5);
});
