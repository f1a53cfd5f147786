/**
 * A processor on topics of its own, which can be poisoned: what is put into its topics goes there byte for byte, and what
 * comes of it is read as anybody would.
 *
 *   opened    topics, sandbox, one processor, whose lanes are open
 *   used      poison is put, good messages behind it, and both are awaited
 *   closed    everything is ended; a bench whose processor ended or lost a lane is of no further use
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { CommandType } from 'payment-processor-contract/commands';
import { laneOf } from 'payment-processor-contract/keys';
import type { ResultEvent } from '../../test/support/journal.ts';
import { decisionJson } from '../../test/support/poison/decision-kinds.ts';
import { goodRecord, JSON_HEADER, quoteJson, type PoisonInput } from '../../test/support/poison/kinds.ts';
import { observationBytes } from '../../test/support/poison/observation-kinds.ts';
import type { RunningProcessor } from '../../test/support/processor.ts';
import { batchOf, type BatchRecord } from '../../test/support/record-batch.ts';
import { LANES, Stack } from '../../test/support/stack.ts';
import { memoryOf } from '../bench/process-memory.ts';
import { LetterIndex, type MessagePlace } from './letter-index.ts';
import { PoisonWriter } from './poison-writer.ts';

const LOOK_MS = 20;
/** Looks between two questions to the processor's endpoints. */
const LOOKS_PER_QUESTION = 25;
/** An endpoint that does not answer within this belongs to a process that stands still. */
const ASK_MS_MAX = 5_000;
const ERROR_SHOWN_CHARACTERS = 160;
/** The defaults of production: a process that stands still for longer has lost its lanes. */
const SETTINGS = { KAFKA_SESSION_TIMEOUT_MS: '6000', KAFKA_HEARTBEAT_INTERVAL_MS: '1000' };

export interface BenchOptions {
  readonly kafkaBrokers: readonly string[];
  readonly schemaRegistryUrl: string;
}

/** A good message behind a poison, and whether it was handled as such. */
export interface Behind {
  readonly what: string;
  readonly isHandled: () => boolean;
}

export class PoisonBench {
  readonly stack: Stack;
  readonly processor: RunningProcessor;
  readonly writer: PoisonWriter;
  readonly #letters: LetterIndex;
  #keys = 0;
  #processEnd: string | null = null;
  #isSpoilt = false;

  private constructor(stack: Stack, processor: RunningProcessor) {
    this.stack = stack;
    this.processor = processor;
    this.writer = new PoisonWriter(stack);
    this.#letters = new LetterIndex(stack.journal.deadLetters());
    void processor.ended.then(({ code, signal }) => {
      this.#processEnd = `the process ended by itself (${code ?? signal})`;
    });
  }

