/** Commands of the command line that pages and runbooks name, in sentences too: they exist, with the flags that they are shown with. */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '../src/program.ts';
import { PAGES } from '../../../test/docs/snippets.ts';

/** `cli -- publish transfer-in --key K` up to where the code or the line ends. */
const NAMED = /npm run (?:--silent )?cli -- ([^`\n]*)/g;

interface Use {
  page: string;
  words: string[];
  flags: string[];
}

const uses = PAGES.flatMap((page): Use[] =>
  // A line that goes on is one command.
  [
    ...readFileSync(page, 'utf8')
      .replace(/\\\n\s*/g, '')
      .matchAll(NAMED),
  ].map(([, text = '']) => {
    const own = text.replace(/\s#\s.*$/, '').replace(/'[^']*'/g, 'TEXT');
    const withoutGlobal = own.replace(/--output \w+ /, '');
    const words = /^((?:[a-z][a-z-]* ?){0,2})/.exec(withoutGlobal)?.[1]?.trim().split(' ') ?? [];
    return { page, words: words.filter((word) => word !== ''), flags: own.match(/--[a-z][a-z-]*/g) ?? [] };
  }),
);
const program = createProgram();

function commandNamed(words: readonly string[]): Command | null {
  return words.reduce<Command | null>(
    (found, word) => found?.commands.find((command) => command.name() === word) ?? null,
    program,
  );
}

test('they exist, with their flags', () => {
  expect(uses.length).toBeGreaterThan(40);
  const problems: string[] = [];
  for (const { flags, page, words } of uses) {
    const own = words.slice(0, 1);
    const [command, sub] = [commandNamed(own), words.length > 1 ? commandNamed(words) : null];
    if (command === null) problems.push(`no command ${own.join('')}`);
    const known = [program, command, sub].flatMap((one) => one?.options.map(({ long }) => long) ?? []);
    const missing = flags.filter((flag) => !['--help', ...known].includes(flag));
    for (const flag of missing) problems.push(`${page}: ${words.join(' ')} has no ${flag}`);
  }
  expect(problems).toEqual([]);
});

test('each shows examples, and the defaults of its durations as they are given', () => {
  const runnable = (command: Command): Command[] => [
    ...(command.commands.length === 0 || command.name() === 'status' ? [command] : []),
    ...command.commands.flatMap(runnable),
  ];
  for (const command of runnable(program)) {
    let help = '';
    command.configureOutput({ writeOut: (text) => void (help += text) }).outputHelp();
    expect(help).toContain('Examples:');
    const durations = command.options.filter(({ flags }) => flags.includes('<duration>'));
    for (const { flags } of durations) {
      expect(help).toMatch(new RegExp(`${flags} [^(]*\\(default:\\s+\\d+(ms|[smhd])\\)`));
    }
  }
});

test('an option that takes one value is refused a second time, except a header', () => {
  const parse = (...words: string[]) => {
    const asked = createProgram();
    const quiet = (command: Command): void => {
      command.configureOutput({ writeErr: () => undefined }).exitOverride();
      if (command.commands.length === 0) command.action(() => undefined);
      command.commands.forEach(quiet);
    };
    quiet(asked);
    return () => asked.parse(words, { from: 'user' });
  };
  const decided = ['resolve', 'key', '--reason', 'r', '--decision', 'EXECUTED'];
  expect(parse(...decided)).not.toThrow();
  expect(parse(...decided, '--decision', 'NOT_EXECUTED')).toThrow("option '--decision <decision>' is given twice");
  expect(parse(...decided, '--wait-for', '1s', '--wait-for', '2s')).toThrow(/given twice/);
  expect(parse('dead-letters', 'redrive', '0/1', '--header', 'a=1', '--header', 'b=2')).not.toThrow();
});
