/**
 * A processor of a virtual stack, with the interface of a real stack's process.
 *
 *   started -> ready (every lane that the group gave it is open) -> stopped in order, killed, or ended by itself
 *
 * Waiting uses timers of the test, not of the process: a process's timers die with it.
 */
import type { LogLine, ProcessEnd } from '../../test/support/processor.ts';
import { eventually } from '../../test/support/watch.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { VirtualTime } from './virtual-time.ts';

const READY_MS_MAX = 45_000;

export class VirtualProcessor {
  readonly ended: Promise<ProcessEnd>;
  readonly #time: VirtualTime;
  readonly #process: SimulatedProcess;
  readonly #lines: LogLine[] = [];
  readonly #end: (end: ProcessEnd) => void;
  #isEnded = false;

  /** @param make makes the process, which reports log lines and an exit of its own to the callbacks */
  constructor(
    time: VirtualTime,
    make: (told: { onLine: (level: string, fields: LogLine) => void; onFatal: () => void }) => SimulatedProcess,
  ) {
    this.#time = time;
    const { promise, resolve } = Promise.withResolvers<ProcessEnd>();
    this.ended = promise;
    this.#end = (end) => {
      this.#isEnded = true;
      this.#process.isAlive = false;
      // Outside the process's step, so that the test's next timers belong to the test.
      time.after(0, null, () => resolve(end));
    };
    this.#process = make({
      onLine: (level, fields) => void this.#lines.push({ level, ...fields }),
      onFatal: () => this.#end({ code: 1, signal: null }),
    });
  }

  log(): LogLine[] {
    return this.#lines;
  }

  /** Sorted by number. */
  openedLanes(): number[] {
    const opened = this.#lines.flatMap(({ event, lane }) =>
      event === 'lane-open' && lane !== undefined ? [lane] : [],
    );
    return [...new Set(opened)].sort((left, right) => left - right);
  }

  /** Every assigned lane is open. */
  async ready(): Promise<void> {
    await eventually(
      async () => {
        if (this.#isEnded) throw new Error(`the processor ended:\n${this.tail()}`);
        const assigned = this.#lines.findLast(({ event }) => event === 'lanes-assigned')?.lanes;
        return assigned?.every((lane) => this.openedLanes().includes(lane)) === true;
      },
      (isReady) => isReady,
      `the processor to be ready:\n${this.tail()}`,
      READY_MS_MAX,
    );
  }

  async readiness(): Promise<{ ready: boolean; reasons: readonly string[] }> {
    return this.#process.readiness() ?? { ready: false, reasons: [] };
  }

  /** Waits for a log line with this event; earlier lines count. */
  async logged(event: string): Promise<LogLine> {
    const find = async (): Promise<LogLine | undefined> => this.#lines.find((line) => line.event === event);
    const found = await eventually(find, (line) => line !== undefined, `the processor to log ${event}`);
    return found ?? {};
  }

  async kill9(): Promise<void> {
    this.#end({ code: null, signal: 'SIGKILL' });
    await this.ended;
  }

  async stop(): Promise<ProcessEnd> {
    this.#process.end(() => this.#end({ code: 0, signal: null }));
    return this.ended;
  }

  freeze(): void {
    this.#process.isFrozen = true;
  }

  thaw(): void {
    this.#time.thaw(this.#process);
  }

  async end(): Promise<void> {
    if (!this.#isEnded) await this.kill9();
  }

  tail(count = 40): string {
    return this.#lines.slice(-count).map(textOf).join('\n');
  }
}

function textOf(line: LogLine): string {
  return JSON.stringify(line, (_name, value: unknown) => {
    if (typeof value === 'bigint') return String(value);
    return value instanceof Error ? value.message : value;
  });
}
