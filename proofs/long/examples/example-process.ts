/** Programs of the examples as processes of their own, as their users run them. */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Program } from './toolchains.ts';

/** A JVM on a busy machine, and a group that is joined. */
const SEEN_MS_MAX = 60_000;
const PUBLISH_MS_MAX = 60_000;
const LOOK_INTERVAL_MS = 50;

export class ExampleProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #stdout = '';
  #stderr = '';
  #isRunning = true;

  constructor(program: Program, args: readonly string[], environment: Readonly<Record<string, string>>) {
    this.#child = spawn(program.file, [...program.arguments, ...args], {
      cwd: program.folder,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout?.on('data', (part: Buffer) => (this.#stdout += part.toString()));
    this.#child.stderr?.on('data', (part: Buffer) => (this.#stderr += part.toString()));
    this.#ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (code) => {
        this.#isRunning = false;
        resolve(code);
      });
    });
    this.#ended.catch(() => undefined);
  }

  lines(): string[] {
    return this.#stdout.split('\n').filter((line) => line !== '');
  }

  /** Waits for a line that begins so. @throws Error with the output that came instead */
  async seen(start: string): Promise<string> {
    const until = performance.now() + SEEN_MS_MAX;
    while (performance.now() < until && this.#isRunning) {
      const line = this.lines().find((candidate) => candidate.startsWith(start));
      if (line !== undefined) return line;
      await new Promise((resolve) => setTimeout(resolve, LOOK_INTERVAL_MS));
    }
    const state = this.#isRunning ? 'is still running' : 'has ended';
    throw new Error(`no line "${start}"; the program ${state}:\n${this.#stdout}${this.#stderr}`);
  }

  /** Asks it to end, and waits for that. */
  async stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    return this.#ended;
  }

  async end(): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const kill = setTimeout(() => this.#child.kill('SIGKILL'), PUBLISH_MS_MAX);
    const code = await this.#ended;
    clearTimeout(kill);
    return { code, stdout: this.#stdout, stderr: this.#stderr };
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
