/** What the command line writes: results on standard output, everything else on standard error. */
import { stringifyLossless } from 'payment-processor-contract/lossless-json';

export type OutputFormat = 'text' | 'json';

export interface Output {
  readonly format: OutputFormat;
  /** One document: a line of JSON, int64 with all digits, or its text for an operator: a line, or several. */
  document(value: object, text: string | readonly string[]): void;
  /** For an operator alone: a line of progress, a warning or a hint. */
  note(text: string): void;
}

let isAll = false;

/** For a command that prints as it reads: once nobody reads on, nothing is left to be done. */
export function endWithReader(): void {
  isAll = true;
}

export function stdoutIsAll(): boolean {
  return isAll;
}

/** What a terminal acts on, and what hides or reorders the text around it. */
const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** One line, as it can be shown: publishers and services write what they like, and no line may pass for one of ours. */
export function shownLine(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function createOutput(format: OutputFormat): Output {
  return {
    format,
    document: (value, text) => {
      const lines = format === 'json' ? [stringifyLossless(value)] : [text].flat().map(shownLine);
      process.stdout.write(`${lines.join('\n')}\n`);
    },
    note: (text) => void process.stderr.write(`${shownLine(text)}\n`),
  };
}

/** Lines of columns as wide as their widest cell; the last one is not filled up. */
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
