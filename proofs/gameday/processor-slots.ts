/**
 * The processors of a game day. Like a pod, each slot keeps its name and port when its process is replaced, so that
 * Prometheus finds it again.
 *
 *   empty -> (start) running -> (stop, kill) empty; `close` writes the logs of all processes that ever ran
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from 'payment-processor-local-kafka/ports';
import { RunningProcessor } from '../../test/support/processor.ts';

type Environment = Readonly<Record<string, string>>;

export class ProcessorSlots {
  /** Port of each slot. */
  readonly ports: ReadonlyMap<string, number>;
  readonly environmentOf: (slot: string) => Environment;
  readonly #logDirectory: string;
  readonly #running = new Map<string, RunningProcessor>();
  readonly #all: { slot: string; processor: RunningProcessor }[] = [];

  private constructor(
    ports: ReadonlyMap<string, number>,
    environmentOf: (slot: string) => Environment,
    logDirectory: string,
  ) {
    this.ports = ports;
    this.environmentOf = environmentOf;
    this.#logDirectory = logDirectory;
  }

  static async open(
    slots: readonly string[],
    environmentOf: (slot: string) => Environment,
    logDirectory: string,
  ): Promise<ProcessorSlots> {
    const ports = new Map<string, number>();
    for (const slot of slots) ports.set(slot, await freePort());
    return new ProcessorSlots(ports, environmentOf, logDirectory);
  }

  /** Starts a process in each slot, wrapped in a command if one is given, and waits until their lanes are open. */
  async start(slots: readonly string[], overrides: Environment = {}, within: readonly string[] = []): Promise<void> {
    await this.spawn(slots, overrides, within);
    // Waits once more, because a starved machine may need longer than a test does.
    const ready = (slot: string): Promise<void> => this.of(slot).ready();
    await Promise.all(slots.map((slot) => ready(slot).catch(() => ready(slot))));
  }

  /** Like `start`, without waiting. */
  async spawn(slots: readonly string[], overrides: Environment = {}, within: readonly string[] = []): Promise<void> {
    for (const slot of slots) {
      const port = this.ports.get(slot);
      if (port === undefined || this.#running.has(slot)) throw new Error(`slot ${slot} is not free`);
      const processor = new RunningProcessor({ ...this.environmentOf(slot), ...overrides }, port, within);
      this.#running.set(slot, processor);
      this.#all.push({ slot, processor });
    }
  }

  of(slot: string): RunningProcessor {
    const processor = this.#running.get(slot);
    if (processor === undefined) throw new Error(`no processor runs in slot ${slot}`);
    return processor;
  }

  all(): RunningProcessor[] {
    return [...this.#running.values()];
  }

  async stop(...slots: string[]): Promise<void> {
    await Promise.all(slots.map((slot) => this.of(slot).stop()));
    for (const slot of slots) this.#running.delete(slot);
  }

  async kill(slot: string): Promise<void> {
    await this.of(slot).kill9();
    this.#running.delete(slot);
  }

  /** Restarts one after the other: each is ready before the next is stopped. */
  async restart(slots: readonly string[], overrides: Environment = {}, within: readonly string[] = []): Promise<void> {
    for (const slot of slots) {
      await this.stop(slot);
      await this.start([slot], overrides, within);
    }
  }

  /** The slot whose process has the lane, according to its log. */
  slotOf(lane: number): string {
    for (const [slot, processor] of this.#running) {
      if (processor.assignedLanes().includes(lane)) return slot;
    }
    throw new Error(`no process has lane ${lane}`);
  }

  /** Ends what is left, by force if needed. */
  async close(): Promise<void> {
    await Promise.all(this.#all.map(({ processor }) => processor.end()));
    for (const [index, { processor, slot }] of this.#all.entries()) {
      await writeFile(join(this.#logDirectory, `${slot}-${index + 1}.log`), `${processor.lines.join('\n')}\n`);
    }
  }
}
