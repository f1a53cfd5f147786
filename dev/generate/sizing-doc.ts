/**
 * Writes docs/sizing.md from the formulas of sizing.ts; with `--check` only compares, and exits 1 when the file is stale.
 */
import { writeOrCheck } from './generated-file.ts';
import { COSTS, discoveryLimit, followingLimit, sizeOf, type Breaking, type Size } from './sizing.ts';

const RATES = [10, 100, 1_000, 10_000];
const LATENCIES_MS = [50, 300, 2_000];
const RETENTION_DAYS = 7;
const OPEN_SECONDS = 60;
const REPLICAS = 3;

const BREAKS: Readonly<Record<Breaking, string>> = {
  following: 'following the ledger',
  discovery: 'the poller falls behind without end',
  revisits: 'status changes are late',
  store: 'the store',
  rebuild: 'the rebuild of a lost store',
  'poll-budget': '`POLL_MAX_CALLS_PER_MINUTE`',
  slots: '`API_MAX_CONCURRENCY`',
};

const HEADINGS = [
  'Commands/s',
  'Latency',
  'Groups x members',
  'Lanes',
  '`API_MAX_CONCURRENCY`',
  'Cores each, one away',
  'Store each',
  'Rebuild of it',
  '64 GiB last for',
  'Kafka',
  'Poller: calls/min needed, possible',
];

function rowOf(commandsPerSecond: number, latencyMs: number): string[] {
  const size = sizeOf({ commandsPerSecond, latencyMs, retentionDays: RETENTION_DAYS, openSeconds: OPEN_SECONDS });
  return [
    grouped(commandsPerSecond),
    latencyText(latencyMs),
    `${size.groups} x ${size.members}`,
    String(size.lanes),
    grouped(size.slots),
    `${size.busyCores.toFixed(2)}, ${size.busyCoresOneAway.toFixed(2)}`,
    bytesText(size.storeBytes),
    timeText(size.rebuildSeconds),
    daysText(size.fittingDays),
    bytesText(size.kafkaBytes * REPLICAS),
    `${grouped(size.pollCallsNeeded)}, ${grouped(size.pollCallsPossible)}`,
  ];
}

function breaksText({ breaks }: Size): string {
  return breaks.length === 0 ? 'nothing, with the defaults' : breaks.map((name) => BREAKS[name]).join(', ');
}

