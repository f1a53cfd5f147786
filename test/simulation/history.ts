/**
 * One history: processes over simulated Kafka, service and time, all of it decided by a seed.
 *
 *   commands are published and processes disturbed -> all heals -> every message is answered -> persons decide what is
 *   UNKNOWN -> at rest -> judged
 */
import { createHash } from 'node:crypto';
import { stringifyLossless } from '../../src/records/lossless-json.ts';
import { laneOf } from '../../src/records/keys.ts';
import { recordOfTopic, topicNames } from '../../src/records/topics.ts';
import { CHAOS_TYPES, makePlan, type ChaosMessage, type Plan } from '../chaos/chaos-commands.ts';
import type { SandboxControl } from '../support/sandbox-control.ts';
import { Draws } from './draws.ts';
import { effectsOfKey, judgeHistory, readHistory, type DecidedResult } from './history-judgement.ts';
import { scenarioOf, type Scenario } from './scenario.ts';
import { SimulatedBroker } from './simulated-broker.ts';
import { SimulatedFleet } from './simulated-fleet.ts';
import { headerText } from './simulated-log.ts';
import { installKafka } from './simulated-kafkajs.ts';
import { SimulatedNetwork } from './simulated-network.ts';
import { simulatedConfig } from './simulated-process.ts';
import { simulatedRegistry } from './simulated-registry.ts';
import { SimulatedService } from './simulated-service.ts';
import { VirtualTime } from './virtual-time.ts';

export interface HistoryReport {
  readonly seed: number;
  /** Broken promises, in words; empty: all held. */
  readonly wrong: readonly string[];
  readonly commands: number;
  readonly calls: number;
  readonly events: number;
  readonly virtualMs: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** Crashes by the point of the code, and other disturbances. */
  readonly disturbances: Readonly<Record<string, number>>;
  /** Of everything that happened, in order. */
  readonly hash: string;
}

const PREFIX = 'simulated';
/** Longer than all doubt, sessions, transactions and pauses that a history can hold, one after the other. */
const HEAL_MS_MAX = 240_000;
/** What a zombie may still do, or a late call: nothing may come of it. */
const REST_MS = 8_000;
const LOOK_MS = 250;
/** Of the time between bursts, how long one takes. */
const BURST_SHARE = 0.05;
const PUBLISHED_AGAIN_SHARE = 0.15;
const PUBLISHED_AGAIN_MS_MAX = 3_000;
const QUOTE_LIFETIME_MS = 20_000;
const APPROVAL_MS = 1_000;

export async function runHistory(seed: number, trace: ((line: string) => void) | null = null): Promise<HistoryReport> {
  const world = new World(seed, trace);
  const restore = world.install();
  try {
    return await world.run();
  } finally {
    restore();
  }
}

class World {
  readonly #seed: number;
  readonly #trace: ((line: string) => void) | null;
  readonly #hash = createHash('sha256');
  readonly #time = new VirtualTime();
  readonly #topics = topicNames(PREFIX);
  readonly #scenario: Scenario;
  readonly #draws: Draws;
  readonly #broker: SimulatedBroker;
  readonly #fleet: SimulatedFleet;
  readonly #service: SimulatedService;

