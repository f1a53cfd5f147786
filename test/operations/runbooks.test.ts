/** What test/docs/readme.test.ts does not check of every page. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createProgram } from 'payment-processor-cli/program';
import { KAFKA_TOOL_OPTIONS } from 'payment-processor-contract/rights';
import { ROOT } from './tools.ts';

const FOLDER = 'docs/runbooks';
const files = (await readdir(join(ROOT, FOLDER))).map((name) => join(FOLDER, name));
const runbooks = files.filter((file) => !file.endsWith('README.md'));
const pages = [...files, 'helm/README.md', 'docs/data.md'];
const textOf = (file: string): Promise<string> => readFile(join(ROOT, file), 'utf8');
const { groups } = parse(await textOf('helm/files/alerts.yaml')) as { groups: { rules: { alert: string }[] }[] };
const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));

function found(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? ''))];
}

type Command = ReturnType<typeof createProgram>['commands'][number];

/** @param path such as `dead-letters list` */
function commandAt(path: string): Command | undefined {
  let command: Command | undefined = createProgram();
  for (const name of path.split(' ')) command = command?.commands.find((one) => one.name() === name);
  return command;
}

describe('the runbooks', () => {
  it('exist for each alert, and each has its alert', () => {
    const named = runbooks.map((file) => file.slice(FOLDER.length + 1, -'.md'.length));
    expect(named.filter((name) => name.startsWith('Payments')).sort()).toEqual([...alerts].sort());
  });

  it('are all in the index', async () => {
    const index = await textOf(join(FOLDER, 'README.md'));
    const linked = found(index, /\]\(([^)/]+\.md)\)/g);
    expect(linked.sort()).toEqual(runbooks.map((file) => file.slice(FOLDER.length + 1)).sort());
  });

  it.each(runbooks)('%s has symptom, meaning, action and check', async (file) => {
    const text = await textOf(file);
    expect(found(text, /^## (.+)$/gm)).toEqual(['Symptom', 'Meaning', 'Action', 'Check']);
    expect(text).toContain('(README.md#paste-first)');
    for (const section of text.split(/^## .+$/m).slice(1)) expect(section.trim().length).toBeGreaterThan(10);
  });

  it.each(pages)("%s has Kafka's commands with the brokers and the rights to reach them", async (file) => {
    const commands = found(await textOf(file), /(kafka-[a-z]+(?:-[a-z]+)*\.sh\b.*)/g);
    expect(commands.filter((command) => !command.includes(` ${KAFKA_TOOL_OPTIONS} `))).toEqual([]);
  });

  it('name commands and options of the command line that exist', async () => {
    const text = (await Promise.all(pages.map(textOf))).join('\n');
    const named = [
      ...text.matchAll(
        /(?:\bcli|cli\/main\.ts) (?:-- )?(?:--output json )?([a-z]+(?:-[a-z]+)*)(?: ([a-z]+)\b)?([^`\n|]*)/g,
      ),
    ];
    const commands = new Map<string, Set<string>>();
    for (const [, first = '', second = '', rest = ''] of named) {
      const isPair = ['topics', 'schemas', 'ledger', 'dead-letters', 'transactions', 'unfinished', 'unknown'].includes(
        first,
      );
      const command = isPair ? `${first} ${second}` : first;
      const options = commands.get(command) ?? new Set<string>();
      for (const option of found(rest, /(--[a-z][a-z-]+)/g)) if (option !== '--output') options.add(option);
      commands.set(command, options);
    }
    expect(commands.size).toBeGreaterThan(8);
    for (const [command, options] of commands) {
      const described = commandAt(command);
      expect({ command, isKnown: described !== undefined }).toEqual({ command, isKnown: true });
      const known = new Set(['--help', ...(described?.options ?? []).map(({ long }) => long)]);
      expect({ command, unknown: [...options].filter((option) => !known.has(option)) }).toEqual({
        command,
        unknown: [],
      });
    }
  });
});
