/** Chooses ports on the loopback interface. */
import { createServer } from 'node:net';
import { EngineError } from './errors.ts';

export const LOOPBACK = '127.0.0.1';

/**
 * Below the ranges for outgoing connections: Linux from 32768, macOS from 49152. No connection can then take the port between
 * our check and the JVM's bind.
 */
const FREE_PORT_MIN = 20_000;
const FREE_PORT_MAX = 32_000;
const FREE_PORT_ATTEMPTS_MAX = 200;

export const PORT_MAX = 65_535;

/** Ports that this process has given out, so that none is given out twice before it is bound. */
const handedOut = new Set<number>();

/** @throws {EngineError} if no free port is found in many tries */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < FREE_PORT_ATTEMPTS_MAX; attempt += 1) {
    const port = FREE_PORT_MIN + Math.floor(Math.random() * (FREE_PORT_MAX - FREE_PORT_MIN));
    if (handedOut.has(port)) continue;
    handedOut.add(port);
    if (await isFree(port)) return port;
  }
  throw new EngineError(`No free port was found between ${FREE_PORT_MIN} and ${FREE_PORT_MAX}.`);
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
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: LOOPBACK, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
