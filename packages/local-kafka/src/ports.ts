/** Choosing ports on the loopback interface. */
import { createServer } from 'node:net';
import { EngineError } from './errors.ts';

export const LOOPBACK = '127.0.0.1';

/**
 * Below the ranges that operating systems hand out for outgoing connections (Linux from 32768, macOS from 49152), so
 * that no connection made between the check and the JVM's own bind can take the port.
 */
const FREE_PORT_MIN = 20_000;
const FREE_PORT_MAX = 32_000;
const FREE_PORT_ATTEMPTS_MAX = 200;

export const PORT_MAX = 65_535;

/** Handed out by this process, bound or about to be. */
const handedOut = new Set<number>();

/** @throws {EngineError} PORT_TAKEN when none of many tries is free */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < FREE_PORT_ATTEMPTS_MAX; attempt += 1) {
    const port = FREE_PORT_MIN + Math.floor(Math.random() * (FREE_PORT_MAX - FREE_PORT_MIN));
    if (handedOut.has(port)) continue;
    handedOut.add(port);
    if (await isFree(port)) return port;
  }
  throw new EngineError('PORT_TAKEN', `No free port was found between ${FREE_PORT_MIN} and ${FREE_PORT_MAX}.`);
}

/**
 * Checks a port that the user chose, before anything is started.
 * @throws {EngineError} PORT_TAKEN
 */
export async function requireFree(port: number, purpose: string): Promise<number> {
  if (await isFree(port)) return port;
  throw new EngineError(
    'PORT_TAKEN',
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
