/** Ports for embedded clusters of many processes at once. */
import { createServer } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { EngineError } from '../src/errors.ts';
import { freePort, LOOPBACK, requireFree } from '../src/ports.ts';

const BLOCKS_FROM = 20_000;
const BLOCK_PORTS = 400;
const taken = createServer();

afterAll(() => taken.close());

test('the block of a port is claimed for as long as the process runs: no other process chooses from it', async () => {
  const ports = new Set<number>();
  for (let count = 0; count < BLOCK_PORTS; count += 1) ports.add(await freePort());
  expect(ports.size).toBe(BLOCK_PORTS);
  const blocks = new Set([...ports].map((port) => port - ((port - BLOCKS_FROM) % BLOCK_PORTS)));
  for (const block of blocks) await expect(requireFree(block, 'a test')).rejects.toThrow(EngineError);
  // The first block is exhausted before all ports are handed out.
  expect(blocks.size).toBeGreaterThan(1);
});

test('a port that another process uses is refused by its number and purpose', async () => {
  const port = await freePort();
  await new Promise<void>((resolve) => taken.listen(port, LOOPBACK, resolve));
  await expect(requireFree(port, 'the page')).rejects.toThrow(`Port ${port}, wanted for the page, is taken`);
});
