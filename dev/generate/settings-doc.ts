/**
 * Writes docs/settings.md from the table of settings; with `--check` only compares, and exits 1 when the file is stale.
 */
import { EXIT_CODE_CONFIG, SETTINGS, type SettingName } from 'payment-processor-contract/config';
import { writeOrCheck } from './generated-file.ts';

const header = `# Settings

Generated from packages/contract/src/config.ts by \`npm run generate\`; edit the table there, not this file.

Environment variables are the only configuration. The processor reads and checks all of them before it starts anything. If any is
wrong, it lists every problem by name, never with a secret's value, and exits with code ${EXIT_CODE_CONFIG}.

- An empty variable counts as not set, except \`API_IDEMPOTENT_OPERATIONS\`, where empty means: none.
- A secret can come from a file: \`<NAME>_FILE\` holds the path. A newline at the end of the file is removed. Setting both is an
  error. The processor [rereads](running.md#security) a file that changes.
- Settings that end in \`_MS\` are whole numbers of milliseconds. Other durations are a number and a unit: \`500ms\`,
  \`30s\`, \`15m\`, \`24h\`, \`7d\`.
- \`COMMAND_MAX_AGE\` lists types as \`type=duration\`, separated by commas. Types that it omits keep their default
  (\`simulate-uma-receive\`: 15m).

Checked together:

- \`KAFKA_HEARTBEAT_INTERVAL_MS\` is less than half of \`KAFKA_SESSION_TIMEOUT_MS\`.
- \`LEDGER_RETENTION\` is longer than the longest \`COMMAND_MAX_AGE\`, and not shorter than \`API_IDEMPOTENCY_RETENTION\`.
- \`KAFKA_SASL_MECHANISM\` comes with \`KAFKA_SASL_USERNAME\` and \`KAFKA_SASL_PASSWORD\`.

`;

