import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../src/ports.ts';
import { startEngine } from '../src/start.ts';

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
    await expect(startEngine({ [option]: port })).rejects.toThrow(`Port ${port}, wanted for ${purpose}, is taken`);
  });
});
