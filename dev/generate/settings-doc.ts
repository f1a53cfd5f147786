/**
 * Writes docs/settings.md from the table of settings; with `--check` only compares, and exits 1 when the file is stale.
 */
import { EXIT_CODE_CONFIG, SETTINGS, type SettingName } from 'payment-processor-contract/config';
import { writeOrCheck } from './generated-file.ts';

const header = `# Settings

Generated from packages/contract/src/config.ts by \`npm run generate\`; edit the table there, not this file.

The processor is configured by environment variables alone. All of them are read and checked before anything is started;
every problem is listed at once, by name and never with a secret's value, and the process ends with exit code ${EXIT_CODE_CONFIG}.

- A variable that is empty counts as not set, except \`API_IDEMPOTENT_OPERATIONS\`, where empty means: none.
- A secret may be given as a file instead: \`<NAME>_FILE\` holds the path, a newline at the end of the file is left out.
  Setting both is an error. A file that changes is [read anew](running.md#security).
- Settings that end in \`_MS\` are whole numbers of milliseconds. Other durations are a number and a unit: \`500ms\`,
  \`30s\`, \`15m\`, \`24h\`, \`7d\`.
- \`COMMAND_MAX_AGE\` lists types as \`type=duration\`, separated by commas; types left out keep their default
  (\`simulate-uma-receive\`: 15m).

Checked together:

- \`KAFKA_HEARTBEAT_INTERVAL_MS\` is less than half of \`KAFKA_SESSION_TIMEOUT_MS\`.
- \`LEDGER_RETENTION\` is longer than the longest \`COMMAND_MAX_AGE\`, and not shorter than \`API_IDEMPOTENCY_RETENTION\`.
- \`KAFKA_SASL_MECHANISM\` comes with \`KAFKA_SASL_USERNAME\` and \`KAFKA_SASL_PASSWORD\`.

`;

const footer = `## Tracing

[OpenTelemetry's variables](https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/) are not checked at
the start: one that cannot be used is logged (\`tracing-setting-ignored\`) and passed over, for payments do not depend on it.
Spans are exported when \`OTEL_EXPORTER_OTLP_ENDPOINT\` or \`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT\` is set, or
\`OTEL_TRACES_EXPORTER\` is \`otlp\`; not with \`OTEL_SDK_DISABLED=true\` or \`OTEL_TRACES_EXPORTER=none\`.

- \`OTEL_EXPORTER_OTLP_PROTOCOL\`: \`http/protobuf\` (default) or \`http/json\`; with \`grpc\` tracing is off.
- \`OTEL_EXPORTER_OTLP_HEADERS\`, \`_TIMEOUT\`, \`_COMPRESSION\`, \`_CERTIFICATE\`, \`_CLIENT_CERTIFICATE\`, \`_CLIENT_KEY\`: as specified;
  these and the protocol also as \`OTEL_EXPORTER_OTLP_TRACES_...\`. Headers are never logged.
- \`OTEL_SERVICE_NAME\` (\`payment-processor\` if not set), \`OTEL_RESOURCE_ATTRIBUTES\`: as specified.
- \`OTEL_TRACES_SAMPLER\`, \`OTEL_TRACES_SAMPLER_ARG\`: \`always_on\`, \`always_off\` or \`traceidratio\`, each also with \`parentbased_\`
  before it. \`parentbased_always_on\` if not set: the publisher decides where it sent a trace.
- \`OTEL_BSP_SCHEDULE_DELAY\`, \`OTEL_BSP_EXPORT_TIMEOUT\`, \`OTEL_BSP_MAX_QUEUE_SIZE\`, \`OTEL_BSP_MAX_EXPORT_BATCH_SIZE\`: as specified
  (5000, 30000, 2048 and 512 if not set); a queue of 20,000 at most.

In the chart these go into \`extraEnv\`, headers from a secret; \`networkPolicy.extraEgress\` lets the collector's port through.

Trace context is W3C's (\`traceparent\`, \`tracestate\`) alone. There are neither metrics nor logs by OTLP.

## The local store

\`STATE_DIR\` holds for each process an LMDB store of what the ledger says of all lanes, with the states of transactions. It is
a copy, and can be deleted while no process runs.

- Each process locks a folder of its own in it (\`0\`, \`1\` and so on, 64 at most), and takes up the most useful one that is
  free.
- On a local disk or block device, never a network file system. The path has at most about 80 characters.
- A store that is missing, damaged, was open when the machine ended, or belongs to another cluster, topic, number of lanes or
  release is noticed at the start, logged and rebuilt from Kafka: about 11,000 keys per second of CPU, beside the reading of
  the topic. So is what it has of a lane that was not read on for nine tenths of the ledger's \`delete.retention.ms\`. The
  process has no lanes meanwhile.
- Disk: commands per second x \`LEDGER_RETENTION\` in seconds x 1.4 KB, states of transactions included. 10 commands per second
  for 7 days are 6 million keys, 8.5 GB ([sizing](sizing.md)). A full disk ends the process with exit code 1.
- \`LEDGER_RETENTION\` after its result, by our clock and the brokers', a key is forgotten, by a tombstone in the ledger,
  once all that was published to the lane until then is in the ledger, too; while
  its result is UNKNOWN, never. The state of a transaction goes the longer of \`LEDGER_RETENTION\` and \`POLL_TERMINAL_FOR\` after its last change; that
  of an open one, never.

Measured: 850 bytes per key in a store of a million keys that was filled in large batches, 1,100 in stores of 100,000 and
200,000 that processors rebuilt from Kafka, 1,400 where keys come and go all the time. A rebuild takes about as long per key with a million as with 100,000; 50,000 keys
and more are looked up per second.

## The poller

One process polls for the whole group, the owner of lane 0. [What it tells, and when](events.md#what-the-poller-tells-and-when).
So that changes of young transactions (touched less than 60 intervals ago) are seen within about two intervals, the budget is, in calls
per minute,

\`\`\`text
POLL_MAX_CALLS_PER_MINUTE = young open transactions / 100 x 60,000 / POLL_INTERVAL_MS + 20 %
\`\`\`

or + 50 % where transactions come and go all the time, for those that have ended are read beside the open ones. One that was
touched long after its creation, an old quote that is executed, shares its page with nobody: it takes a call per interval of its
own until it has ended, or up to 60 intervals. With less, all is seen later, and \`payments_poll_budget_wait_seconds_total\` rises by close to a second per second. In no minute are
more calls made than the budget, look-ups apart.
[Measured](measured.md#status-changes): 1,000 that come and go, each open for a minute, are seen within 6.5 s (99 %) with 240 calls a minute,
within 8.7 s with 180.

What limits it is that a page shows 100 transactions, and that the interface has no filter by the time of a change: whether an
open transaction has changed is only seen by listing it. 100,000 take 1,000 pages, 520 s of the default budget if it had nothing
else to do. Where the budget is too small for all, half of the revisits go to those that have waited longest, so that the old do
not wait without end, a quarter to those that are the most overdue for their age, for the young are the likeliest to change, and a
quarter to those that are the most overdue since they were touched; the
rest of the budget goes to discovery, reversals and the sweep. The filter by status does not help with open ones: which of them
have left a status is told by no page, and those that have entered one are listed with all that ever did.

For the poller the clocks of the service and of the processor may differ by 5 minutes. Look-ups that settle doubt count against the budget and do not wait for it.

\`POLL_START\` may be set to an earlier time later on: what was created since then is announced once.
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
