/** The command line's output: results on standard output, everything else on standard error. */
import { stringifyLossless } from 'payment-processor-contract/lossless-json';

export type OutputFormat = 'text' | 'json';

export interface Output {
  readonly format: OutputFormat;
  /** One document: a line of JSON, int64 with all digits, or its text for an operator: a line, or several. */
  document(value: object, text: string | readonly string[]): void;
  /** Only for an operator: progress, a warning or a hint. */
  note(text: string): void;
}

let isDoneOnceClosed = false;

/** For a command that prints while it reads: once its output is closed, it has nothing left to do. */
export function exitOnClosedOutput(): void {
  isDoneOnceClosed = true;
}

export function exitsOnClosedOutput(): boolean {
  return isDoneOnceClosed;
}

/** Control characters of terminals, and characters that hide or reorder text. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0]/gu;

/** Makes a line safe to show: texts of publishers and services must not look like our own lines. A line of JSON means the same. */
export function shownLine(text: string): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(UNSAFE, (character) => character.split('').map(escaped).join(''));
}

export function createOutput(format: OutputFormat): Output {
  return {
    format,
    document: (value, text) => {
      const lines = format === 'json' ? [stringifyLossless(value)] : [text].flat();
      process.stdout.write(`${lines.map(shownLine).join('\n')}\n`);
    },
    note: (text) => void process.stderr.write(`${shownLine(text)}\n`),
  };
}

/** Lines of columns as wide as their widest cell; the last one is not padded. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return all.map(line);
}