function tableOf(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(...[heading, ...rows.map((row) => row[column] ?? '')].map((text) => text.length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(headings), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join('\n');
}

function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function latencyText(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`;
}

function bytesText(bytes: number): string {
  return bytes < 1e12 ? `${grouped(bytes / 1e9)} GB` : `${(bytes / 1e12).toFixed(1)} TB`;
}

function timeText(seconds: number): string {
  return seconds < 3_600 ? `${grouped(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`;
}

function daysText(days: number): string {
  return days < 1 ? `${(days * 24).toFixed(1)} h` : `${days.toFixed(1)} d`;
}

const all = RATES.flatMap((rate) => LATENCIES_MS.map((latencyMs) => ({ rate, latencyMs })));
const sizes = tableOf(
  HEADINGS,
  all.map(({ latencyMs, rate }) => rowOf(rate, latencyMs)),
);
const breaks = tableOf(
  ['Commands/s', ...LATENCIES_MS.map((ms) => `With ${latencyText(ms)}`)],
  RATES.map((rate) => [
    grouped(rate),
    ...LATENCIES_MS.map((latencyMs) =>
      breaksText(
        sizeOf({ commandsPerSecond: rate, latencyMs, retentionDays: RETENTION_DAYS, openSeconds: OPEN_SECONDS }),
      ),
    ),
  ]),
);

const costs = tableOf(
  ['Cost', 'Measured', 'By'],
  [
    [
      "A command of a member's own lanes",
      `${COSTS.ownCpuMs.toFixed(2)} ms of CPU, in large transactions`,
      '`npm run bench`, 100,000 commands',
    ],
    [
      "A command of another's lanes: all follow the ledger of all",
      `${COSTS.followedCpuMs} ms of CPU`,
      '`node proofs/bench/follower.ts`',
    ],
    [
      `A transaction; ${COSTS.transactionsPerSecondMax} a second at most, then they grow`,
      `${COSTS.transactionCpuMs} ms of CPU, 19 ms of time`,
      'one producer alone; [what limits it](../proofs/bench/README.md#what-limits-it)',
    ],
    [
      'Idle: a process, and each lane of the group',
      `${(COSTS.idleCores * 100).toFixed(1)} % and ${(COSTS.idleCoresPerLane * 100).toFixed(2)} % of a core`,
      '`npm run bench`, 6 to 48 lanes',
    ],
    [
      "A remembered key, on each member's disk",
      `${grouped(COSTS.storeBytesPerKey)} bytes where keys come and go; 850 to 1,100 filled once`,
      '`npm run soak`; `proofs/bench/ledger-store.ts`, `take-over.ts`',
    ],
    [
      'Rebuild of a lost store',
      `${grouped(COSTS.rebuiltKeysPerSecond)} keys per second`,
      '`node proofs/bench/take-over.ts`, a million keys',
    ],
    [
      'Results and events of a command in Kafka',
      `${grouped(COSTS.outputBytes)} bytes at 130 a second; all that is written 2,451 in large batches`,
      '`npm run soak`, `npm run bench`',
    ],
    [
      "Commands and observations; the ledger's last state of a key",
      `${grouped(COSTS.inputBytes)} and ${COSTS.ledgerBytesPerKey} bytes`,
      '`npm run soak`',
    ],
    ['Memory of a member at work', '300 to 350 MiB of its own', '`npm run bench`, `npm run soak`'],
  ],
);

const text = `# Sizing

Generated from dev/generate/sizing.ts by \`npm run generate\`; edit the costs and formulas there, the text in sizing-doc.ts.

How many lanes, members, call slots, and how much disk, for R commands per second and a service that takes L seconds a call.
**Unit costs are measured, on two shared cores ([measured](measured.md)); the tables are reckoned from them.** Nobody has run 1,000 commands
per second for an hour, nor 10,000 at all. Faster cores do better; ratios hold.

## Unit costs

${costs}

Memory hardly depends on the rate: the chart's 768 MiB asked for and 1,536 at most will do. Beside a member's own the store's mapped pages count as
resident until the system wants them back. At Kafka each member writes its share of some 5 KB a command, and reads the ledger of
all, so that what brokers send grows with the members.

**Held against an hour**: in the soak, with 65 commands per second of its own and 65 of the other's, a member took 0.29 of a core, the one that
polls 0.34; the formula says 0.19. The bench's transfers are COMPLETED at once, the soak's payments change later and are polled, and
the machine was busy with other work. Take half as much again where yours are like that.

## Formulas

\`\`\`text
calls under way     = R x L                                     slots in all: twice that while one member is away
API_MAX_CONCURRENCY = 2 R L / (members - 1), 100 to 1,000
cores of a member   = own x ${COSTS.ownCpuMs} ms + transactions x ${COSTS.transactionCpuMs} ms + (R - own) x ${COSTS.followedCpuMs} ms + idle, with own = R / members,
                      and transactions = ${COSTS.transactionsPerCommand} x own, ${COSTS.transactionsPerSecondMax} at most; at most 0.7 while one member is away
LANES               = 3 per member that there may ever be, of 6, 12, 24, 48, 96: it is fixed for the life of a prefix
store of a member   = R x LEDGER_RETENTION in seconds x ${grouped(COSTS.storeBytesPerKey)} bytes
rebuild             = R x LEDGER_RETENTION in seconds / ${grouped(COSTS.rebuiltKeysPerSecond)} seconds
Kafka               = 3 replicas x R x (30 days x ${grouped(COSTS.outputBytes)} + LEDGER_RETENTION x ${grouped(COSTS.inputBytes + COSTS.ledgerBytesPerKey)} bytes)
poller needs        = 1.5 x the larger of R x 60 / 100 (all that is new) and R x open seconds x 12 / 100 calls per minute
poller can          = 60 / (L + 0.03) calls per minute: one process, one call after the other
\`\`\`

A quote with \`immediatelyExecute\` is two calls, and counts as two commands. Most of Kafka's disk are 30 days of results and events:
their topics' \`retention.ms\` is yours to lower.

## Sizes

With \`LEDGER_RETENTION\` = ${RETENTION_DAYS} days, and payments of which nearly all have their last status within ${OPEN_SECONDS} s. A group is one \`TOPIC_PREFIX\`; figures but
Kafka's and the poller's are of one group or member.

${sizes}

## What breaks first

${breaks}

- **The poller.** The owner of lane 0 alone lists the service's transactions, for all. A page shows 100, so ${grouped(discoveryLimit(50))} new transactions per second are the
  most at 50 ms, ${grouped(discoveryLimit(300))} at 300 ms, ${grouped(discoveryLimit(2_000))} at 2 s: beyond, status events come later and later. Results do not wait for it. Before that, changes are late by the pages of all that is open: set \`POLL_MAX_CALLS_PER_MINUTE\` to what is needed,
  where that is possible. (At 130 commands per second, with quotes open for a minute, the soak's poller made 578 calls a minute of 600.) The remedy is at the service: shorter lists, or webhooks, which this processor does not take.
  Several groups under one account list all of it each.
- **The store** is on every member, of all lanes: more members do not make it smaller. LMDB's map of 64 GiB grows where it must, which nobody has
  tried. Lower \`LEDGER_RETENTION\` to what the column "64 GiB last for" allows; below a day \`COMMAND_MAX_AGE\` and \`API_IDEMPOTENCY_RETENTION\` go
  down with it, and a copy that comes later than that may be paid again.
- **The rebuild.** A member without a store has no lanes until it has read the whole ledger. With a volume of its own per member (the chart's StatefulSet)
  a restart reads what is new.
- **Following the ledger.** Every member applies every command, on its main thread: ${grouped(followingLimit())} commands per second are the most of a group whose
  members did nothing else. Beyond some 3,000 take several groups, each with its prefix, and share the keys out among them in the publisher.
- **\`API_MAX_CONCURRENCY\`**, 100 by default, is what a slow service asks for first: \`payments_not_admitted_messages{cause="no-slot"}\`. 1,000 is the most of a
  member. Each slot is a connection: file handles, and what the service allows.
- **A member's main thread** does some 1,900 commands per second and no more. With two members each must do for both.
- **\`API_MAX_RPS\`** is the group's, shared out by lanes: a member with fewer lanes has less, whatever its share of commands.
- **A lane's limit**, \`MAX_UNFINISHED_PER_LANE\` (2,000), is far away while calls are answered: R L / lanes. Doubt fills it: R / lanes a second for
  \`API_TIMEOUT_MS\` and \`SETTLING_TIME_MS\`.
- **More lanes** make larger transactions: p50 53 ms with 6, 86 ms with 24 at 200 a second. Take as many as members will need, and no more.

## When something happens

A hundred lanes and twenty members in virtual time, \`npm run simulate -- --scene NAME\` ([figures](measured.md#a-hundred-lanes-twenty-members)).
Processes take no time to compute there: it shows the waits of the protocol alone.

- **A rolling restart** is not noticed: a lane's next result comes after 4 s at most. Each lane moves about twice.
- **A lost zone**, a third of members and brokers: the lanes of the dead wait for the session time-out, those of the living lose their
  transactions until the brokers have new leaders, and take their lanes again. A command that was in a call then is answered after up to 38 s, once
  its doubt is settled.
- **An hour's outage of the service**: nothing is lost, quotes expire by \`COMMAND_MAX_AGE\`. When it is back, all members call at once, as
  much as their slots allow: 2,530 calls in one second instead of 3. The service breaks first: set \`API_MAX_RPS\` to what it takes.
`;

writeOrCheck('docs/sizing.md', 'dev/generate/sizing.ts', text);
