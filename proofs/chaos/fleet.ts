/**
 * The processors of a run: started, killed, frozen and replaced, as an orchestrator and bad luck would.
 *
 *   started -> (kill, stop, end by itself) retired: its log is in a file, its memory in the report
 *
 * A processor that ends by itself is replaced at once; how often that happened is part of the report. The fleet owns
 * every process until `close`.
 */
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { memoryOf } from '../bench/process-memory.ts';
import { spawnProcessor, type ProcessEnd, type RunningProcessor } from '../../test/support/processor.ts';

const MEMORY_LOOK_MS = 1_000;

export interface Member {
  readonly name: string;
  readonly processor: RunningProcessor;
  /** We asked for its end. */
  isEnding: boolean;
}

export interface OwnEnd extends ProcessEnd {
  name: string;
}

export class Fleet {
  readonly members: Member[] = [];
  /** The peak resident memory of each processor, MiB. */
  readonly residentMiBMax = new Map<string, number>();
  readonly ownEnds: OwnEnd[] = [];
  /** Stops by SIGTERM that were not orderly. */
  readonly badStops: OwnEnd[] = [];
  readonly #environment: Readonly<Record<string, string>>;
  readonly #logDirectory: string;
  readonly #timer: NodeJS.Timeout;
  #started = 0;
  #isClosed = false;

  constructor(environment: Readonly<Record<string, string>>, logDirectory: string) {
    this.#environment = environment;
    this.#logDirectory = logDirectory;
    this.#timer = setInterval(() => this.#lookAtMemory(), MEMORY_LOOK_MS);
  }

  get started(): number {
    return this.#started;
  }

  /** Starts a processor without waiting until it is ready. */
  async start(): Promise<Member> {
    this.#started += 1;
    const name = `processor-${this.#started}`;
    const processor = await spawnProcessor(this.#environment);
    const member: Member = { name, processor, isEnding: false };
    this.members.push(member);
    void processor.ended.then((end) => this.#ended(member, end));
    return member;
  }

  /** @returns once all of them are ready */
  async startAll(count: number): Promise<Member[]> {
    const members: Member[] = [];
    for (let index = 0; index < count; index += 1) members.push(await this.start());
    await Promise.all(members.map(({ processor }) => processor.ready()));
    return members;
  }

  async stopAll(): Promise<void> {
    await Promise.all(this.members.slice().map((member) => this.stop(member)));
  }

  async kill(member: Member): Promise<void> {
    member.isEnding = true;
    await member.processor.kill9();
  }

  /** Sends SIGTERM, and notes a stop that is not orderly. */
  async stop(member: Member): Promise<void> {
    member.isEnding = true;
    const end = await member.processor.stop();
    // Before it listens it has begun nothing, so SIGTERM may simply kill it.
    const hadBegun = member.processor.log().some(({ event }) => event === 'listening');
    if (end.code !== 0 && hadBegun) this.badStops.push({ name: member.name, ...end });
  }

  /** Ends all remaining processors, orderly or not. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await Promise.all(
      this.members.slice().map(async (member) => {
        member.isEnding = true;
        await member.processor.end();
      }),
    );
  }

  async #ended(member: Member, end: ProcessEnd): Promise<void> {
    this.members.splice(this.members.indexOf(member), 1);
    if (!member.isEnding && !this.#isClosed) {
      this.ownEnds.push({ name: member.name, ...end });
      await this.start();
    }
    const lines = member.processor.lines.slice();
    await appendFile(join(this.#logDirectory, `${member.name}.log`), `${lines.join('\n')}\n`);
  }

  #lookAtMemory(): void {
    for (const { name, processor } of this.members) {
      try {
        const { residentMax } = memoryOf(processor.pid);
        if (residentMax > 0) this.residentMiBMax.set(name, residentMax);
      } catch {
        // It has just ended.
      }
    }
  }
}
