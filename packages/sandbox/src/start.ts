/** Starts the payment service's sandbox in this process. */
import type { AddressInfo } from 'node:net';
import { systemClock, type Clock } from './clock.ts';
import { VERSION_SEGMENT } from './operations.ts';
import { Sandbox } from './sandbox.ts';
import { createSandboxServer } from './server.ts';
import { DEFAULT_SETTINGS, type Settings } from './settings.ts';
import type { AccountSeed } from './state.ts';

export interface SandboxStartOptions extends Partial<Settings> {
  /** Default 0: any free port. */
  port?: number;
  /** Default: any non-empty value. */
  tokenId?: string;
  clientSecret?: string;
  /** Accounts that exist from the start; others are created when first named. */
  accounts?: readonly AccountSeed[];
  /** Random seed for fault rules with a share; default: 1. */
  randomSeed?: number;
  /** Default: the system's clock; tests pass one that they move. */
  clock?: Clock;
  /** Receives a line per answer; default: none. */
  log?: (line: string) => void;
}

export interface RunningSandbox {
  /** `http://127.0.0.1:<port>`, the base of the control endpoints. */
  url: string;
  /** The same with the version segment: the base URL of the payment service. */
  baseUrl: string;
  port: number;
  /** The state behind the control endpoints, for code in this process. */
  service: Sandbox;
  /** Closes every connection and drops scheduled tasks. May be called twice. */
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';

/** The service without a server. @throws if an account of the options is not valid. */
export function makeSandbox(options: Omit<SandboxStartOptions, 'port' | 'log'>): Sandbox {
  const names = Object.keys(DEFAULT_SETTINGS) as (keyof Settings)[];
  return new Sandbox({
    settings: Object.fromEntries(names.map((name) => [name, options[name] ?? DEFAULT_SETTINGS[name]])) as Settings,
    credentials: { tokenId: options.tokenId ?? null, clientSecret: options.clientSecret ?? null },
    clock: options.clock ?? systemClock(),
    accounts: options.accounts ?? [],
    randomSeed: options.randomSeed ?? 1,
  });
}

/** @throws if the port is taken, or an account of the options is not valid. */
export async function startSandbox(options: SandboxStartOptions = {}): Promise<RunningSandbox> {
  const sandbox = makeSandbox(options);
  const server = createSandboxServer(sandbox, options.log ?? null);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, HOST, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://${HOST}:${port}`;
  let stopped: Promise<void> | null = null;
  return {
    url,
    baseUrl: `${url}/${VERSION_SEGMENT}`,
    port,
    service: sandbox,
    stop() {
      stopped ??= new Promise((resolve) => {
        sandbox.stop();
        server.close(() => resolve());
        server.closeAllConnections();
      });
      return stopped;
    },
  };
}
