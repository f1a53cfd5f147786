/**
 * Writes docs/metrics.md from the table of metrics; with `--check` only compares, and exits 1 when the file is stale.
 */
import { METRICS, type MetricName } from '../../src/ops/metrics-table.ts';
import type { LabelValues, MetricDefinition } from '../../src/ops/metric-definition.ts';
import { writeOrCheck } from './generated-file.ts';
import { CONVENTIONS, type Convention } from './semantic-conventions.ts';

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
const conventionsHeader = `## OpenTelemetry names

The counterparts of these metrics in the semantic conventions for messaging and HTTP clients, or else in the collector's Kafka
receiver. Ours keep their names, because their labels are bounded and their meaning is the processor's. A metric that is not
listed has no counterpart.

`;

function rowOf([name, { difference, name: theirs }]: [string, Convention]): string[] {
  return [`\`${METRICS[name as MetricName].name}\``, `\`${theirs}\``, difference];
}

/** Columns as wide as their widest cell, like the formatter's. */
function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[], fill: string): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |\n`;
  const [head = [], ...body] = rows;
  return [
    line(head, ' '),
    line(
      widths.map(() => ''),
      '-',
    ),
    ...body.map((row) => line(row, ' ')),
  ].join('');
}

const metrics: MetricDefinition[] = Object.values(METRICS);
const conventions = [['Here', 'There', 'Difference'], ...Object.entries(CONVENTIONS).map(rowOf)];
const text = header + metrics.map(sectionOf).join('') + conventionsHeader + tableOf(conventions);
writeOrCheck('docs/metrics.md', 'src/ops/metrics-table.ts', `${text.trimEnd()}\n`);
