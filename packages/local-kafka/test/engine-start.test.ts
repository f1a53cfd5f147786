import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../src/ports.ts';
import { startEngine } from '../src/start.ts';
import { gone, isAlive, logContains, nextJsonLine, runScript } from './processes.ts';

/** Starts of JVMs on a loaded machine. */
const START_MS_MAX = 120_000;

describe('a directory that is given', () => {
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'engine-test-'));
  });

  afterAll(async () => rm(directory, { recursive: true, force: true }));

  test(
    'the servers die with a parent that is killed by SIGKILL, and the data can be taken up again',
    async () => {
      const script = runScript('hold-engine.ts', [directory]);
      const { pids } = await nextJsonLine<{ pids: number[] }>(script);
      expect(pids.map(isAlive)).toEqual([true, true]);
      script.child.kill('SIGKILL');
      await gone(pids);

      const engine = await startEngine({ directory });
      await engine.stop();
      expect(await logContains(engine.directory, 'broker-1.log', 'shut down completed')).toBe(true);
      await expect(startEngine({ directory, brokers: 3 })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    },
    START_MS_MAX,
  );
});

describe('a port that is taken', () => {
  let occupant: Server;
  let port: number;

  beforeAll(async () => {
    port = await freePort();
    occupant = createServer().listen(port, '127.0.0.1');
    await once(occupant, 'listening');
  });

  afterAll(() => occupant.close());

  test.each([
    ['kafkaPort', 'Kafka broker 1'],
    ['registryPort', 'the schema registry'],
  ] as const)('as %s is named in the error', async (option, purpose) => {
    await expect(startEngine({ [option]: port })).rejects.toMatchObject({
      code: 'PORT_TAKEN',
      message: expect.stringContaining(`Port ${port}, wanted for ${purpose}, is taken`) as unknown,
    });
  });
});
