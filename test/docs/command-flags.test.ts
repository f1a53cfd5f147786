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

test('they exist, with their flags', async () => {
  expect(uses.length).toBeGreaterThan(40);
  const top = await helpOf([]);
  const problems: string[] = [];
  for (const { flags, page, words } of uses) {
    const [first = '', second = ''] = words;
    if (first !== '' && !new RegExp(`^ {2}${first}\\b`, 'm').test(top)) problems.push(`${page}: no command ${first}`);
    const own = first === '' ? '' : await helpOf([first]);
    const isSub = second !== '' && new RegExp(`^Commands:[^]*^ {2}${second}\\b`, 'm').test(own);
    const help = `${top}${own}${isSub ? await helpOf([first, second]) : ''}`;
    const missing = flags.filter((flag) => flag !== '--help' && !new RegExp(`${flag}\\b(?!-)`).test(help));
    for (const flag of missing) problems.push(`${page}: ${words.join(' ')} has no ${flag}`);
  }
  expect(problems).toEqual([]);
});
