/**
 * One history: processes with simulated Kafka, service and time. A seed decides everything.
 *
 *   commands are published and processes disturbed -> all heals -> every message is answered -> operators decide what is
 *   UNKNOWN -> at rest -> judged
 */
import { createHash } from 'node:crypto';
import type { ChaosMessage } from '../chaos/chaos-commands.ts';
import type { PutPoison } from '../chaos/poison-load.ts';
import type { DisturbanceChoice } from './disturbances.ts';
import { unsettled } from './decided-judgement.ts';
import { Draws } from './draws.ts';
import { Holders } from './holders.ts';
import { readHistory } from './history-judgement.ts';
import { KafkaUpkeep } from './kafka-upkeep.ts';
import { Operators } from './operators.ts';
import { lanesOf, Publishers } from './publishers.ts';
import { publishPoison } from './poison.ts';
import { scenarioOf, type Scenario } from './scenario.ts';
import { SimulatedBroker } from './simulated-broker.ts';
import type { SimulatedFleet } from './simulated-fleet.ts';
import { simulatedConfig } from './simulated-process.ts';
import type { SimulatedService } from './simulated-service.ts';
import { VirtualTime } from './virtual-time.ts';
import { SimulatedWorld, type Surroundings } from './world.ts';

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
  /** Hash of everything that happened, in order. */
  readonly hash: string;
}

/** Longer than all settling times, sessions, transactions and pauses of a history, one after the other. */
const HEAL_MS_MAX = 240_000;
/** The same with wrong clocks: processes wait for a wrong timestamp as long as it could be right. */
const CLOCKS_HEAL_MS_MAX = 1_800_000;
/** Time for zombies and late calls to act, which must have no consequences. */
const REST_MS = 8_000;
const LOOK_MS = 250;
/** By then, every command that the service told to wait has waited long enough. */
const ALL_DUE_MS = 180_000;
const SEGMENT_CLOSED_MS = 60_000;
/** After an absence: a few, for two seconds. */
const LATER = { commandsPerSecond: 2, durationMs: 2_000 };
/** Longer than LEDGER_RETENTION and the `delete.retention.ms` of the ledger. */
const AWAY_MS = 7.2 * 86_400_000;

export interface HistoryOptions {
  readonly seed: number;
  readonly choice: DisturbanceChoice;
  readonly trace?: (line: string) => void;
}

export async function runHistory(options: HistoryOptions): Promise<HistoryReport> {
  const world = new History(options);
  const restore = world.install();
  try {
    return await world.run();
  } finally {
    restore();
  }
}

class History {
  readonly #options: HistoryOptions;
  readonly #hash = createHash('sha256');
  readonly #time = new VirtualTime();
  readonly #world: SimulatedWorld;
  /** Of a part that has this stream of draws. */
  readonly #surroundings: (stream: string) => Surroundings;
  readonly #scenario: Scenario;
  readonly #broker: SimulatedBroker;
  readonly #fleet: SimulatedFleet;
  readonly #service: SimulatedService;
  readonly #publishers: Publishers;
  readonly #operators: Operators;
  readonly #holders: Holders;
  readonly #upkeep: KafkaUpkeep;
  #isOverdue = false;
  #absentFromMs = Infinity;

  constructor(options: HistoryOptions) {
    this.#options = options;
    const scenario = scenarioOf(this.#draws('scenario'), this.#draws('added'), options.choice);
    this.#scenario = scenario;
    const time = this.#time;
    const log = (line: string): void => this.#log(line);
    const broker = new SimulatedBroker(time, this.#draws('broker'));
    this.#broker = broker;
    this.#world = new SimulatedWorld({
      scenario,
      config: simulatedConfig(scenario),
      time,
      broker,
      draws: (stream) => this.#draws(stream),
      log,
      service: {
        troubleOf: (drawn, isPage) => this.#fleet.callTrouble(drawn, isPage),
        pageDelayMs: (drawn) => this.#fleet.pageDelayMs(drawn),
        isLeftOut: (drawn) => this.#fleet.isLeftOut(drawn),
        onLost: (key) => this.#publishers.callLost(key),
      },
    });
    const { fleet, service, topics } = this.#world;
    this.#fleet = fleet;
    this.#service = service;
    this.#surroundings = (stream) => ({ scenario, time, draws: this.#draws(stream), broker, topics, log });
    const publishers = new Publishers({ ...this.#surroundings('persons'), planDraws: this.#draws('plan') });
    this.#publishers = publishers;
    this.#operators = new Operators({
      ...this.#surroundings('operators'),
      publishers,
      service: this.#service.state,
      results: () => readHistory(broker, topics).results,
    });
    this.#holders = new Holders({ ...this.#surroundings('holders'), publishers });
    this.#upkeep = new KafkaUpkeep(this.#surroundings('upkeep'));
  }

  install(): () => void {
    return this.#world.install();
  }

