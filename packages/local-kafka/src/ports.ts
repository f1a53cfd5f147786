/** Chooses ports on the loopback interface. */
import { createServer, type Server } from 'node:net';
import { EngineError } from './errors.ts';

export const LOOPBACK = '127.0.0.1';

/**
 * Below the ranges for outgoing connections: Linux from 32768, macOS from 49152. No connection can then take the port between
 * our check and the JVM's bind.
 */
const FREE_PORT_MIN = 20_000;
const FREE_PORT_MAX = 32_000;
const FREE_PORT_ATTEMPTS_MAX = 200;
/** A process chooses from blocks of its own: it claims each by listening on its first port for as long as it runs. */
const BLOCK_PORTS = 400;

export const PORT_MAX = 65_535;

/** Ports that this process has given out, so that none is given out twice before it is bound. */
const handedOut = new Set<number>();

/** The block from which ports are chosen; once half of the `ports` that were claimed are handed out, another block follows. */
let claim = Promise.resolve({ block: FREE_PORT_MIN, ports: 0 });

/** @throws {EngineError} if no free port is found in many tries */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < FREE_PORT_ATTEMPTS_MAX; attempt += 1) {
    claim = claim.then(async (now) =>
      handedOut.size < now.ports / 2 ? now : { block: await claimBlock(), ports: now.ports + BLOCK_PORTS },
    );
    const { block } = await claim;
    const port = block + 1 + Math.floor(Math.random() * (BLOCK_PORTS - 1));
    if (handedOut.has(port)) continue;
    handedOut.add(port);
    if (await isFree(port)) return port;
  }
  throw new EngineError(`No free port was found between ${FREE_PORT_MIN} and ${FREE_PORT_MAX}.`);
}

/** Without a block that nobody has claimed, all choose from the first. */
async function claimBlock(): Promise<number> {
  for (let attempt = 0; attempt < FREE_PORT_ATTEMPTS_MAX; attempt += 1) {
    const block =
      FREE_PORT_MIN + Math.floor(Math.random() * ((FREE_PORT_MAX - FREE_PORT_MIN) / BLOCK_PORTS)) * BLOCK_PORTS;
    if (await listens(createServer().unref(), block)) return block;
  }
  return FREE_PORT_MIN;
}

/**
 * Checks a port chosen by the user, before anything is started.
 * @throws {EngineError}
 */
export async function requireFree(port: number, purpose: string): Promise<number> {
  if (await isFree(port)) return port;
  throw new EngineError(
    `Port ${port}, wanted for ${purpose}, is taken by another process (or may not be used by this user). ` +
      'End that process, or choose another port.',
  );
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  if (!(await listens(server, port))) return false;
  await new Promise((resolve) => server.close(resolve));
  return true;
}

async function listens(server: Server, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ port, host: LOOPBACK, exclusive: true }, () => resolve(true));
  });
}
