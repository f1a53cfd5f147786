/**
 * `node dev/matrix/matrix.ts`: runs the tests of each row once, one row after the other, and prints one table. Exit code 0 if every
 * row passed, 1 if one failed.
 */
import { readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { BATCH_USAGE, chosenParts, logFolder, readBatchWords, runParts, type PartEnd } from '../batch.ts';
import { textTable } from 'payment-processor-cli/output';
import { EXIT_CODE_FAILED, parseArguments } from 'payment-processor-local-kafka/command-line';
import { installTool, toolPath } from '../operations/install-tools.ts';
import { OPERATIONS_TOOLS } from '../operations/tool-pins.ts';
import { MATRIX_ROWS, type MatrixRow } from './rows.ts';

const USAGE = `Usage: node dev/matrix/matrix.ts [options]

Runs the tests of each row, one row after the other:
${MATRIX_ROWS.map(({ name, title }) => `  ${name.padEnd(25)} ${title}`).join('\n')}

${BATCH_USAGE}`;

interface RowEnd extends PartEnd {
  readonly passed: number;
  readonly failed: number;
}

/** Runs a row's tests, with a report beside its log. */
function commandOf(row: MatrixRow, folder: string): string[] {
  const node = row.isNode && row.tool !== null ? toolPath(row.tool) : process.execPath;
  const report = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportOf(row.name, folder)}`];
  return [
    ...[node, 'node_modules/vitest/vitest.mjs', 'run', ...row.tests, '--config', row.config, ...report],
    ...row.projects.flatMap((project) => ['--project', project]),
    ...(row.without.length === 0 ? [] : ['--testNamePattern', `^(?!.*(?:${row.without.join('|')}))`]),
  ];
}

function environmentOf({ environment, isNode, tool }: MatrixRow): Record<string, string> {
  if (!isNode || tool === null) return { ...environment };
  return { ...environment, PATH: [dirname(toolPath(tool)), process.env['PATH'] ?? ''].join(delimiter) };
}

function reportOf(name: string, folder: string): string {
  return join(folder, `${name}.json`);
}

/** A row without a single passed test proves nothing. */
async function judged(end: PartEnd, folder: string): Promise<RowEnd> {
  const text = await readFile(reportOf(end.name, folder), 'utf8').catch(() => '{}');
  const { numFailedTests: failed = 0, numPassedTests: passed = 0 } = JSON.parse(text) as Record<string, number>;
  if (passed > 0 || end.verdict === 'fell') return { ...end, passed, failed };
  return { ...end, verdict: 'fell', reason: 'no test passed', passed, failed };
}

const options = parseArguments(USAGE, (words) => {
  const read = readBatchWords(words, []);
  return read === null ? null : { ...read, rows: chosenParts(MATRIX_ROWS, read.only) };
});
const say = (line: string): void => console.error(line);
const tools = options.rows.flatMap(({ config, tool }) => [
  ...(tool === null ? [] : [tool]),
  ...(config === 'vitest.operations.config.ts' ? OPERATIONS_TOOLS : []),
]);
for (const tool of new Set(tools)) await installTool(tool, say);
const folder = await logFolder(options.logs, 'payment-matrix-');
const parts = options.rows.map((row) => ({
  name: row.name,
  title: row.title,
  command: commandOf(row, folder),
  environment: environmentOf(row),
  limitMinutes: row.limitMinutes,
}));
const ends = await runParts(parts, folder, say);
const rows = await Promise.all(ends.map((end) => judged(end, folder)));
const cells = rows.map(({ failed, log, name, passed, reason, seconds }) => [
  ...[name, String(passed), String(failed), String(seconds), reason ?? 'held', log],
]);
console.log(`\n${textTable(['row', 'passed', 'failed', 'seconds', 'held or fell', 'log'], cells).join('\n')}`);
if (rows.some(({ verdict }) => verdict === 'fell')) process.exitCode = EXIT_CODE_FAILED;
