/**
 * A large deployment in virtual time: a hundred lanes, twenty members, a constant load, and one thing that happens to all
 * of it. No draws are shared with histories: their seeds stay what they were.
 *
 *   all lanes open -> quiet load, for comparison -> what the scene is about -> all is answered -> at rest -> judged
 *
 * Processes take no time to compute, and a call of the service always the same: what is measured are waits of the
 * protocol (sessions, rebalances, fencing, doubt), not what processors are able to do.
 */
import { topicDefinitions } from '../../src/producers/topic-definitions.ts';
import { laneSettings } from '../../src/lanes/lane-settings.ts';
import { heldForMsMax } from '../../src/lanes/poller-link.ts';
import { recordOfTopic, topicNames } from '../../src/records/topics.ts';
import { OWNER_KEY } from '../../src/ledger/ledger-records.ts';
import type { CommandType } from '../../src/records/commands.ts';
import type { ChaosCommand, ChaosType, Plan } from '../chaos/chaos-commands.ts';
import { Draws } from './draws.ts';
import { brokerTopic } from './history.ts';
import { judgeHistory, readHistory } from './history-judgement.ts';
import { answerTimes, mostPerSecond, nextResults, type Moment } from './scene-figures.ts';
import { refusedMember } from './refused-member.ts';
import { SceneLoad } from './scene-load.ts';
import type { SceneReport } from './scene-report.ts';
import type { Scenario } from './scenario.ts';
import { SimulatedFleet } from './simulated-fleet.ts';
import { installKafka } from './simulated-kafkajs.ts';
import { SimulatedNetwork } from './simulated-network.ts';
import { simulatedConfig } from './simulated-process.ts';
import { simulatedRegistry } from './simulated-registry.ts';
import { SimulatedService, type Caller, type CallTrouble } from './simulated-service.ts';
import { VirtualTime } from './virtual-time.ts';
import { ZonedBroker } from './zoned-broker.ts';

export const SCENES = ['rolling-restart', 'lost-zone', 'service-outage', 'refused-member'] as const;
export type SceneName = (typeof SCENES)[number];

export interface SceneOptions {
  readonly scene: SceneName;
  readonly seed: number;
  readonly lanes: number;
  readonly members: number;
  readonly commandsPerSecond: number;
  /** Of the service's outage; of no effect in other scenes. */
  readonly outageMinutes: number;
  readonly trace?: (line: string) => void;
}

const PREFIX = 'simulated';
const EVENTS_MAX = 50_000_000;
const HONOURED: readonly CommandType[] = ['transfer-in'];
const OPEN_MS_MAX = 120_000;
const QUIET_MS = 20_000;
const LOOK_MS = 250;
const CALL_MS = 200;
/** One process after the other, as a Deployment with one unavailable; it waits for this long at most. */
const READY_MS_MAX = 60_000;
const RESTART_MS = 4_000;
/** A broker's session of 9 s, and the election. */
const ELECTION_MS = 10_000;
const ZONE_AWAY_MS = 120_000;
const AFTERWARDS_MS = 20_000;
const ANSWERED_MS_MAX = 1_800_000;
const REST_MS = 15_000;
const MINUTE_MS = 60_000;

