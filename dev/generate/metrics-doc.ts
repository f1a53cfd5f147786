/**
 * Writes the sections of docs/metrics.md from the table of metrics; with `--check` only compares, and exits 1 when the file is stale.
 */
import { METRICS, type LabelValues, type MetricDefinition } from '../../src/ops/metrics-table.ts';
import { writeOrCheckPart } from './generated-file.ts';

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

const metrics: MetricDefinition[] = Object.values(METRICS);
writeOrCheckPart('docs/metrics.md', 'src/ops/metrics-table.ts', metrics.map(sectionOf).join(''));
