/**
 * The processor as a process of its own, as it runs in production.
 *
 *   started -> ready (every lane that the group gave it is open) -> stopped by SIGTERM, killed, or ended by itself
 *
 * Its starter ends it; `end` may be called at any time and leaves no process behind. The latest log lines are kept.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { startArguments } from '../../dev/start-command.ts';
import { freePort, LOOPBACK } from 'payment-processor-local-kafka/ports';
import { childEnvironment } from './child-environment.ts';
import { Watch } from './watch.ts';

/** Covers the start of Node, schemas, topics, and a group that waits for a killed member's session timeout. */
const READY_MS_MAX = 45_000;
/** Calls end and are committed within their own deadlines; a stop that takes longer is not orderly. */
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

/** Processes to kill when this one exits. An unhandled signal emits no 'exit' event, so they survive it. */
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

  /** @param within a command that executes the one appended to it, as `env` does; none by default */
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

  /** The lanes of the latest assignment; empty before the first. */
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

  /** Waits for a log line with this event; earlier lines count. */
  async logged(event: string): Promise<LogLine> {
    const find = (): LogLine | undefined => this.log().find((line) => line.event === event);
    await this.#watch.until(
      () => find() !== undefined,
      READY_MS_MAX,
      () => `the processor to log ${event}:\n${this.tail()}`,
    );
    return find() ?? {};
  }

  /** SIGKILL, as by the kernel or a node failure. */
  async kill9(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  /** SIGTERM; SIGKILL if it takes too long. */
  async stop(): Promise<ProcessEnd> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS_MAX);
    this.#child.kill('SIGTERM');
    const end = await this.ended;
    clearTimeout(timer);
    return end;
  }

  /** SIGSTOP: no heartbeats and no calls, but connections stay open. */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  async end(): Promise<void> {
    if (this.#end === null) await this.kill9();
  }

  tail(): string {
    return this.lines.slice(-40).join('\n');
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

/** Starts the processor with only this environment. It is not ready yet. */
export async function spawnProcessor(environment: Readonly<Record<string, string>>): Promise<RunningProcessor> {
  return new RunningProcessor(environment, await freePort());
}