  async run(): Promise<HistoryReport> {
    const beganMs = this.#time.nowMs;
    await this.#publishers.start(this.#service.state);
    this.#fleet.start(this.#service);
    this.#operators.start(() => this.#fleet.isTroubled());
    this.#holders.start(() => this.#fleet.isTroubled());
    this.#upkeep.start();
    const poison = publishPoison({ ...this.#surroundings('poison'), publishers: this.#publishers });
    if (this.#scenario.disturbed.has('masses')) this.#publishers.publishMasses();
    await this.#time.runUntil(() => false, beganMs + this.#scenario.durationMs);
    this.#fleet.heal();
    if (this.#scenario.disturbed.has('masses')) await this.#untilAllIsDue();
    await this.#until(() => this.#fleet.isAwake() && this.#awaited().length === 0 && this.#isAnswered(poison));
    await this.#rest();
    await this.#askAgain();
    await this.#decide();
    if (this.#scenario.disturbed.has('absence')) await this.#absence();
    await this.#until(() => !this.#fleet.isTakingLanes());
    const stoppedLanes = this.#fleet.stoppedLanes();
    this.#fleet.end();
    // Until a lost coordinator writes its markers, nobody can read transactions whose owners know that they are committed.
    await this.#until(() => !this.#broker.coordinators.isOneLost());
    await this.#rest();
    const plan = this.#publishers.plan();
    const judged = this.#world.judged({
      plan,
      decisions: this.#operators.given,
      holds: this.#holders.confirmed,
      disturbed: this.#scenario.disturbed,
      absentFromMs: this.#absentFromMs,
      poison,
      stoppedLanes,
      jumpedLanes: this.#upkeep.jumped,
    });
    return {
      seed: this.#options.seed,
      wrong: [...new Set(judged.wrong)],
      commands: plan.commands.length,
      calls: this.#service.calls,
      events: this.#time.events,
      virtualMs: this.#time.nowMs - beganMs,
      outcomes: judged.outcomes,
      disturbances: this.#fleet.disturbances,
      hash: this.#hash.digest('hex'),
    };
  }

  /** Messages without an answer, except in lanes that wait for an operator. */
  #awaited(): ChaosMessage[] {
    const unanswered = this.#publishers.unanswered();
    if (unanswered.length === 0) return unanswered;
    const stopped = this.#fleet.stoppedLanes();
    return unanswered.filter(
      (message) => !lanesOf(message, this.#scenario.laneCount).some((lane) => stopped.has(lane)),
    );
  }

  /** Poison in lanes that wait for an operator may never be. */
  #isAnswered(poison: readonly PutPoison[]): boolean {
    const awaited = poison.filter(({ kind }) => !kind.expected.answers.includes('none'));
    if (awaited.length === 0 || this.#fleet.stoppedLanes().size > 0) return true;
    const keys = new Set(readHistory(this.#broker, this.#world.topics).results.map(({ key }) => key));
    return awaited.every(({ poison: { key } }) => key === null || keys.has(key));
  }

  async #untilAllIsDue(): Promise<void> {
    this.#fleet.leave();
    await this.#time.runUntil(() => false, this.#time.nowMs + ALL_DUE_MS);
    this.#fleet.comeBack(this.#service, 'kept');
  }

  /** Long enough to forget the keys and then to compact their tombstones away, so that old stores never see those. */
  async #absence(): Promise<void> {
    this.#upkeep.stop();
    this.#absentFromMs = this.#time.nowMs;
    for (const stores of ['lost', 'old'] as const) {
      this.#fleet.leave();
      await this.#time.runUntil(() => false, this.#time.nowMs + SEGMENT_CLOSED_MS);
      this.#upkeep.compact();
      await this.#time.runUntil(() => false, this.#time.nowMs + AWAY_MS);
      this.#upkeep.compact();
      this.#fleet.comeBack(this.#service, stores);
      await this.#publishers.publishMore(this.#service.state, LATER);
      await this.#until(() => this.#awaited().length === 0);
      await this.#rest();
    }
  }

  /** Publishes copies, to check that no key is forgotten too early. */
  async #askAgain(): Promise<void> {
    this.#publishers.copySome();
    await this.#until(() => this.#awaited().length === 0);
  }

  /** Operators look up each UNKNOWN at the service, and decide truthfully. */
  async #decide(): Promise<void> {
    const { given } = this.#operators;
    const isSettled = (): boolean => {
      const stopped = this.#fleet.stoppedLanes();
      const wanted = given.filter(({ partition }) => !stopped.has(partition));
      return unsettled(wanted, readHistory(this.#broker, this.#world.topics)).length === 0;
    };
    await this.#until(isSettled);
    this.#operators.decideUnknown();
    await this.#until(isSettled);
    await this.#rest();
    // Other operators may have decided meanwhile, and a new leader may have hidden that.
    await this.#until(isSettled);
  }

  /** What is not over in time breaks a promise, so nothing else is waited for after it. */
  async #until(isOver: () => boolean): Promise<void> {
    if (this.#isOverdue) return;
    const untilMs = this.#time.nowMs + (this.#scenario.disturbed.has('clocks') ? CLOCKS_HEAL_MS_MAX : HEAL_MS_MAX);
    while (!isOver() && this.#time.nowMs < untilMs) await this.#time.runUntil(() => false, this.#time.nowMs + LOOK_MS);
    this.#isOverdue = !isOver();
  }

  async #rest(): Promise<void> {
    await this.#time.runUntil(() => false, this.#time.nowMs + REST_MS);
  }

  #draws(stream: string): Draws {
    return new Draws(this.#options.seed, stream);
  }

  #log(line: string): void {
    const text = `${this.#time.nowMs.toFixed(3)} ${line}\n`;
    this.#hash.update(text);
    this.#options.trace?.(text);
  }
}
