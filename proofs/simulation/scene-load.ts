/** Publishes a scene's commands at a constant rate, each once. Each must be ACCEPTED unless it becomes too old. */
import { laneOf } from 'payment-processor-contract/keys';
import { stringifyLossless } from 'payment-processor-contract/lossless-json';
import type { TopicNames } from 'payment-processor-contract/topics';
import type { CommandType } from 'payment-processor-contract/commands';
import { makePlan, type ChaosMessage, type ChaosType, type Plan } from '../chaos/chaos-commands.ts';
import type { Draws } from './draws.ts';
import { correlationIdOf } from '../../test/support/commands.ts';
import { jsonHeaders } from './publishers.ts';
import type { ServiceState } from './service-state.ts';
import { headerText } from './simulated-log.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { ZonedBroker } from './zoned-broker.ts';

export interface SceneLoadOptions {
  readonly laneCount: number;
  readonly commandsPerSecond: number;
  readonly durationMs: number;
  readonly types: readonly ChaosType[];
  readonly honourKeys: readonly CommandType[];
  readonly time: VirtualTime;
  readonly draws: Draws;
  readonly broker: ZonedBroker;
  readonly topics: TopicNames;
}

/** A command of the scene, as publisher and subscriber saw it. */
export interface TimedCommand {
  readonly lane: number;
  readonly publishedMs: number;
  /** Null: not answered. */
  answeredMs: number | null;
}

/** A publisher retries this often while its partition has no leader. */
const AGAIN_MS = 200;
/** Long enough to execute the quotes that commands create. */
const QUOTE_LIFETIME_MS = 600_000;

export class SceneLoad {
  plan: Plan = { commands: [], messages: [] };
  readonly #options: SceneLoadOptions;
  readonly #timed = new Map<string, TimedCommand>();
  /** Next offset to look for answers at, by partition of the results. */
  readonly #looked: number[] = [];
  #unanswered = 0;

  constructor(options: SceneLoadOptions) {
    this.#options = options;
  }

  async start(service: ServiceState): Promise<void> {
    const { commandsPerSecond, draws, durationMs, honourKeys, time, types } = this.#options;
    const control = service.control();
    this.plan = await makePlan({
      commandsPerSecond,
      durationMs,
      types,
      honourKeys,
      random: draws.random,
      service: control,
      prefix: '',
      isPlain: true,
    });
    await control.set({ quoteLifetimeMs: QUOTE_LIFETIME_MS, settleMs: 2_000 });
    for (const message of this.plan.messages) time.after(message.atMs, null, () => this.#publish(message));
  }

  /** All commands that were published so far. */
  timed(): TimedCommand[] {
    this.#look();
    return [...this.#timed.values()];
  }

  /** How many published commands have no answer. */
  unanswered(): number {
    this.#look();
    return this.#unanswered;
  }

  #look(): void {
    const { broker, topics } = this.#options;
    for (const [partition, log] of broker.logs(topics.results).entries()) {
      const end = log.lastStableOffset();
      for (const record of log.all.slice(this.#looked[partition] ?? 0, end)) {
        const command = this.#timed.get(headerText(record, 'in-reply-to') ?? '');
        if (record.transaction?.outcome === 'aborted' || command === undefined || command.answeredMs !== null) continue;
        command.answeredMs = record.writtenMs;
        this.#unanswered -= 1;
      }
      this.#looked[partition] = end;
    }
  }

  #publish(message: ChaosMessage): void {
    const { command, fields, id } = message;
    const { broker, laneCount, time, topics } = this.#options;
    const lane = laneOf(command.key, laneCount);
    if (broker.isLeaderless(lane)) {
      time.after(AGAIN_MS, null, () => this.#publish(message));
      return;
    }
    const value = Buffer.from(stringifyLossless(fields));
    const record = {
      key: Buffer.from(command.key),
      value,
      headers: jsonHeaders({ ce_id: id, 'correlation-id': correlationIdOf(command.key) }),
      timestampMs: time.nowMs,
    };
    broker.append(topics.commands[command.commandType], lane, record);
    this.#timed.set(id, { lane, publishedMs: time.nowMs, answeredMs: null });
    this.#unanswered += 1;
  }
}
