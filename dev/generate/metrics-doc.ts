/**
 * Writes docs/metrics.md from the table of metrics; with `--check` only compares, and exits 1 when the file is stale.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { METRICS, type LabelValues, type MetricDefinition } from '../../src/ops/metrics-table.ts';

const root = new URL('../../', import.meta.url);
const target = new URL('docs/metrics.md', root);

function labelText(name: string, values: LabelValues): string {
  const listed = values === 'lanes' ? 'the number of a lane' : values.map((value) => `\`${value}\``).join(', ');
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

\`GET /metrics\` serves them in the text format of Prometheus; with \`HTTP_AUTH_TOKEN\` set it wants
\`Authorization: Bearer <token>\`. A label value that is not listed here appears as \`other\`. The process metrics of
prom-client (\`process_*\`, \`nodejs_*\`, with the delay of the event loop) are served as well.

Each process tells of the lanes that are assigned to it: sums over all processes are the whole group's.

`;
const metrics: MetricDefinition[] = Object.values(METRICS);
const text = `${(header + metrics.map(sectionOf).join('')).trimEnd()}\n`;

if (process.argv.includes('--check')) {
  if (storedText() !== text) {
    console.error(
      'docs/metrics.md is not what src/ops/metrics-table.ts says: run `npm run generate` and commit the result.',
    );
    process.exit(1);
  }
} else {
  mkdirSync(new URL('.', target), { recursive: true });
  writeFileSync(target, text);
}

function storedText(): string | null {
  try {
    return readFileSync(target, 'utf8');
  } catch {
    return null;
  }
}
