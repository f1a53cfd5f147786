/** What the command line writes: results on standard output, everything else on standard error. */
import { stringifyLossless } from '../records/lossless-json.ts';

export type OutputFormat = 'text' | 'json';

export interface Output {
  readonly format: OutputFormat;
  /** One document: a line of JSON, int64 with all digits, or its text for an operator. */
  document(value: object, text: string): void;
  /** For an operator alone: progress, warnings and hints. */
  note(text: string): void;
}

export function createOutput(format: OutputFormat): Output {
  return {
    format,
    document: (value, text) => void process.stdout.write(`${format === 'json' ? stringifyLossless(value) : text}\n`),
    note: (text) => void process.stderr.write(`${text}\n`),
  };
}

/** Columns as wide as their widest cell; the last one is not filled up. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return all.map(line).join('\n');
}
