/**
 * The processor as a process of its own, as it runs in production.
 *
 *   started -> ready (every lane that the group gave it is open) -> stopped by SIGTERM, killed, or ended by itself
 *
 * Whoever started it ends it; `end` may always be called and leaves no process behind. Its log is kept, bounded.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { startArguments } from '../../dev/start-command.ts';
import { freePort, LOOPBACK } from 'payment-processor-local-kafka/ports';
import { childEnvironment } from './child-environment.ts';
import { Watch } from './watch.ts';

/** Start of Node, schemas, topics, and a group that has to wait for the session of a killed member. */
const READY_MS_MAX = 45_000;
/** Calls end and are committed within their own deadline; beyond this the end is no orderly one. */
const STOP_MS_MAX = 30_000;
/** Log lines kept for a failing test. */
const LINES_MAX = 5_000;

export interface LogLine {
  event?: string;
  lane?: number;
  lanes?: number[];
  [name: string]: unknown;
}

export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Killed when this process exits. A signal that nobody handles emits no exit event, so nothing is killed then. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export class RunningProcessor {
  readonly #child: ChildProcess;
  readonly #watch = new Watch();
  /** Base of the HTTP endpoints. */
  readonly httpUrl: string;
  /** Everything that it printed, on standard output and standard error. */
  readonly lines: string[] = [];
  readonly ended: Promise<ProcessEnd>;
  #end: ProcessEnd | null = null;
  #assigned: readonly number[] | null = null;
  readonly #open = new Set<number>();

  /** @param within a command that becomes the one that is added to it, as `env` does; none by default */
  constructor(environment: Readonly<Record<string, string>>, httpPort: number, within: readonly string[] = []) {
    this.httpUrl = `http://${LOOPBACK}:${httpPort}`;
    const [program = '', ...words] = [...within, process.execPath, ...startArguments()];
    this.#child = spawn(program, words, {
      env: { ...childEnvironment(), ...environment, HTTP_PORT: String(httpPort) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(this.#child);
    for (const stream of [this.#child.stdout, this.#child.stderr]) this.#read(stream);
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        running.delete(this.#child);
        this.#end = { code, signal };
        this.#watch.changed();
        resolve(this.#end);
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Lanes that the group last gave it; none before the first time. */
  assignedLanes(): readonly number[] {
    return this.#assigned ?? [];
  }

  /** Lanes that it opened since it started. */
  openedLanes(): number[] {
    return [...this.#open].sort((left, right) => left - right);
  }

  /** The lines that are JSON, as objects. */
  log(): LogLine[] {
    return this.lines.flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as LogLine] : []));
  }

  /** Every assigned lane is open. */
  async ready(timeoutMs = READY_MS_MAX): Promise<void> {
    await this.#watch.until(
      () => {
        if (this.#end !== null) throw new Error(`the processor ended (${JSON.stringify(this.#end)}):\n${this.tail()}`);
        return this.#assigned?.every((lane) => this.#open.has(lane)) === true;
      },
      timeoutMs,
      () => `the processor to be ready:\n${this.tail()}`,
    );
  }

  /** What its readiness endpoint says. */
  async readiness(): Promise<{ ready: boolean; reasons: string[] }> {
    const response = await fetch(`${this.httpUrl}/health/ready`);
    return (await response.json()) as { ready: boolean; reasons: string[] };
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.httpUrl}/metrics`)).text();
  }

  /** A line of this event, from the start on. */
  async logged(event: string, timeoutMs = READY_MS_MAX): Promise<LogLine> {
    const find = (): LogLine | undefined => this.log().find((line) => line.event === event);
    await this.#watch.until(
      () => find() !== undefined,
      timeoutMs,
      () => `the processor to log ${event}:\n${this.tail()}`,
    );
    return find() ?? {};
  }

  /** Killed as the kernel or a node failure would. */
  async kill9(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  /** Asked to end in order. */
  async stop(): Promise<ProcessEnd> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS_MAX);
    this.#child.kill('SIGTERM');
    const end = await this.ended;
    clearTimeout(timer);
    return end;
  }

  /** SIGSTOP: neither heartbeats nor calls, and every connection stays. */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  async end(): Promise<void> {
    if (this.#end === null) await this.kill9();
  }

  tail(count = 40): string {
    return this.lines.slice(-count).join('\n');
  }

  #read(stream: NodeJS.ReadableStream | null): void {
    let rest = '';
    stream?.setEncoding('utf8');
    stream?.on('data', (text: string) => {
      const parts = (rest + text).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts) this.#take(line);
      this.#watch.changed();
    });
  }

  #take(line: string): void {
    this.lines.push(line);
    if (this.lines.length > LINES_MAX) this.lines.shift();
    if (!line.includes('"lane')) return;
    const { event, lane, lanes } = JSON.parse(line) as LogLine;
    if (event === 'lanes-assigned') this.#assigned = lanes ?? [];
    else if (event === 'lane-open' && lane !== undefined) this.#open.add(lane);
  }
}

/** Starts the processor with this environment alone. It is not ready yet. */
export async function spawnProcessor(environment: Readonly<Record<string, string>>): Promise<RunningProcessor> {
  return new RunningProcessor(environment, await freePort());
}