  static async open(options: BenchOptions): Promise<PoisonBench> {
    const stack = await Stack.open({ name: 'poison', ...options, settings: SETTINGS });
    try {
      return new PoisonBench(stack, await stack.startProcessor());
    } catch (error) {
      await stack.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.stack.close();
  }

  /** Its processor ended, lost a lane or stands still: what is tried from now on would fail for what was before. */
  isSpoilt(): boolean {
    return this.#isSpoilt;
  }

  /** A key of the lane that no message had before. */
  keyOf(lane: number): string {
    for (;;) {
      this.#keys += 1;
      const key = `p${this.#keys}-${this.stack.settings.TOPIC_PREFIX.slice(-8)}`;
      if (laneOf(key, LANES) === lane) return key;
    }
  }

  /** Puts a good message into each of the partitions: a transfer, and one of the kind that the poison was. */
  async putBehind(input: PoisonInput, commandType: CommandType, partitions: readonly number[]): Promise<Behind[]> {
    const behind: Behind[] = [];
    for (const partition of partitions) {
      behind.push(await this.#putCommand('transfer-in', partition));
      if (input === 'decision') behind.push(await this.#putDecision(partition));
      else if (input === 'observation') behind.push(await this.#putObservation(partition));
      else if (commandType === 'create-quote') behind.push(await this.#putCommand('create-quote', partition));
    }
    return behind;
  }

  /** Results that are answers of their own: not of copies, not of ignored messages. */
  answersOf(key: string): ResultEvent[] {
    return this.stack.journal
      .results(key)
      .filter(({ headers, value }) => headers['replayed'] !== 'true' && value.outcome !== 'CONFLICT');
  }

  deadLetters(place: MessagePlace, key: Buffer | null): TopicRecord[] {
    return this.#letters.about(place, key);
  }

  /** Waits for good messages and what else is awaited. @returns what went wrong with the processor meanwhile, or null */
  async settled(behind: readonly Behind[], isSettled: () => boolean, limitMs: number): Promise<string | null> {
    const problem = await this.#settled(behind, isSettled, limitMs);
    if (problem !== null) this.#isSpoilt = true;
    return problem === null ? null : `${problem}: ${this.#lastError()}`;
  }

  /** The most that the processor ever had in memory. @returns 0 when it has ended */
  residentMiBMax(): number {
    try {
      return memoryOf(this.processor.pid).residentMax;
    } catch {
      return 0;
    }
  }

  async #settled(behind: readonly Behind[], isSettled: () => boolean, limitMs: number): Promise<string | null> {
    const untilMs = performance.now() + limitMs;
    let isSilent = false;
    for (let looks = 1; performance.now() < untilMs; looks += 1) {
      await delay(LOOK_MS);
      if (this.#processEnd !== null) return this.#processEnd;
      const isDone = behind.every(({ isHandled }) => isHandled()) && isSettled();
      if (!isDone && looks % LOOKS_PER_QUESTION !== 0) continue;
      const lost = await this.#lanesLost();
      isSilent = lost === null;
      if (lost !== null && lost.length > 0) return `a lane was lost (${lost.join(', ')})`;
      if (isDone) return null;
    }
    if (behind.every(({ isHandled }) => isHandled())) return null;
    return `${isSilent ? 'its endpoints do not answer; ' : ''}what is behind was not handled within ${limitMs} ms`;
  }

  /** Why lanes were lost so far; null while the processor does not answer. */
  async #lanesLost(): Promise<string[] | null> {
    const text = await fetch(`${this.processor.httpUrl}/metrics`, { signal: AbortSignal.timeout(ASK_MS_MAX) })
      .then((response) => response.text())
      .catch(() => null);
    if (text === null) return null;
    const found = [...text.matchAll(/^payments_lanes_lost_total\{reason="([^"]+)"\} (\d+)$/gm)];
    return found.flatMap(([, reason, count]) => (Number(count) > 0 ? [reason ?? ''] : []));
  }

  async #putCommand(type: 'transfer-in' | 'create-quote', partition: number): Promise<Behind> {
    const key = this.keyOf(partition);
    const record = type === 'transfer-in' ? goodRecord(key) : { ...goodRecord(key), value: quoteJson(key) };
    await this.#putGood(this.stack.topics.commands[type], partition, record);
    return {
      what: `the good ${type} in partition ${partition}`,
      isHandled: () => this.answersOf(key).some(({ value }) => value.outcome === 'ACCEPTED'),
    };
  }

  /** On a key that nobody knows: it is refused. */
  async #putDecision(partition: number): Promise<Behind> {
    const key = this.keyOf(partition);
    const topic = this.stack.topics.operatorDecisions;
    const baseOffset = await this.#putGood(topic, partition, { key, value: decisionJson(), headers: [JSON_HEADER] });
    return {
      what: `the decision in partition ${partition}`,
      isHandled: () => this.deadLetters({ topic, partition, offset: baseOffset }, null).length > 0,
    };
  }

  async #putObservation(partition: number): Promise<Behind> {
    const id = this.keyOf(partition);
    await this.#putGood(this.stack.topics.observations, partition, { key: id, value: observationBytes(id) });
    return {
      what: `the observation in partition ${partition}`,
      isHandled: () => this.stack.journal.hasTransactionEvent(id),
    };
  }

  async #putGood(topic: string, partition: number, record: BatchRecord): Promise<bigint> {
    const produced = await this.writer.put({ topic, partition }, batchOf([record]));
    if (produced.kind === 'taken') return produced.baseOffset;
    throw new Error(`the broker refused a good message for ${topic}: ${produced.errorCode} ${produced.message}`);
  }

  /** What the processor's log says of it. */
  #lastError(): string {
    const events = ['lane-lost', 'fatal', 'uncaught', 'own-failure', 'lane-stopped', 'consumer-crashed'];
    const line = this.processor.log().findLast(({ event }) => events.includes(event ?? ''));
    if (line === undefined) return 'its log says nothing';
    const { err, problem } = line as { err?: { message?: string }; problem?: string };
    return `${line.event}: ${(err?.message ?? problem ?? '').slice(0, ERROR_SHOWN_CHARACTERS)}`;
  }
}
