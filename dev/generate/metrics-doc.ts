/**
 * Writes docs/metrics.md from the table of metrics; with `--check` only compares, and exits 1 when the file is stale.
 */
import { METRICS, type LabelValues, type MetricDefinition } from '../../src/ops/metrics-table.ts';
import { writeOrCheck } from './generated-file.ts';

function labelText(name: string, values: LabelValues): string {
  const listed =
    values === 'lanes'
      ? 'the number of a lane'
      : values === 'own'
        ? 'one value per process'
        : values.map((value) => `\`${value}\``).join(', ');
  return `- \`${name}\`: ${listed}\n`;
}

function sectionOf(metric: MetricDefinition): string {
  const labels = Object.entries(metric.labels).map(([name, values]) => labelText(name, values));
  const buckets = metric.buckets === undefined ? '' : `Buckets up to ${metric.buckets.join(', ')}.\n\n`;
  const list = labels.length === 0 ? '' : `${labels.join('')}\n`;
  return `## ${metric.name}\n\n${metric.type}. ${metric.help}\n\n${list}${buckets}`;
}

const header = `# Metrics

Generated from src/ops/metrics-table.ts by \`npm run generate\`; edit the table, not this file.

\`GET /metrics\` serves them in the text format of Prometheus; with \`HTTP_AUTH_TOKEN\` set it requires
\`Authorization: Bearer <token>\`. A label value that is not listed here appears as \`other\`. The endpoint also serves prom-client's
process metrics (\`process_*\`, \`nodejs_*\`). Their event loop delay is at least 50 ms, the sampling interval.

Each process reports the lanes that are assigned to it. Sums over all processes are those of the whole group.

`;
/** For people who use both: messaging and HTTP client metrics of the conventions, or else names of the collector's receiver. */
const conventions = `## OpenTelemetry names

The counterparts of these metrics in the semantic conventions for messaging and HTTP clients, or else in the collector's Kafka
receiver. Ours keep their names, because their labels are bounded and their meaning is the processor's. A metric that is not
listed has no counterpart. After each name: how ours differs, and what our labels are called there.

- \`payments_lag_messages\`: \`kafka.consumer_group.lag\`; \`command\` is \`topic\`, \`lane\` is \`partition\`; ours counts from
  admission, not from the offsets of the group
- \`payments_results_total\`: \`messaging.client.sent.messages\`; of the results topic, without replays; \`outcome\` has no attribute
  of its own, FAILED alone is an \`error.type\`
- \`payments_command_duration_seconds\`: \`messaging.process.duration\`; \`command\` is \`messaging.destination.name\`; ours begins at
  the timestamp of the command, so that it includes waiting; its \`_count\` stands for \`messaging.client.consumed.messages\`
- \`payments_status_changes_total\`: \`messaging.client.sent.messages\`; of the two topics of status changes, by \`kind\`
- \`payments_dead_letters_total\`: \`messaging.client.sent.messages\`; of the dead-letter topic; \`reason\` is \`error.type\`
- \`payments_redelivered_messages_total\`: \`messaging.client.consumed.messages\`; the part of it that had been consumed before
- \`payments_commits_total\`: \`messaging.client.operation.duration\`; its \`_count\` for \`messaging.operation.name\` = \`commit\`;
  ours has no duration
- \`payments_api_call_duration_seconds\`: \`http.client.request.duration\`; \`operation\` is \`url.template\`, \`outcome\` is finer
  than \`error.type\`; ours has calls that were never sent, too
- \`payments_api_responses_total\`: \`http.client.request.duration\`; its \`_count\` by \`http.response.status_code\`, of which ours
  has the class
- \`payments_calls_under_way\`: \`http.client.active_requests\`; \`operation\` is \`url.template\`
- \`payments_poll_calls_total\`: \`http.client.request.duration\`; its \`_count\` for \`url.template\` = \`/transactions\`;
  \`outcome\` is finer than \`error.type\`
`;

const metrics: MetricDefinition[] = Object.values(METRICS);
writeOrCheck('docs/metrics.md', 'src/ops/metrics-table.ts', header + metrics.map(sectionOf).join('') + conventions);
