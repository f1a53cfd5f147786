/**
 * A server that can be stopped, killed, paused and restarted with the same address and data.
 *
 * Stages: down -> (start) up -> (pause) paused -> (resume) up -> (stop, kill) down. It owns at most one process.
 */
import { EngineError } from './errors.ts';
import { waitUntilReady } from './readiness.ts';
import type { SupervisedProcess } from './supervised-process.ts';

/** Longer than a broker's controlled shutdown while the others are up. */
const STOP_MS_MAX = 15_000;

export class Server {
  readonly title: string;
  readonly #startProcess: () => Promise<SupervisedProcess>;
  readonly #probe: () => Promise<boolean>;
  #process: SupervisedProcess | null = null;

  constructor(title: string, start: () => Promise<SupervisedProcess>, probe: () => Promise<boolean>) {
    this.title = title;
    this.#startProcess = start;
    this.#probe = probe;
  }

  /** Process id; null while it is down. */
  get pid(): number | null {
    return this.#process === null || this.#process.hasEnded() ? null : this.#process.pid;
  }

  /** Resolves when it answers; does nothing while it is up. A server that does not become ready is killed. */
  async start(): Promise<void> {
    if (this.pid !== null) return;
    this.#process = await this.#startProcess();
    try {
      await this.waitUntil(this.#probe);
    } catch (error) {
      await this.kill();
      throw error;
    }
  }

  /** Waits for a further condition. It throws like start(), but leaves the server running. */
  async waitUntil(probe: () => Promise<boolean>): Promise<void> {
    await waitUntilReady(this.#running(), probe);
  }

  /** SIGTERM, and SIGKILL after the grace. Does nothing while it is down. */
  async end(graceMs: number): Promise<void> {
    await this.#process?.end(graceMs);
  }

  /** SIGTERM, and SIGKILL after 15 s. */
  async stop(): Promise<void> {
    await this.end(STOP_MS_MAX);
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    await this.end(0);
  }

  /** SIGSTOP: connections stay open and nothing answers. */
  pause(): void {
    this.#running().signal('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.#running().signal('SIGCONT');
  }

  #running(): SupervisedProcess {
    if (this.#process === null) throw new EngineError(`${this.title} is not running.`);
    return this.#process;
  }
}