  constructor(seed: number, trace: ((line: string) => void) | null) {
    this.#seed = seed;
    this.#trace = trace;
    this.#scenario = scenarioOf(new Draws(seed, 'scenario'));
    this.#draws = new Draws(seed, 'persons');
    const { honourKeys, laneCount } = this.#scenario;
    this.#broker = new SimulatedBroker(this.#time, new Draws(seed, 'broker'));
    const { commands, ...others } = this.#topics;
    for (const topic of [...Object.values(commands), ...Object.values(others)])
      this.#broker.createTopic(topic, laneCount);
    const log = (line: string): void => this.#log(line);
    this.#fleet = new SimulatedFleet({
      scenario: this.#scenario,
      time: this.#time,
      draws: new Draws(seed, 'faults'),
      config: simulatedConfig(this.#scenario),
      registry: simulatedRegistry(recordOfTopic(this.#topics)),
      log,
    });
    this.#service = new SimulatedService({
      time: this.#time,
      draws: new Draws(seed, 'service'),
      disturber: this.#fleet,
      honourKeys,
      troubleOf: (draws) => this.#fleet.callTrouble(draws),
      log,
    });
  }

  install(): () => void {
    const restoreTime = this.#time.install(new Draws(this.#seed, 'ids'));
    const network = new SimulatedNetwork(this.#time, new Draws(this.#seed, 'network'), this.#fleet);
    const restoreKafka = installKafka(this.#broker, network);
    return () => {
      restoreKafka();
      restoreTime();
    };
  }

  async run(): Promise<HistoryReport> {
    const beganMs = this.#time.nowMs;
    const plan = await this.#plan();
    for (const message of plan.messages) {
      this.#time.after(message.atMs, null, () => this.#publish(message));
      // A publisher that missed the confirmation; a broken message would be answered, and buried, twice.
      const isAgain = this.#draws.chance(PUBLISHED_AGAIN_SHARE) && !message.isMisrouted && message.kind !== 'conflict';
      if (!isAgain || message.command.allowed.includes('INVALID')) continue;
      const againMs = message.atMs + this.#draws.between(1, PUBLISHED_AGAIN_MS_MAX);
      this.#time.after(againMs, null, () => this.#publish({ ...message, expiresAfterMs: null }));
    }
    this.#fleet.start(this.#service);
    await this.#time.runUntil(() => false, beganMs + this.#scenario.durationMs);
    this.#fleet.heal();
    await this.#until(() => this.#fleet.isAwake() && this.#unanswered(plan) === 0);
    await this.#rest();
    const decided = await this.#decide();
    this.#fleet.end();
    await this.#time.runUntil(() => false, this.#time.nowMs + REST_MS);
    const read = readHistory(this.#broker, this.#topics);
    const judged = judgeHistory({
      plan,
      read,
      decided,
      service: this.#service,
      sendings: this.#service.sendings,
      laneCount: this.#scenario.laneCount,
      honourKeys: this.#scenario.honourKeys,
    });
    return {
      seed: this.#seed,
      wrong: [...new Set([...judged.wrong, ...this.#fleet.failures])],
      commands: plan.commands.length,
      calls: this.#service.calls,
      events: this.#time.events,
      virtualMs: this.#time.nowMs - beganMs,
      outcomes: judged.outcomes,
      disturbances: this.#fleet.disturbances,
      hash: this.#hash.digest('hex'),
    };
  }

  async #plan(): Promise<Plan> {
    const { commandsPerSecond, durationMs, honourKeys } = this.#scenario;
    const service = this.#service.control() as SandboxControl;
    const plan = await makePlan({
      durationMs,
      commandsPerSecond,
      types: CHAOS_TYPES,
      honourKeys,
      random: new Draws(this.#seed, 'plan').random,
      service,
      prefix: '',
      isPlain: false,
    });
    // For what the commands themselves make.
    await service.set({ quoteLifetimeMs: QUOTE_LIFETIME_MS, approvalMs: APPROVAL_MS });
    const { burstMs } = this.#scenario;
    if (burstMs === 0) return plan;
    // In the same order.
    const inBurst = (atMs: number): number => atMs - (atMs % burstMs) * (1 - BURST_SHARE);
    return { ...plan, messages: plan.messages.map((message) => ({ ...message, atMs: inBurst(message.atMs) })) };
  }

  #publish({ command, expiresAfterMs, fields, id, isMisrouted }: ChaosMessage): void {
    const { laneCount } = this.#scenario;
    const { commandType, isUnreadable, key } = command;
    const expiry = expiresAfterMs === null ? null : new Date(this.#time.nowMs + expiresAfterMs).toISOString();
    const lane = (laneOf(key, laneCount) + (isMisrouted ? 1 : 0)) % laneCount;
    const value = isUnreadable ? '{"this is not' : stringifyLossless(fields);
    this.#log(`published ${id} ${key}`);
    this.#append(this.#topics.commands[commandType], lane, key, value, {
      ce_id: id,
      ...(expiry === null ? {} : { 'expires-at': expiry }),
    });
  }

  #append(topic: string, lane: number, key: string, value: string, headers: Record<string, string>): void {
    const texts = Object.entries({ 'content-type': 'application/json', ...headers });
    const bytes = texts.map(([name, text]): [string, Buffer] => [name, Buffer.from(text)]);
    const record = { key: Buffer.from(key), value: Buffer.from(value), headers: bytes, timestampMs: this.#time.nowMs };
    this.#broker.append(topic, lane, record);
  }

  /** Messages without an answer. */
  #unanswered(plan: Plan): number {
    const answered = new Set<string>();
    for (const log of this.#broker.logs(this.#topics.results))
      for (const record of log.committed()) answered.add(headerText(record, 'in-reply-to') ?? '');
    return plan.messages.filter(({ id }) => !answered.has(id)).length;
  }

  async #until(isOver: () => boolean): Promise<void> {
    const untilMs = this.#time.nowMs + HEAL_MS_MAX;
    while (!isOver() && this.#time.nowMs < untilMs) await this.#time.runUntil(() => false, this.#time.nowMs + LOOK_MS);
  }

  async #rest(): Promise<void> {
    await this.#time.runUntil(() => false, this.#time.nowMs + REST_MS);
  }

  /** Persons look each UNKNOWN up at the service, and decide what is true. */
  async #decide(): Promise<DecidedResult[]> {
    const read = readHistory(this.#broker, this.#topics);
    const decided: DecidedResult[] = [];
    for (const { key, value } of read.results) {
      if (value.outcome !== 'UNKNOWN' || value.revision !== 1 || !this.#draws.chance(0.8)) continue;
      if (decided.some((other) => other.key === key)) continue;
      const effects = effectsOfKey(this.#service, key);
      const decision = effects > 0 ? 'EXECUTED' : this.#draws.pick(['NOT_EXECUTED', 'RETRY']);
      const order = { decision, expectedRevision: 1, transactionId: null, operator: 'a person', reason: 'looked up' };
      decided.push({ key, decision });
      const lane = laneOf(key, this.#scenario.laneCount);
      const append = (decided: object): void =>
        this.#append(this.#topics.operatorDecisions, lane, key, JSON.stringify(decided), {});
      append(order);
      // Another person saw the same revision, and comes too late.
      if (this.#draws.chance(0.4))
        this.#time.after(this.#draws.between(0, 4_000), null, () => append({ ...order, decision: 'RETRY' }));
      this.#log(`a person decides ${decision} of ${key}`);
    }
    if (decided.length === 0) return decided;
    await this.#until(() => {
      const results = readHistory(this.#broker, this.#topics).results;
      return decided.every(({ key }) => results.some((other) => other.key === key && other.value.revision === 2));
    });
    await this.#rest();
    return decided;
  }

  #log(line: string): void {
    const text = `${this.#time.nowMs.toFixed(3)} ${line}\n`;
    this.#hash.update(text);
    this.#trace?.(text);
  }
}
