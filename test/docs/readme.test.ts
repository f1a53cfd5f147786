import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { EXIT_CODES } from 'payment-processor-cli/exit-codes';
import { CLIENT_ERROR_CODES } from 'payment-processor-client/internal/client-error';
import { readSomeSettings, SETTINGS } from 'payment-processor-contract/config';
import { TOPIC_SETTING_NAMES, topicDefinitions } from 'payment-processor-contract/topic-definitions';
import { eventId } from 'payment-processor-contract/cloud-events';
import { grantCommand, ROLE_NAMES, rightsOf } from 'payment-processor-contract/rights';
import { METRICS } from '../../src/ops/metrics-table.ts';
import { PAGES } from './snippets.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SCRIPTED = ['.ci/run', ...readdirSync('.github/workflows').map((name) => `.github/workflows/${name}`)];

const textOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

/** Every match of the pattern's first group, each once. */
function found(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? ''))];
}

/** Anchors that headings get: lower case, punctuation left out, blanks as hyphens. */
function anchorsOf(page: string): string[] {
  return found(textOf(page), /^#+ (.+)$/gm).map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe.each(PAGES)('%s', (page) => {
  const text = textOf(page);

  test('links to files and headings that exist', () => {
    const targets = found(text, /\]\(([^)\s]+)\)/g).filter((target) => !/^https?:/.test(target));
    const broken = targets.filter((target) => {
      const [path = '', anchor] = target.split('#');
      const linked = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(ROOT, linked))) return true;
      return anchor !== undefined && !anchorsOf(linked).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  test('names settings that exist', () => {
    const families = new Set(Object.keys(SETTINGS).map((name) => name.split('_')[0]));
    const secretFiles = Object.entries(SETTINGS).flatMap(([name, { secret }]) => (secret ? [`${name}_FILE`] : []));
    // Of the platform, which the docs say has no effect; and codes of the client's error.
    const others = ['HTTP_PROXY', ...CLIENT_ERROR_CODES];
    const known = new Set([...Object.keys(SETTINGS), ...secretFiles, ...others]);
    const named = found(text, /(?<![A-Z0-9_<])([A-Z]+(?:_[A-Z0-9]+)+)\b/g);
    expect(named.filter((name) => families.has(name.split('_')[0]) && !known.has(name))).toEqual([]);
  });

  test('names metrics that exist', () => {
    const metrics = new Set<string>(Object.values(METRICS).map(({ name }) => name));
    const named = found(text, /\b(payments_[a-z_]+[a-z])\b/g).map((name) => name.replace(/_(bucket|count|sum)$/, ''));
    expect(named.filter((name) => !metrics.has(name))).toEqual([]);
  });

  test('speaks of files that exist', () => {
    const paths = found(text, /`((?:src|packages|dev|test|docs|proofs|schemas|patches)\/[\w./-]*)`/g);
    // A package's page speaks of the package's own.
    const exists = (path: string): boolean =>
      [ROOT, join(ROOT, dirname(page))].some((from) => existsSync(join(from, path)));
    expect(paths.filter((path) => !exists(path))).toEqual([]);
  });
});

test.each([...PAGES, ...SCRIPTED])('%s names scripts that package.json has', (page) => {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
  const text = textOf(page);
  const named = [...found(text, /npm run (?:--silent )?([a-z][a-z:-]*)/g), ...found(text, /npm (start|test)\b/g)];
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
});

test('workflows use actions that cannot change, and may only read', () => {
  for (const text of SCRIPTED.slice(1).map(textOf)) {
    expect(found(text, /uses: (\S+)/g).filter((action) => !/^actions\/[a-z-]+@[0-9a-f]{40}$/.test(action))).toEqual([]);
    expect(found(text, /^ *permissions:\n((?:  .*\n)*)/gm)).toEqual(['  contents: read\n']);
  }
});

test('docs/rights.md has the command of each right', () => {
  const settings = { TOPIC_PREFIX: 'payments', KAFKA_GROUP_ID: 'payment-commands', SANDBOX_COMMANDS: false };
  const commands = ROLE_NAMES.flatMap((role) =>
    rightsOf(role, settings).map((right) => grantCommand(right, `User:${role}`)),
  );
  expect(found(textOf('docs/rights.md'), /^(kafka-acls.*)$/gm)).toEqual(commands);
});

describe('README.md and docs', () => {
  test('has every exit code of the command line', () => {
    const codes = Object.values(EXIT_CODES).map(({ code }) => String(code));
    expect(found(textOf('docs/command-line.md'), /^\| (\d+) +\|/gm)).toEqual(codes);
  });
});

describe('docs/events.md', () => {
  test('shows event ids that follow from their names', () => {
    const rows = [...textOf('docs/events.md').matchAll(/^\| `(\w[^`]*\\n[^`]*)` +\| `([0-9a-f-]{36})` \|$/gm)];
    expect(rows).toHaveLength(4);
    for (const [, name = '', id] of rows) expect(eventId(name.replaceAll('\\n', '\n'))).toBe(id);
  });
});

test('the pages say how long topics are kept as they are made', () => {
  const read = readSomeSettings({}, TOPIC_SETTING_NAMES);
  if (!read.ok) throw new Error(read.problems.join('; '));
  const daysOf = (purpose: string): string => {
    const kept = topicDefinitions(read.config).filter((topic) => topic.purpose === purpose);
    return [...new Set(kept.map(({ retentionMs }) => `${(retentionMs ?? 0) / 86_400_000} days`))].join();
  };
  const rows = textOf('docs/events.md')
    .split('\n')
    .filter((line) => line.startsWith('| '));
  const outputs = rows.find((row) => row.startsWith('| results, status events'));
  expect(outputs).toContain(`| ${daysOf('output')}, or`);
  expect(daysOf('dead-letter')).toBe(daysOf('output'));
  expect(rows.find((row) => row.startsWith('| commands, operator decisions'))).toContain(`, ${daysOf('command')} if`);
  expect(daysOf('decision')).toBe(daysOf('command'));
  expect(textOf('docs/client.md')).toContain(`: ${daysOf('output')} unless an operator`);
});