const footer = `## Tracing

The start does not check [OpenTelemetry's variables](https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/),
because payments do not depend on them. The processor logs an unusable one (\`tracing-setting-ignored\`) and ignores it.
It exports spans if \`OTEL_EXPORTER_OTLP_ENDPOINT\` or \`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT\` is set, or \`OTEL_TRACES_EXPORTER\` is
\`otlp\`. With \`OTEL_SDK_DISABLED=true\` or \`OTEL_TRACES_EXPORTER=none\` it never does.

- \`OTEL_EXPORTER_OTLP_PROTOCOL\`: \`http/protobuf\` (default) or \`http/json\`; with \`grpc\` tracing is off.
- \`OTEL_EXPORTER_OTLP_HEADERS\`, \`_TIMEOUT\`, \`_COMPRESSION\`, \`_CERTIFICATE\`, \`_CLIENT_CERTIFICATE\`, \`_CLIENT_KEY\`: as specified;
  these and the protocol also as \`OTEL_EXPORTER_OTLP_TRACES_...\`. Headers are never logged.
- \`OTEL_SERVICE_NAME\` (\`payment-processor\` by default), \`OTEL_RESOURCE_ATTRIBUTES\`: as specified.
- \`OTEL_TRACES_SAMPLER\`, \`OTEL_TRACES_SAMPLER_ARG\`: \`always_on\`, \`always_off\` or \`traceidratio\`, each also with the prefix
  \`parentbased_\`. The default is \`parentbased_always_on\`: if the publisher sent a trace, it decides.
- \`OTEL_BSP_SCHEDULE_DELAY\`, \`OTEL_BSP_EXPORT_TIMEOUT\`, \`OTEL_BSP_MAX_QUEUE_SIZE\`, \`OTEL_BSP_MAX_EXPORT_BATCH_SIZE\`: as specified
  (defaults 5000, 30000, 2048 and 512); the queue has at most 20,000 spans.

In the chart, put these into \`extraEnv\`, and headers into a secret. \`networkPolicy.extraEgress\` opens the way to the collector's port.

Only W3C trace context (\`traceparent\`, \`tracestate\`) is supported. The processor exports neither metrics nor logs by OTLP.

## The local store

\`STATE_DIR\` holds an LMDB store for each process: a copy of the ledger of all lanes, with the states of transactions. You may
delete it while no process runs, unless starts wait because the [ledger has lost records](runbooks/lost-internal-topic.md).

- Each process locks its own folder in it (\`0\`, \`1\` and so on, at most 64), and reuses the most useful free one.
- Use a local disk or block device, never a network file system. The path has at most about 80 characters.
- At the start, the process rebuilds a store from Kafka if it is missing, damaged, or was open when the machine stopped. It does the same
  if the store belongs to another cluster, topic, number of lanes or release. A rebuild handles about 11,000 keys per CPU second, plus the
  reading of the topic. The process also rebuilds a single lane that was not updated for nine tenths of the ledger's
  \`delete.retention.ms\`. It logs each rebuild, and has no lanes until the end.
- Disk: commands per second x \`LEDGER_RETENTION\` in seconds x 1.4 KB, including states of transactions. 10 commands per second
  for 7 days are 6 million keys, 8.5 GB ([sizing](sizing.md)). If the disk is full, the process exits with code 1.
- The ledger forgets a key, by a tombstone, \`LEDGER_RETENTION\` after its result, by both our clock and the brokers'.
  It waits until everything published to the lane by then is in the ledger too. A key with an UNKNOWN result is never forgotten. The state of a
  transaction is forgotten the longer of \`LEDGER_RETENTION\` and \`POLL_TERMINAL_FOR\` after its last change; that of an open one, never.

Measured per key: 850 bytes in a store of a million keys that was filled in large batches, 1,100 in stores of 100,000 and 200,000 keys
that processors rebuilt from Kafka, and 1,400 if keys come and go all the time. A rebuild takes about as long per key with a million
keys as with 100,000. A store looks up 50,000 keys and more per second.

## The poller

One process polls for the whole group, the owner of lane 0. [Messages](events.md#what-the-poller-sees-and-when) say what it sees, and when.
With the following budget, it sees changes of young transactions (touched less than 60 intervals ago) within about two intervals:

\`\`\`text
POLL_MAX_CALLS_PER_MINUTE = young open transactions / 100 x 60,000 / POLL_INTERVAL_MS + 20 %
\`\`\`

Add 50 % instead of 20 % if transactions come and go all the time, because pages then also show those that have ended. A transaction that
is touched long after its creation, such as an old quote that is executed, shares its page with no other. It takes one call per interval
until it has ended, for at most 60 intervals. With a smaller budget the poller sees everything later, and
\`payments_poll_budget_wait_seconds_total\` rises by close to a second per second. Apart from look-ups, the poller never makes more calls
in a minute than the budget. [Measured](measured.md#status-changes): with 1,000 transactions that come and go, each open for a minute, the
poller sees 99 % of changes within 6.5 s with 240 calls a minute, and within 8.7 s with 180.

The limit has two causes: a page shows 100 transactions, and the interface has no filter by the time of a change. So the poller must list an
open transaction to see whether it has changed. 100,000 transactions take 1,000 pages: 520 s of the default budget, if the poller did
nothing else. If the budget is too small for all, the poller divides the revisits:

- half to the transactions that have waited longest, so that old ones do not starve;
- a quarter to the most overdue for their age, because young ones are the likeliest to change;
- a quarter to the most overdue since they were last touched.

The rest of the budget goes to discovery, reversals and the sweep. A filter by status does not help with open transactions. No page shows
which of them have left a status, and a page of those that entered it also lists all that ever did.

The clocks of the service and the poller may differ by 5 minutes. Look-ups that settle doubt count against the budget, but do not wait
for it.

You may set \`POLL_START\` to an earlier time later on: the poller then announces each transaction created since that time once.
`;

function sectionOf(name: SettingName): string {
  const { default: fallback, meaning, secret } = SETTINGS[name];
  const lines = [
    `Default: ${defaultText(fallback)}`,
    ...(secret === true ? [`Secret: also as \`${name}_FILE\`.`] : []),
  ];
  return `## ${name}\n\n${meaning}\n\n${lines.join(' ')}\n\n`;
}

function defaultText(fallback: string | null): string {
  if (fallback === null) return 'none; required.';
  return fallback === '' ? 'none.' : `\`${fallback}\`.`;
}

const names = Object.keys(SETTINGS) as SettingName[];
const text = header + names.map(sectionOf).join('') + footer;

writeOrCheck('docs/settings.md', 'packages/contract/src/config.ts', text);
