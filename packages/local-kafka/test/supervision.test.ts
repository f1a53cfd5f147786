import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startProcess } from '../src/supervised-process.ts';
import { gone, isAlive, nextJsonLine, runScript } from './processes.ts';

interface Held {
  readonly pids: number[];
}

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'engine-test-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe('a supervised program and what it started end with the process that started it', () => {
  test.each(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'] as const)('killed by %s', async (signal) => {
    const script = runScript('hold-process.ts', [directory, 'stay']);
    const { pids } = await nextJsonLine<Held>(script);
    expect(pids.map(isAlive)).toEqual([true, true]);
    script.child.kill(signal);
    expect(await script.ended).toBe(signal);
    await gone(pids);
  });

  test.each([
    ['exit', 3],
    ['throw', 1],
  ])('ended by %s', async (ending, code) => {
    const script = runScript('hold-process.ts', [directory, ending]);
    const { pids } = await nextJsonLine<Held>(script);
    expect(await script.ended).toBe(code);
    await gone(pids);
  });
});

describe('a supervised program', () => {
  const command = (script: string) => ({
    title: 'Program',
    program: '/bin/sh',
    arguments: ['-c', script],
    logFile: join(directory, 'program.log'),
    workingDirectory: directory,
  });

  test('hands on its exit code and keeps its output', async () => {
    const program = await startProcess(command('echo out; echo err >&2; exit 7'));
    expect(await program.ended).toBe(7);
    expect(program.hasEnded()).toBe(true);
    expect(await readFile(program.logFile, 'utf8')).toBe('out\nerr\n');
  });

  test('that does not exist ends with a code and a log that says so', async () => {
    const program = await startProcess({ ...command(''), program: 'no-such-program', arguments: [] });
    expect(await program.ended).toBe(127);
    expect(await readFile(program.logFile, 'utf8')).toContain('no-such-program');
  });

  test('ends by SIGTERM in its own way, though it was paused', async () => {
    const program = await startProcess(command("trap 'kill $!; exit 5' TERM; sleep 600 & echo ready; wait"));
    while (!(await readFile(program.logFile, 'utf8')).includes('ready')) await sleep(10);
    program.signal('SIGSTOP');
    await program.end(10_000);
    expect(await program.ended).toBe(5);
  });

  test.each(['wait', 'exit'])('is killed with all that it started: %s', async (ending) => {
    const program = await startProcess(command(`sleep 600 & echo $!; ${ending}`));
    let started = 0;
    while (started === 0) started = Number(await readFile(program.logFile, 'utf8'));
    if (ending === 'exit') await program.ended;
    expect(isAlive(started)).toBe(true);
    await program.killAll();
    await gone([program.pid, started]);
  });

  test('that ignores SIGTERM is killed after the grace time', async () => {
    const program = await startProcess(command('trap "" TERM; echo ready; while :; do sleep 1; done'));
    while (!(await readFile(program.logFile, 'utf8')).includes('ready')) await sleep(10);
    await program.end(50);
    expect(await program.ended).toBe(128 + 9);
  });
});