const TYPES: Readonly<Record<SceneName, readonly ChaosType[]>> = {
  'rolling-restart': ['transfer-in', 'execute-quote', 'reject-transaction', 'create-quote', 'immediate-quote'],
  'lost-zone': ['transfer-in', 'execute-quote', 'reject-transaction', 'create-quote', 'immediate-quote'],
  // Quotes become too old in an hour.
  'service-outage': ['transfer-in', 'create-quote'],
  'refused-member': ['transfer-in', 'execute-quote', 'reject-transaction', 'create-quote', 'immediate-quote'],
};

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
  readonly #topics = topicNames(PREFIX);
  readonly #broker: ZonedBroker;
  readonly #fleet: SimulatedFleet;
  readonly #service: SimulatedService;
  readonly #load: SceneLoad;
  readonly #lanesLost: Record<string, number> = {};
  readonly #moments: Moment[] = [];
  readonly #wrong: string[] = [];
  readonly #heldForMsMax: number;
  #isServiceDown = false;
  #refusedSlots: readonly number[] = [];
  #waitingMost = 0;

  constructor(options: SceneOptions) {
    this.#options = options;
    const { commandsPerSecond, lanes, scene } = options;
    const time = this.#time;
    const scenario = scenarioOf(options);
    const config = simulatedConfig(scenario, {
      API_MAX_CONCURRENCY: '100',
      COMMAND_MAX_AGE: 'create-quote=15m,execute-quote=15m,transfer-in=24h,reject-transaction=24h',
      BREAKER_RESET_MS: '5000',
      SANDBOX_COMMANDS: 'false',
    });
    this.#heldForMsMax = heldForMsMax(laneSettings(config));
    const log = (line: string): void => this.#log(line);
    const broker = new ZonedBroker(time, this.#draws('broker'));
    this.#broker = broker;
    for (const definition of topicDefinitions(config)) broker.createTopic(...brokerTopic(definition));
    const registry = simulatedRegistry(recordOfTopic(this.#topics));
    this.#fleet = new SimulatedFleet({ scenario, time, draws: this.#draws('faults'), config, registry, log });
    this.#load = new SceneLoad({
      laneCount: lanes,
      commandsPerSecond,
      durationMs: durationMsOf(options),
      types: TYPES[scene],
      honourKeys: HONOURED,
      time,
      draws: this.#draws('plan'),
      broker,
      topics: this.#topics,
    });
    this.#service = new SimulatedService({
      time,
      draws: this.#draws('service'),
      disturber: this.#fleet,
      honourKeys: HONOURED,
      troubleOf: (_draws, _isPage, caller) => this.#troubleOf(caller),
      pageDelayMs: () => 0,
      isLeftOut: () => false,
      dialShare: scenario.dialShare,
      onLost: () => undefined,
      log,
    });
  }

  install(): () => void {
    const restoreTime = this.#time.install(this.#draws('ids'));
    const network = new SimulatedNetwork(this.#time, this.#draws('network'), this.#fleet, 0);
    const restoreKafka = installKafka(this.#broker, network);
    return () => {
      restoreKafka();
      restoreTime();
    };
  }

  async run(): Promise<SceneReport> {
    const { scene } = this.#options;
    const beganMs = this.#time.nowMs;
    // Commands of the plan begin once all lanes are open.
    this.#fleet.start(this.#service);
    await this.#until(() => this.#openLanes().length === this.#options.lanes, OPEN_MS_MAX);
    const openMs = this.#time.nowMs;
    await this.#load.start(this.#service.state);
    await this.#pass(QUIET_MS);
    const sceneMs = this.#time.nowMs;
    const ownersBefore = this.#owners();
    await this.#happen(scene);
    const overMs = this.#time.nowMs;
    const isDrained = (): boolean =>
      this.#load.timed().every(({ answeredMs, publishedMs }) => publishedMs > overMs || answeredMs !== null);
    await this.#until(isDrained, ANSWERED_MS_MAX);
    const drainedMs = this.#time.nowMs - overMs;
    await this.#until(() => this.#time.nowMs >= openMs + durationMsOf(this.#options), ANSWERED_MS_MAX);
    await this.#until(() => this.#load.unanswered() === 0, ANSWERED_MS_MAX);
    await this.#until(() => !this.#fleet.isTakingLanes(), OPEN_MS_MAX);
    const takeOvers = this.#owners() - ownersBefore;
    const stoppedLanes = this.#fleet.stoppedLanes();
    this.#fleet.heal();
    this.#fleet.end();
    await this.#pass(REST_MS);
    const commands = this.#load.timed();
    const { outcomes, wrong } = judgeHistory({
      topics: this.#topics,
      plan: this.#judgedPlan(),
      read: readHistory(this.#broker, this.#topics),
      decisions: [],
      service: this.#service,
      sendings: this.#service.sendings,
      laneCount: this.#options.lanes,
      honourKeys: HONOURED,
      disturbed: new Set(),
      heldForMsMax: this.#heldForMsMax,
      absentFromMs: Infinity,
      poison: [],
      stoppedLanes,
      jumpedLanes: new Set(),
      counted: this.#fleet.counted,
      failures: this.#fleet.failures,
    });
    const sentMs = this.#service.sendings.map(({ atMs }) => atMs);
    return {
      scene,
      wrong: [...new Set([...this.#wrong, ...wrong])],
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
      case 'refused-member':
        return this.#refusedMember();
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

  async #serviceOutage(): Promise<void> {
    this.#isServiceDown = true;
    await this.#pass(this.#options.outageMinutes * MINUTE_MS);
    this.#isServiceDown = false;
    this.#moments.push({
      atMs: this.#time.nowMs,
      lanes: Array.from({ length: this.#options.lanes }, (_, lane) => lane),
    });
  }

  async #refusedMember(): Promise<void> {
    this.#moments.push({ atMs: this.#time.nowMs, lanes: this.#fleet.openLanesOf(0) });
    const wrong = await refusedMember({
      members: this.#options.members,
      refuse: (slots) => (this.#refusedSlots = slots),
      openLanesOf: (slot) => this.#fleet.openLanesOf(slot),
      areAllOpen: () => this.#openLanes().length === this.#options.lanes,
      owners: () => this.#owners(),
      lose: (slot) => this.#fleet.lose([slot]),
      regain: () => this.#fleet.regain(this.#service),
      until: (isSo, timeoutMs) => this.#until(isSo, timeoutMs),
    });
    this.#wrong.push(...wrong);
  }

  #troubleOf(caller: Caller): CallTrouble {
    if (this.#isServiceDown) return { kind: 'never-sent' };
    const isRefused = this.#refusedSlots.includes(this.#fleet.slotOf(caller));
    return isRefused ? { kind: 'status', httpStatus: 401, takesEffect: false } : { kind: 'slow', thereMs: CALL_MS };
  }

  /** A quote that waited longer than its age is EXPIRED. */
  #judgedPlan(): Plan {
    const { plan } = this.#load;
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
      .logs(this.#topics.ledger)
      .reduce((sum, log) => sum + log.committed().filter(({ key }) => key?.toString() === OWNER_KEY).length, 0);
  }

  async #pass(ms: number): Promise<void> {
    const untilMs = this.#time.nowMs + ms;
    await this.#until(() => this.#time.nowMs >= untilMs, ms);
  }

  async #until(isOver: () => boolean, timeoutMs: number): Promise<void> {
    const untilMs = this.#time.nowMs + timeoutMs;
    while (!isOver() && this.#time.nowMs < untilMs) {
      await this.#time.runUntil(() => false, this.#time.nowMs + LOOK_MS);
      this.#waitingMost = Math.max(this.#waitingMost, this.#load.unanswered());
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

function durationMsOf({ members, outageMinutes, scene }: SceneOptions): number {
  switch (scene) {
    case 'rolling-restart':
      // A restart takes some ten seconds.
      return QUIET_MS + members * 15_000 + AFTERWARDS_MS;
    case 'lost-zone':
      return QUIET_MS + ZONE_AWAY_MS + 60_000 + AFTERWARDS_MS;
    case 'service-outage':
      return QUIET_MS + outageMinutes * MINUTE_MS + 2 * MINUTE_MS;
    case 'refused-member':
      return QUIET_MS + 8 * MINUTE_MS + AFTERWARDS_MS;
  }
}

function scenarioOf({ commandsPerSecond, lanes, members }: SceneOptions): Scenario {
  return {
    laneCount: lanes,
    processCount: members,
    // The scene's own.
    durationMs: 0,
    commandsPerSecond,
    burstMs: 0,
    honourKeys: HONOURED,
    apiTimeoutMs: 10_000,
    breakerErrorPercent: 50,
    types: [],
    troubleShare: 0,
    crashShare: 0,
    dialFreezeShare: 0,
    callTroubleShare: 0,
    // Nothing but what the scene is about.
    disturbanceMs: Infinity,
    disturbedBy: ['end'],
    restartMs: RESTART_MS,
    dialShare: 0.05,
    disturbed: new Set(),
  };
}
