/**
 * A large deployment in virtual time: a hundred lanes, twenty members, a constant load, and one thing that happens to all
 * of it. No draws are shared with histories: their seeds stay what they were.
 *
 *   all lanes open -> quiet load, for comparison -> what the scene is about -> all is answered -> at rest -> judged
 *
 * Processes take no time to compute, and a call of the service always the same: what is measured are waits of the
 * protocol (sessions, rebalances, fencing, doubt), not what processors are able to do.
 */
import { OWNER_KEY } from '../../src/ledger/ledger-records.ts';
import type { ChaosCommand, Plan } from '../chaos/chaos-commands.ts';
import { Draws } from './draws.ts';
import { Publishers } from './publishers.ts';
import { BUSY_LATE_MARKER_SHARE, busyCall, busyMachine, scale } from './scaling.ts';
import {
  durationMsOf,
  MINUTE_MS,
  QUIET_MS,
  scenarioOf,
  ZONE_AWAY_MS,
  type SceneName,
  type SceneOptions,
} from './scene-options.ts';
import {
  answerTimes,
  mostPerSecond,
  nextResults,
  timedCommands,
  type Moment,
  type SceneReport,
} from './scene-report.ts';
import type { SimulatedFleet } from './simulated-fleet.ts';
import { simulatedConfig } from './simulated-process.ts';
import type { CallTrouble, SimulatedService } from './simulated-service.ts';
import { VirtualTime } from './virtual-time.ts';
import { SimulatedWorld } from './world.ts';
import { ZonedBroker } from './zoned-broker.ts';

const EVENTS_MAX = 50_000_000;
const OPEN_MS_MAX = 120_000;
const LOOK_MS = 250;
const CALL_MS = 200;
/** One process after the other, as a Deployment with one unavailable; it waits for this long at most. */
const READY_MS_MAX = 60_000;
/** A broker's session of 9 s, and the election. */
const ELECTION_MS = 10_000;
const ANSWERED_MS_MAX = 1_800_000;
const REST_MS = 15_000;
/** Nobody dies in these, or freezes. */
const PEACEFUL: readonly SceneName[] = ['rolling-restart', 'service-outage', 'scaling'];

const OWNER_BYTES = Buffer.from(OWNER_KEY);

export async function runScene(options: SceneOptions): Promise<SceneReport> {
  const world = new SceneWorld(options);
  const restore = world.install();
  try {
    return await world.run();
  } finally {
    restore();
  }
}

class SceneWorld {
  readonly #options: SceneOptions;
  readonly #time = new VirtualTime(EVENTS_MAX);
  readonly #world: SimulatedWorld<ZonedBroker>;
  readonly #broker: ZonedBroker;
  readonly #fleet: SimulatedFleet;
  readonly #service: SimulatedService;
  readonly #publishers: Publishers;
  readonly #lanesLost: Record<string, number> = {};
  readonly #moments: Moment[] = [];
  #isServiceDown = false;
  #waitingMost = 0;

  constructor(options: SceneOptions) {
    this.#options = options;
    const { scene } = options;
    const time = this.#time;
    const log = (line: string): void => this.#log(line);
    const scenario = scenarioOf(options);
    const config = simulatedConfig(scenario, {
      API_MAX_CONCURRENCY: '100',
      COMMAND_MAX_AGE: 'create-quote=15m,execute-quote=15m,transfer-in=24h,reject-transaction=24h',
      BREAKER_RESET_MS: '5000',
      SANDBOX_COMMANDS: 'false',
    });
    const broker = new ZonedBroker(time, this.#draws('broker'), scene === 'scaling' ? BUSY_LATE_MARKER_SHARE : 0);
    this.#broker = broker;
    this.#world = new SimulatedWorld({
      scenario,
      config,
      time,
      broker,
      draws: (stream) => this.#draws(stream),
      log,
      service: {
        troubleOf: (draws, isPage) => this.#troubleOf(draws, isPage),
        pageDelayMs: () => 0,
        isLeftOut: () => false,
        onLost: () => undefined,
      },
    });
    this.#fleet = this.#world.fleet;
    this.#service = this.#world.service;
    const [draws, planDraws] = [this.#draws('persons'), this.#draws('plan')];
    this.#publishers = new Publishers({ scenario, time, draws, planDraws, broker, topics: this.#world.topics, log });
  }

