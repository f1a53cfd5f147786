/**
 * Every snippet of every page is checked: commands are run, here or by a test that is named, or are listed with the reason why they
 * are not; JSON, YAML and settings in shown-data.test.ts; TypeScript is run by test/client/package.test.ts.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../dev/engine/ports.ts';
import { freshPrefix } from '../client/fixtures.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { useStack } from '../support/test-stack.ts';
import { MADE_FROM_TABLE, NOT_RUN, PUBLISHED_HERE, RUN_BY, RUN_HERE } from './commands.ts';
import { commandsOf, PAGES, placeOf, snippetsOf, type Snippet } from './snippets.ts';

const SNIPPETS = PAGES.flatMap(snippetsOf);
const inLanguage = (language: string): Snippet[] => SNIPPETS.filter((snippet) => snippet.language === language);
const cases = (snippets: Snippet[]) => snippets.map((snippet) => ({ place: placeOf(snippet), ...snippet }));
const SCRIPT_MS_MAX = 100_000;

describe('every snippet', () => {
  test('says what it is', () => {
    const known = ['sh', 'ts', 'json', 'yaml', 'properties', 'text'];
    expect(SNIPPETS.filter(({ language }) => !known.includes(language)).map(placeOf)).toEqual([]);
    for (const language of known) expect(inLanguage(language).length, language).toBeGreaterThan(0);
  });

  test('of a shell has commands that somebody runs, or that are listed with a reason', () => {
    const listed = [...RUN_HERE, ...PUBLISHED_HERE, ...Object.keys(RUN_BY), ...Object.keys(NOT_RUN)];
    expect(listed.length).toBe(new Set(listed).size);
    const shown = inLanguage('sh').flatMap((snippet) => commandsOf(snippet).map((command) => ({ command, snippet })));
    const unlisted = shown.filter(({ command }) => !listed.includes(command) && !MADE_FROM_TABLE.test(command));
    expect(unlisted.map(({ command, snippet }) => `${placeOf(snippet)} ${command}`)).toEqual([]);
    expect(listed.filter((command) => !shown.some((candidate) => candidate.command === command))).toEqual([]);
  });

  test('of a shell names programs that exist', () => {
    const named = inLanguage('sh')
      .flatMap(commandsOf)
      .flatMap((command) => /^node (?:--\S+ )*((?:proofs|dev|src)\/\S+)/.exec(command)?.[1] ?? []);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((file) => !existsSync(file))).toEqual([]);
  });

  test.each(Object.entries(RUN_BY))('`%s` is run by the test that is named', (_command, { file, shows }) => {
    expect(readFileSync(file, 'utf8')).toContain(shows);
  });
});

describe('commands', () => {
  const stack = useStack({ name: 'snippets' });

  /** Runs a snippet as one script that ends at its first failure, and whatever it left running. */
  async function runScript(
    script: string,
    environment: Record<string, string>,
  ): Promise<{ code: number | null; output: string }> {
    const child = spawn('sh', ['-e', '-c', script], {
      env: { ...childEnvironment(), HOME: process.env['HOME'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own, which `npm start &` stays in.
      detached: true,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (output += part.toString()));
    const endGroup = (): void => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    };
    const deadline = setTimeout(endGroup, SCRIPT_MS_MAX);
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', resolve);
    });
    clearTimeout(deadline);
    try {
      endGroup();
    } catch {
      // Nothing was left.
    }
    return { code, output };
  }

  /** The snippet of a page that has a command which is run here. */
  function scriptOf(page: string): string {
    const [snippet] = inLanguage('sh').filter(
      (candidate) => candidate.page === page && commandsOf(candidate).some((command) => RUN_HERE.includes(command)),
    );
    return snippet?.text ?? '';
  }

  /** Like the stack's, with nothing made yet. */
  async function freshEnvironment(): Promise<Record<string, string>> {
    const prefix = freshPrefix('snippet');
    return {
      ...stack().environment,
      TOPIC_PREFIX: prefix,
      KAFKA_GROUP_ID: prefix,
      STATE_DIR: `${stack().environment['STATE_DIR'] ?? ''}-${prefix}`,
      HTTP_PORT: String(await freePort()),
    };
  }

  test('the README, tried by hand: a command is published, executed and shown', async () => {
    const environment = await freshEnvironment();
    // What `npm run local` prints is in the environment.
    const script = scriptOf('README.md').replace(/^export KAFKA_BROKERS=\.\.\. .*\n/, '');
    const { code, output } = await runScript(script, environment);
    await rm(environment['STATE_DIR'] ?? '', { recursive: true, force: true });
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output).toMatch(/my-1[^\n]*ACCEPTED|ACCEPTED[^\n]*my-1/);
  });

  test('topics and schemas of a deployment, of which a dry run is enough: there is one broker', async () => {
    const script = scriptOf('docs/running.md').replace('--replication-factor 3', '--replication-factor 1 --dry-run');
    expect(script).toContain('--dry-run');
    const { code, output } = await runScript(script, await freshEnvironment());
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output).toContain('24');
    expect(output).toContain('registered');
  });

  describe('for kcat, as the bytes and headers that it would write', () => {
    beforeAll(async () => {
      await stack().startProcessor();
    });

    async function publishAsKcat(command: string): Promise<string> {
      const [, line = '', topic = '', header = ''] = /^echo '(.*)' \| kcat .* -t (\S+) .*-H (\S+) /.exec(command) ?? [];
      const [key = ''] = line.split(':', 1);
      const [name = '', value = ''] = header.split('=');
      const producer = stack().kafka.producer();
      await producer.connect();
      await producer.send({
        topic: topic.replace(/^payments/, stack().settings.TOPIC_PREFIX),
        messages: [{ key, value: line.slice(key.length + 1), headers: { [name]: value } }],
      });
      await producer.disconnect();
      return key;
    }

    test('a command', async () => {
      const key = await publishAsKcat(PUBLISHED_HERE[0]!);
      expect((await stack().journal.result(key)).value).toMatchObject({
        outcome: 'ACCEPTED',
        transaction: { receivedAmount: { amount: 9_007_199_254_740_993n } },
      });
    });

    test('a decision', async () => {
      await stack().publishRaw('transfer-in', {
        key: 'late1',
        value: '{}',
        headers: { 'content-type': 'application/json' },
      });
      await stack().journal.result('late1');
      const key = await publishAsKcat(PUBLISHED_HERE[1]!);
      const results = await stack().journal.resultsOf(key, 2);
      expect(results.map(({ value }) => value.revision)).toEqual([1, 2]);
    });
  });

  test.each(cases(inLanguage('json').filter(({ page }) => page === 'dev/sandbox/README.md')))(
    '$place shows the effects as the sandbox tells them',
    async ({ text }) => {
      const effects = await stack().service.effects();
      expect(Object.keys(JSON.parse(text) as object).sort()).toEqual(Object.keys(effects).sort());
    },
  );
});
