import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { EXIT_CODES } from '../../src/cli/exit-codes.ts';
import { SETTINGS } from '../../src/config.ts';
import { eventId } from '../../src/records/cloud-events.ts';
import { PAGES as ALL_MARKDOWN, snippetsOf } from './snippets.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGES = [
  'README.md',
  'CHANGELOG.md',
  'DESIGN.md',
  ...[
    'client',
    'clients',
    'command-line',
    'compatibility',
    'data',
    'development',
    'events',
    'metrics',
    'operations',
    'running',
    'settings',
    'tests',
  ].map((name) => `docs/${name}.md`),
];

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

  test('names scripts that package.json has', () => {
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
    const named = [...found(text, /npm run (?:--silent )?([a-z][a-z:-]*)/g), ...found(text, /npm (start|test)\b/g)];
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  test('names settings that exist', () => {
    const families = new Set(Object.keys(SETTINGS).map((name) => name.split('_')[0]));
    const secretFiles = Object.entries(SETTINGS).flatMap(([name, { secret }]) => (secret ? [`${name}_FILE`] : []));
    // Of the platform: the docs say that it has no effect.
    const others = ['HTTP_PROXY'];
    const known = new Set([...Object.keys(SETTINGS), ...secretFiles, ...others]);
    const named = found(text, /(?<![A-Z0-9_<])([A-Z]+(?:_[A-Z0-9]+)+)\b/g);
    expect(named.filter((name) => families.has(name.split('_')[0]) && !known.has(name))).toEqual([]);
  });

  test('speaks of files that exist', () => {
    const paths = found(text, /`((?:src|dev|test|docs|schemas|patches)\/[\w./-]*)`/g);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

describe('README.md and docs', () => {
  test('has every exit code of the command line', () => {
    const codes = Object.values(EXIT_CODES).map(({ code }) => String(code));
    expect(found(textOf('docs/command-line.md'), /^\| (\d+) +\|/gm)).toEqual(codes);
  });

  test('has TypeScript examples that compile', () => {
    const snippets = ALL_MARKDOWN.flatMap(snippetsOf).filter(({ language }) => language === 'ts');
    const examples = snippets.map(({ text }) => text);
    expect(examples.length).toBeGreaterThan(5);
    expect(examples.flatMap(compileErrors)).toEqual([]);
  });
});

describe('docs/events.md', () => {
  test('shows event ids that follow from their names', () => {
    const rows = [...textOf('docs/events.md').matchAll(/^\| `(\w[^`]*\\n[^`]*)` +\| `([0-9a-f-]{36})` \|$/gm)];
    expect(rows).toHaveLength(4);
    for (const [, name = '', id] of rows) expect(eventId(name.replaceAll('\\n', '\n'))).toBe(id);
  });

  test('has JSON examples that are JSON', () => {
    const examples = found(textOf('docs/events.md'), /```json\n([\s\S]*?)```/g);
    expect(examples.length).toBeGreaterThan(5);
    for (const example of examples) expect(() => JSON.parse(example) as unknown).not.toThrow();
  });
});

/** Compiles an example as if it lay in the root of the repository. */
function compileErrors(example: string): string[] {
  const file = join(ROOT, 'readme-example.ts');
  const configuration = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(configuration.config, ts.sys, ROOT);
  const host = ts.createCompilerHost(options);
  const withExample: ts.CompilerHost = {
    ...host,
    fileExists: (path) => path === file || host.fileExists(path),
    readFile: (path) => (path === file ? example : host.readFile(path)),
    getSourceFile: (path, ...rest) =>
      path === file ? ts.createSourceFile(path, example, rest[0]) : host.getSourceFile(path, ...rest),
  };
  const program = ts.createProgram([file], { ...options, noEmit: true }, withExample);
  const source = program.getSourceFile(file);
  return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map((diagnostic) =>
    ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'),
  );
}