  install(): () => void {
    const isScaling = this.#options.scene === 'scaling';
    return this.#world.install(isScaling ? busyMachine(this.#draws('machine'), this.#fleet) : this.#fleet, 0);
  }

  async run(): Promise<SceneReport> {
    const { commandsPerSecond, scene } = this.#options;
    const beganMs = this.#time.nowMs;
    // Commands of the plan begin once all lanes are open.
    this.#fleet.start(this.#service);
    await this.#until(() => this.#openLanes().length === this.#options.lanes, OPEN_MS_MAX);
    const openMs = this.#time.nowMs;
    const durationMs = durationMsOf(this.#options);
    await this.#publishers.publishMore(this.#service.state, { commandsPerSecond, durationMs });
    await this.#pass(QUIET_MS);
    const sceneMs = this.#time.nowMs;
    const ownersBefore = this.#owners();
    await this.#happen(scene);
    const overMs = this.#time.nowMs;
    const isDrained = (): boolean => this.#publishers.unanswered().every(({ atMs }) => openMs + atMs > overMs);
    await this.#until(isDrained, ANSWERED_MS_MAX);
    const drainedMs = this.#time.nowMs - overMs;
    await this.#until(() => this.#publishers.unanswered().length === 0, ANSWERED_MS_MAX);
    await this.#until(() => !this.#fleet.isTakingLanes(), OPEN_MS_MAX);
    const takeOvers = this.#owners() - ownersBefore;
    const stoppedLanes = this.#fleet.stoppedLanes();
    this.#fleet.heal();
    this.#fleet.end();
    await this.#pass(REST_MS);
    const commands = timedCommands(this.#broker, this.#world.topics);
    const { outcomes, wrong } = this.#world.judged({ plan: this.#judgedPlan(), stoppedLanes });
    const sentMs = this.#service.sendings.map(({ atMs }) => atMs);
    return {
      scene,
      wrong: [...new Set([...wrong, ...this.#lossesInPeace()])],
      commands: commands.length,
      outcomes,
      answeredBeforeMs: answerTimes(commands, openMs, sceneMs),
      answeredSinceMs: answerTimes(commands, sceneMs, Infinity),
      nextResultMs: nextResults(this.#moments, commands),
      takeOvers,
      lanesLost: this.#lanesLost,
      waitingMost: this.#waitingMost,
      drainedMs,
      callsPerSecondBefore: mostPerSecond(sentMs.filter((atMs) => atMs < sceneMs)),
      callsPerSecondAfter: mostPerSecond(sentMs.filter((atMs) => atMs >= overMs)),
      virtualMs: this.#time.nowMs - beganMs,
      events: this.#time.events,
    };
  }

  /** @returns once it is over: all processes are there again, or the service is */
  async #happen(scene: SceneName): Promise<void> {
    switch (scene) {
      case 'rolling-restart':
        return this.#rollingRestart();
      case 'lost-zone':
        return this.#lostZone();
      case 'service-outage':
        return this.#serviceOutage();
      case 'scaling':
        return this.#scale();
    }
  }

  async #rollingRestart(): Promise<void> {
    for (let slot = 0; slot < this.#options.members; slot += 1) {
      this.#moments.push({ atMs: this.#time.nowMs, lanes: this.#fleet.openLanesOf(slot) });
      this.#fleet.endInOrder(slot);
      await this.#until(() => this.#fleet.openLanesOf(slot).length === 0, READY_MS_MAX);
      await this.#until(() => this.#fleet.openLanesOf(slot).length > 0, READY_MS_MAX);
    }
  }

  async #lostZone(): Promise<void> {
    const slots = Array.from({ length: Math.floor(this.#options.members / 3) }, (_, slot) => slot);
    this.#moments.push({ atMs: this.#time.nowMs, lanes: slots.flatMap((slot) => this.#fleet.openLanesOf(slot)) });
    this.#broker.loseZone(0, ELECTION_MS);
    this.#fleet.lose(slots);
    await this.#pass(ZONE_AWAY_MS);
    this.#fleet.regain(this.#service);
    await this.#until(() => slots.every((slot) => this.#fleet.openLanesOf(slot).length > 0), READY_MS_MAX);
  }

  async #scale(): Promise<void> {
    const { changes, members } = this.#options;
    const [draws, pass] = [this.#draws('scaling'), (ms: number) => this.#pass(ms)];
    const parts = { fleet: this.#fleet, service: this.#service, time: this.#time, draws, members, changes, pass };
    this.#moments.push(...(await scale(parts)));
  }

  async #serviceOutage(): Promise<void> {
    this.#isServiceDown = true;
    await this.#pass(this.#options.outageMinutes * MINUTE_MS);
    this.#isServiceDown = false;
    this.#moments.push({
      atMs: this.#time.nowMs,
      lanes: Array.from({ length: this.#options.lanes }, (_, lane) => lane),
    });
  }

  #troubleOf(draws: Draws, isPage: boolean): CallTrouble {
    if (this.#isServiceDown) return { kind: 'never-sent' };
    return this.#options.scene === 'scaling' && !isPage ? busyCall(draws) : { kind: 'slow', thereMs: CALL_MS };
  }

  /** Where all live on, lanes are released, and none is lost. */
  #lossesInPeace(): string[] {
    if (!PEACEFUL.includes(this.#options.scene)) return [];
    return Object.entries(this.#lanesLost).map(([cause, count]) => `live members lost ${count} lanes: ${cause}`);
  }

  /** A quote that waited longer than its age is EXPIRED. */
  #judgedPlan(): Plan {
    const plan = this.#publishers.plan();
    if (this.#options.scene !== 'service-outage') return plan;
    const aged = (command: ChaosCommand): ChaosCommand =>
      command.type === 'create-quote'
        ? { ...command, hasExpiry: true, allowed: [...command.allowed, 'EXPIRED'] }
        : command;
    const commands = new Map(plan.commands.map((command) => [command, aged(command)]));
    return {
      commands: [...commands.values()],
      messages: plan.messages.map((message) => ({
        ...message,
        command: commands.get(message.command) ?? message.command,
      })),
    };
  }

  #openLanes(): number[] {
    return Array.from({ length: this.#options.members }, (_, slot) => this.#fleet.openLanesOf(slot)).flat();
  }

  /** Lanes that were taken by now, once for each time. */
  #owners(): number {
    return this.#broker
      .logs(this.#world.topics.ledger)
      .reduce((sum, log) => sum + log.committed().filter(({ key }) => key?.equals(OWNER_BYTES)).length, 0);
  }

  async #pass(ms: number): Promise<void> {
    const untilMs = this.#time.nowMs + ms;
    await this.#until(() => this.#time.nowMs >= untilMs, ms);
  }

  async #until(isOver: () => boolean, timeoutMs: number): Promise<void> {
    const untilMs = this.#time.nowMs + timeoutMs;
    while (!isOver() && this.#time.nowMs < untilMs) {
      await this.#time.runUntil(() => false, this.#time.nowMs + LOOK_MS);
      this.#waitingMost = Math.max(this.#waitingMost, this.#publishers.waiting());
    }
  }

  #draws(stream: string): Draws {
    return new Draws(this.#options.seed, `scene ${stream}`);
  }

  #log(line: string): void {
    const lost = / lane-lost \d+ ?(.*)$/.exec(line);
    if (lost !== null) this.#lanesLost[lost[1] ?? ''] = (this.#lanesLost[lost[1] ?? ''] ?? 0) + 1;
    this.#options.trace?.(`${this.#time.nowMs.toFixed(3)} ${line}\n`);
  }
}
