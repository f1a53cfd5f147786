/** The sandbox as a process, as `npm run sandbox` starts it. */
import { afterEach, describe, expect, test } from 'vitest';
import { runScript, type Script } from '../../local-kafka/test/processes.ts';

const MAIN = new URL('../src/main.ts', import.meta.url).href;
const scripts: Script[] = [];

afterEach(() => {
  for (const { child } of scripts.splice(0)) child.kill('SIGKILL');
});

function start(...flags: string[]): Script {
  const script = runScript(MAIN, flags);
  scripts.push(script);
  return script;
}

async function output({ lines }: Script): Promise<string> {
  let text = '';
  for await (const line of lines) text += `${line}\n`;
  return text;
}

async function baseUrlOf({ errorText, lines }: Script): Promise<string> {
  for await (const line of lines) {
    const [, url] = /base URL\s+(\S+)$/.exec(line) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`ended early: ${errorText()}`);
}

describe('the command line', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    'prints its base URL, serves, and ends on %s with connections open',
    async (signal) => {
      const sandbox = start(
        ...['--token-id', 'id', '--client-secret', 's', '--settle-ms', '100', '--refuse-reused-keys'],
        ...['--honour-keys', 'create-quote,execute-quote'],
      );
      const baseUrl = await baseUrlOf(sandbox);
      expect(baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/2025-10-13$/);
      const list = async (pair: string): Promise<number> => {
        const authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
        return (await fetch(`${baseUrl}/transactions`, { headers: { authorization } })).status;
      };
      expect([await list('id:s'), await list('id:x')]).toEqual([200, 401]);
      const settings = await (await fetch(new URL('/control/settings', baseUrl))).json();
      const honourKeys = ['create-quote', 'execute-quote'];
      const given = { settleMs: 100, honourKeys, refuseReusedKeys: true };
      expect(settings).toMatchObject({ ...given, quoteLifetimeMs: 60_000 });
      sandbox.child.kill(signal);
      expect(await sandbox.ended).toBe(0);
    },
  );

  test('explains itself with --help', async () => {
    const script = start('--help');
    const text = await output(script);
    expect(await script.ended).toBe(0);
    const settings = ['--honour-keys', '--quote-lifetime-ms', '--settle-ms'];
    for (const flag of ['--port', '--token-id', '--client-secret', ...settings]) expect(text).toContain(flag);
  });

  test.each([
    [['--colour', 'red'], /--colour/],
    [['--port', '70000'], /--port/],
    [['--settle-ms', '1.5'], /--settle-ms/],
    [['--honour-keys', 'transfer-out'], /transfer-out/],
    [['--token-id', ''], /--token-id/],
    [['extra'], /extra/],
  ])('refuses %j with exit code 2 and says why', async (flags, reason) => {
    const script = start(...flags);
    expect(await output(script)).toBe('');
    expect(await script.ended).toBe(2);
    expect(script.errorText()).toMatch(reason);
  });

  test('a port that is taken is exit code 1', async () => {
    const { port } = new URL(await baseUrlOf(start()));
    const second = start('--port', port);
    expect(await second.ended).toBe(1);
    expect(second.errorText()).toContain('EADDRINUSE');
  });
});
