import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

interface Started {
  child: ChildProcess;
  /** What was printed so far. */
  output: { stdout: string; stderr: string };
  ended: Promise<number | null>;
}

function start(...flags: string[]): Started {
  const child = spawn(process.execPath, [MAIN, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (output.stdout += String(chunk)));
  child.stderr.on('data', (chunk) => (output.stderr += String(chunk)));
  return { child, output, ended: once(child, 'close').then(([code]) => code as number | null) };
}

async function baseUrlOf({ child, output }: Started): Promise<string> {
  for (;;) {
    const match = /base URL\s+(\S+)\n/.exec(output.stdout);
    if (match?.[1] !== undefined) return match[1];
    if (child.exitCode !== null) throw new Error(`ended early: ${output.stderr}`);
    await once(child.stdout ?? child, 'data');
  }
}

describe('the command line', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    'prints its base URL, serves, and ends on %s with connections open',
    async (signal) => {
      const sandbox = start(
        '--token-id',
        'id',
        '--client-secret',
        's',
        '--settle-ms',
        '100',
        '--honour-keys',
        'create-quote,execute-quote',
        '--refuse-reused-keys',
        '--write-point-zero',
      );
      const baseUrl = await baseUrlOf(sandbox);
      expect(baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/2025-10-13$/);
      const list = async (pair: string) =>
        fetch(`${baseUrl}/transactions`, {
          headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` },
        });
      expect((await list('id:s')).status).toBe(200);
      expect((await list('id:x')).status).toBe(401);
      const settings = await (await fetch(new URL('/control/settings', baseUrl))).json();
      expect(settings).toMatchObject({
        settleMs: 100,
        honourKeys: ['create-quote', 'execute-quote'],
        quoteLifetimeMs: 60_000,
        refuseReusedKeys: true,
        writePointZero: true,
      });
      sandbox.child.kill(signal);
      expect(await sandbox.ended).toBe(0);
    },
  );

  test('explains itself with --help', async () => {
    const { output, ended } = start('--help');
    expect(await ended).toBe(0);
    for (const flag of [
      '--port',
      '--token-id',
      '--client-secret',
      '--honour-keys',
      '--quote-lifetime-ms',
      '--settle-ms',
    ]) {
      expect(output.stdout).toContain(flag);
    }
  });

  test.each([
    [['--colour', 'red'], /--colour/],
    [['--port', '70000'], /--port/],
    [['--settle-ms', '1.5'], /--settle-ms/],
    [['--honour-keys', 'transfer-out'], /transfer-out/],
    [['--token-id', ''], /--token-id/],
    [['extra'], /extra/],
  ])('refuses %j with exit code 2 and says why', async (flags, reason) => {
    const { output, ended } = start(...flags);
    expect(await ended).toBe(2);
    expect(output.stderr).toMatch(reason);
    expect(output.stdout).toBe('');
  });

  test('a port that is taken is exit code 1', async () => {
    const first = start();
    const { port } = new URL(await baseUrlOf(first));
    const second = start('--port', port);
    expect(await second.ended).toBe(1);
    expect(second.output.stderr).toContain('EADDRINUSE');
  });
});
