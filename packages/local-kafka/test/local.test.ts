import { access } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { freePort } from '../src/ports.ts';
import { runScript, type Script } from './processes.ts';

const START_MS_MAX = 120_000;

function runLocal(words: readonly string[]): Script {
  return runScript('../src/local.ts', words);
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const listening = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return listening;
}

/** Another process may take a port between the choice and the start: others are chosen then. */
async function startedOnFreePorts(): Promise<{ script: Script; lines: string[]; ports: number[] }> {
  const names = ['--kafka-port', '--registry-port', '--sandbox-port'];
  for (;;) {
    const ports = [await freePort(), await freePort(), await freePort()];
    const script = runLocal(['--', ...names.flatMap((name, index) => [name, `${ports[index]}`])]);
    const lines: string[] = [];
    for await (const line of script.lines) {
      lines.push(line);
      if (line.startsWith('Ctrl-C')) return { script, lines, ports };
    }
    if (!/is taken|address already in use|EADDRINUSE/i.test(script.errorText())) throw new Error(script.errorText());
  }
}

test(
  'prints the settings to use, serves on the given ports, and ends and removes all of it on Ctrl-C, twice delivered as npm does',
  async () => {
    const { lines, ports, script } = await startedOnFreePorts();
    const [kafkaPort, registryPort, sandboxPort] = ports;
    const text = lines.join('\n');
    expect(text).toContain(`export KAFKA_BROKERS=127.0.0.1:${kafkaPort}\n`);
    expect(text).toContain(`export SCHEMA_REGISTRY_URL=http://127.0.0.1:${registryPort}/apis/ccompat/v7\n`);
    expect(text).toMatch(
      new RegExp(`export API_BASE_URL=http://127\\.0\\.0\\.1:${sandboxPort}/\\d{4}-\\d\\d-\\d\\d\n`),
    );
    expect(text).toContain('export SANDBOX_COMMANDS=true\n');
    expect(text).toContain('npm run cli -- topics create');
    expect(text).toContain('npm run cli -- schemas register');
    expect(await Promise.all(ports.map(isListening))).toEqual([true, true, true]);
    const directory = dirname(/logs in (\S+)/.exec(text)?.[1] ?? '');
    await access(directory);

    script.child.kill('SIGINT');
    script.child.kill('SIGINT');
    expect(await script.ended).toBe(0);
    expect(await Promise.all(ports.map(isListening))).toEqual([false, false, false]);
    // Nobody named it: nothing is kept.
    await expect(access(directory)).rejects.toThrow();
  },
  START_MS_MAX,
);

test.each([
  [['--broker', '3'], '--broker'],
  [['--brokers', 'three'], '--brokers must be a whole number from 1 to 5, not "three"'],
  [['--brokers', '9'], '--brokers must be a whole number from 1 to 5, not "9"'],
  [['--kafka-port', '70000'], '--kafka-port must be a whole number from 1 to 65535'],
  [['--sandbox-port'], '--sandbox-port'],
  [['somewhere'], 'somewhere'],
])('refuses %j with exit code 2, the problem and the usage', async (words, problem) => {
  const script = runLocal(words);
  expect(await script.ended).toBe(2);
  expect(script.errorText()).toContain(problem);
  expect(script.errorText()).toContain('Usage: npm run local');
});
