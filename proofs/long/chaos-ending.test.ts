/** A run of chaos that is ended from outside takes everything along that it started. */
import { readFile, readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { gone, isAlive, runScript } from '../../packages/local-kafka/test/processes.ts';

const TEST_MS_MAX = 240_000;
/** Three brokers, the registry, two processors. */
const STARTED_MS_MAX = 150_000;
const EXIT_CODE_INTERRUPTED = 130;

/** Processes below this one, with their command lines. */
async function descendants(pid: number): Promise<{ pid: number; command: string }[]> {
  const children = new Map<number, { pid: number; command: string }[]>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const [status, command] = await Promise.all(
      ['status', 'cmdline'].map((file) => readFile(`/proc/${name}/${file}`, 'utf8').catch(() => '')),
    );
    const parent = Number(/^PPid:\s+(\d+)$/m.exec(status ?? '')?.[1] ?? -1);
    const known = children.get(parent);
    const found = { pid: Number(name), command: (command ?? '').replaceAll('\0', ' ') };
    if (known === undefined) children.set(parent, [found]);
    else known.push(found);
  }
  const below = (of: number): { pid: number; command: string }[] =>
    (children.get(of) ?? []).flatMap((child) => [child, ...below(child.pid)]);
  return below(pid);
}

test(
  'ended by SIGTERM, chaos leaves no processor and no broker behind',
  async () => {
    const chaos = runScript(new URL('../chaos/chaos.ts', import.meta.url).href, [
      '--minutes',
      '5',
      '--commands-per-second',
      '1',
    ]);
    const processors = async (): Promise<number> =>
      (await descendants(chaos.child.pid ?? 0)).filter(({ command }) => command.includes('src/main.ts')).length;
    let started: { pid: number; command: string }[] = [];
    try {
      await expect.poll(processors, { timeout: STARTED_MS_MAX, interval: 500 }).toBeGreaterThanOrEqual(2);
      started = await descendants(chaos.child.pid ?? 0);
      expect(started.some(({ command }) => command.includes('kafka'))).toBe(true);
      chaos.child.kill('SIGTERM');
      expect(await chaos.ended, chaos.errorText()).toBe(EXIT_CODE_INTERRUPTED);
      await gone(started.map(({ pid }) => pid));
    } finally {
      for (const { pid } of [{ pid: chaos.child.pid ?? 0 }, ...started].filter((child) => isAlive(child.pid)))
        process.kill(pid, 'SIGKILL');
    }
  },
  TEST_MS_MAX,
);
