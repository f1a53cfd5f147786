/** Commands of the command line that pages and runbooks name, in sentences too: they exist, with the flags that they are shown with. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { PAGES } from './snippets.ts';

const HELP_MS_MAX = 60_000;

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
const helps = new Map<string, Promise<string>>();

function helpOf(words: readonly string[]): Promise<string> {
  const name = words.join(' ');
  const known = helps.get(name);
  if (known !== undefined) return known;
  const asked = promisify(execFile)(process.execPath, ['src/cli/main.ts', ...words, '--help'], {
    timeout: HELP_MS_MAX,
  });
  const help = asked.then(({ stdout }) => stdout);
  helps.set(name, help);
  return help;
}

/** Some at once: each is a process that only prints. */
const HELPS_AT_ONCE = 4;

async function askAll(names: readonly (readonly string[])[]): Promise<void> {
  for (let index = 0; index < names.length; index += HELPS_AT_ONCE) {
    await Promise.all(names.slice(index, index + HELPS_AT_ONCE).map(helpOf));
  }
}

test('they exist, with their flags', async () => {
  expect(uses.length).toBeGreaterThan(40);
  const top = await helpOf([]);
  const firsts = [...new Set(uses.flatMap(({ words }) => words.slice(0, 1)))];
  const problems = firsts.filter((first) => !isCommandIn(top, first)).map((first) => `no command ${first}`);
  expect(problems).toEqual([]);
  await askAll(firsts.map((first) => [first]));
  for (const { flags, page, words } of uses) {
    const [first, second] = words;
    if (first === undefined) continue;
    const own = await helpOf([first]);
    const sub = second !== undefined && isCommandIn(own, second) ? await helpOf([first, second]) : '';
    const missing = flags.filter((flag) => !new RegExp(`${flag}(?![\\w-])`).test(`${top}${own}${sub}`));
    for (const flag of missing) problems.push(`${page}: ${words.join(' ')} has no ${flag}`);
  }
  expect(problems).toEqual([]);
});

function isCommandIn(help: string, name: string): boolean {
  const at = help.indexOf('\nCommands:');
  return at >= 0 && new RegExp(`^ {2}${name}\\b`, 'm').test(help.slice(at));
}
