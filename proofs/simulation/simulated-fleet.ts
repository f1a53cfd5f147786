/**
 * The processes of a history and their troubles until everything heals: processes are killed, frozen or shut down and
 * restarted after a while, and requests fail.
 */
import type { Config } from 'payment-processor-contract/config';
import type { CommandResult } from 'payment-processor-contract/types';
import type { RecordRegistry } from 'payment-processor-contract/registry';
import type { Disturbance } from './disturbances.ts';
import type { Draws } from './draws.ts';
import { callTrouble, isLeftOut, pageDelayMs, pageTrouble, troubleAt } from './scenario.ts';
import type { Disturber, Trouble } from './simulated-network.ts';
import { SimulatedProcess } from './simulated-process.ts';
import type { CallTrouble, SimulatedService } from './simulated-service.ts';
import type { MemoryIndex } from './memory-index.ts';
import { Stores } from './stores.ts';
import type { Owner } from './virtual-time.ts';
import type { Surroundings } from './world.ts';

export interface FleetOptions extends Omit<Surroundings, 'broker' | 'topics'> {
  readonly config: Config;
  readonly registry: RecordRegistry;
}

const FIRST_START_MS_MAX = 500;
/** Longer than a session timeout, and longer than a new owner waits before it settles a call in doubt. */
const FREEZE_MS_MAX = 25_000;
const SHORT_FREEZE_MS_MAX = 8_000;
const CLOCK_AHEAD_MS_MAX = 200;
/** The smallest error of a wrong clock. */
const CLOCK_WRONG_MS_MIN = 1_000;
const CLOCK_WRONG_MS_MAX = 7 * 86_400_000;
/** By a clock this far ahead, all keys may be forgotten. What a clock this slow wrote may be forgotten by any other. */
const CLOCK_WEEK_MS = [7.1 * 86_400_000, 8 * 86_400_000] as const;
const CLOCK_WRONG_SHARE = 0.5;
/** The error of a process that exits because its store does not match the ledger. */
const LEDGER_LOST = 'the ledger cannot be read any further';
/** With these disturbances, a store may rightly be rejected as too old. */
const STORES_OF_OTHER_TIMES: readonly Disturbance[] = ['absence', 'old-stores', 'clocks'];
/** Freezes long enough for other processes to settle the calls in doubt. */
const HEARTBEAT_FREEZE_MS = [15_000, 25_000] as const;

export class SimulatedFleet implements Disturber {
  /** Crashes and freezes by the point of the code, and other disturbances. */
  readonly disturbances: Record<string, number> = {};
  /** Results that processes have counted, by `resultName`. */
  readonly counted = new Map<string, number>();
  /** Failures that no disturbance explains. */
  readonly failures: string[] = [];
  readonly #options: FleetOptions;
  readonly #processes: (SimulatedProcess | null)[];
  readonly #stores: Stores;
  #isAway = false;
  /** Slots in which no process is started. */
  readonly #lostSlots = new Set<number>();
  #started = 0;
  #isTroubled = true;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#processes = Array.from({ length: options.scenario.processCount }, () => null);
    this.#stores = new Stores(options);
  }

  start(service: SimulatedService): void {
    for (const slot of this.#processes.keys()) this.#startLater(slot, service, FIRST_START_MS_MAX);
    this.#disturbLater(service);
    const { disturbed } = this.#options.scenario;
    if (disturbed.has('old-stores') || disturbed.has('absence')) this.#stores.copyWhile(() => this.#isTroubled);
  }

  stores(): readonly MemoryIndex[] {
    return this.#stores.all();
  }

  isTroubled(): boolean {
    return this.#isTroubled;
  }

  /** Stops new troubles; frozen processes wake at their time. */
  heal(): void {
    this.#isTroubled = false;
    this.#options.log('all heals');
  }

  isAwake(): boolean {
    return this.#processes.every((process) => process?.isFrozen === false);
  }

  /** Lanes that wait for an operator, and why. */
  stoppedLanes(): Map<number, string> {
    return new Map(this.#processes.flatMap((process) => [...(process?.stoppedLanes() ?? [])]));
  }

  /** Whether a process is still taking lanes, which may yet turn out to wait for an operator. */
  isTakingLanes(): boolean {
    return this.#processes.some((process) => process?.isTakingLanes() ?? false);
  }

  /** Kills all processes, and starts none. */
  leave(): void {
    this.#isAway = true;
    for (const process of this.#processes) if (process !== null) this.kill(process, 'for long');
  }

  /** Starts processes again, with their stores, without stores, or with old ones. */
  comeBack(service: SimulatedService, stores: 'kept' | 'lost' | 'old'): void {
    this.#isAway = false;
    if (stores === 'lost') this.#stores.loseAll();
    if (stores === 'old') this.#stores.useOldOnly();
    for (const slot of this.#processes.keys()) this.#startLater(slot, service, FIRST_START_MS_MAX);
  }

  end(): void {
    for (const process of this.#processes) process?.end(() => undefined);
  }

  /** Kills the processes of the slots, and starts none there until `regain`. */
  lose(slots: readonly number[]): void {
    for (const slot of slots) {
      this.#lostSlots.add(slot);
      const process = this.#processes[slot];
      if (process !== null && process !== undefined) this.kill(process, 'with its zone');
    }
  }

  /** Starts processes again in lost slots. */
  regain(service: SimulatedService): void {
    for (const slot of this.#lostSlots) this.grow(slot, service);
  }

  /** Shuts the slot's process down in order, and starts no other. */
  shrink(slot: number): void {
    this.#lostSlots.add(slot);
    this.endInOrder(slot);
  }

  /** Starts a process in a vacant slot. */
  grow(slot: number, service: SimulatedService): void {
    this.#lostSlots.delete(slot);
    this.#startLater(slot, service, FIRST_START_MS_MAX);
  }

  isVacant(slot: number): boolean {
    return this.#processes[slot] === null;
  }

  /** Shuts the slot's process down in order; another follows, as when an orchestrator replaces it. */
  endInOrder(slot: number): void {
    const process = this.#processes[slot];
    if (process !== null && process !== undefined) this.#endInOrder(process);
  }

  /** Lanes that the slot's process works on; empty while it takes lanes, or without a process. */
  openLanesOf(slot: number): number[] {
    const process = this.#processes[slot];
    return process === null || process === undefined || process.isTakingLanes() ? [] : process.openLanes();
  }

  troubleAt(owner: Owner, point: string): Trouble {
    const { draws, log, scenario } = this.#options;
    if (!this.#isTroubled) return { kind: 'none' };
    const isDialling = this.#processes.some((process) => process === owner && process.dialling > 0);
    const trouble = troubleAt(scenario, draws, point, isDialling);
    if (trouble.kind !== 'none' && trouble.kind !== 'crash') log(`${owner.name}: ${point}: ${trouble.kind}`);
    return trouble;
  }

  callTrouble(draws: Draws, isPage: boolean): CallTrouble {
    if (!this.#isTroubled) return { kind: 'none' };
    return (isPage ? pageTrouble : callTrouble)(this.#options.scenario, draws);
  }

  pageDelayMs(draws: Draws): number {
    return this.#isTroubled ? pageDelayMs(this.#options.scenario, draws) : 0;
  }

  isLeftOut(draws: Draws): boolean {
    return this.#isTroubled && isLeftOut(this.#options.scenario, draws);
  }

  kill(owner: Owner, point: string): void {
    if (!owner.isAlive) return;
    owner.isAlive = false;
    this.#count(`crash ${point}`);
    this.#options.log(`${owner.name} crashes ${point}`);
  }

  freeze(owner: Owner, point: string): void {
    if (!owner.isAlive || owner.isFrozen) return;
    const { draws, log, time } = this.#options;
    owner.isFrozen = true;
    this.#count(`freeze ${point}`);
    log(`${owner.name} freezes ${point}`);
    const durationMs =
      point === 'after Heartbeat'
        ? draws.between(...HEARTBEAT_FREEZE_MS)
        : draws.between(100, draws.chance(0.5) ? FREEZE_MS_MAX : SHORT_FREEZE_MS_MAX);
    time.after(durationMs, null, () => this.#thaw(owner));
  }

  #startLater(slot: number, service: SimulatedService, withinMs: number): void {
    const { draws, time } = this.#options;
    time.after(draws.between(1, withinMs), null, () => {
      // All may have left meanwhile, or have come back.
      const isWanted = !this.#isAway && !this.#lostSlots.has(slot) && this.#processes[slot] === null;
      if (isWanted) this.#start(slot, service);
    });
  }

  #start(slot: number, service: SimulatedService): void {
    const { config, draws, log, registry, time } = this.#options;
    const { index, isOld } = this.#stores.next(slot);
    if (isOld) this.#count('a store of earlier');
    this.#started += 1;
    const name = `process-${this.#started}`;
    const isTroubledAtStart = this.#isTroubled;
    log(`${name} starts`);
    const process = new SimulatedProcess({
      name,
      time,
      config,
      registry,
      service,
      index,
      clockAheadMs: this.#clockAheadMs(),
      random: draws.random,
      log,
      onFatal: (failed, error) => {
        // A start without Kafka may fail, but without troubles no process may exit. The ledger is never truncated.
        if (!isTroubledAtStart || error.message.startsWith(LEDGER_LOST))
          this.failures.push(`a process ended itself: ${error.message}`);
        this.kill(failed, 'by itself');
      },
      onResult: (result) => {
        const resultOf = resultName(result);
        this.counted.set(resultOf, (this.counted.get(resultOf) ?? 0) + 1);
      },
      onFailure: (error) => this.failures.push(`our own code failed: ${String(error)}`),
      onLine: (_level, { event, reason }) => {
        const mayBeRebuilt = STORES_OF_OTHER_TIMES.some((name) => this.#options.scenario.disturbed.has(name));
        const isRebuilt = event === 'ledger-store-lane-rebuilt' || event === 'ledger-store-rebuilt';
        if (isRebuilt && !mayBeRebuilt)
          this.failures.push(`a store that fits the ledger is rebuilt: ${String(reason)}`);
      },
      onDeath: () => {
        if (this.#processes[slot] !== process) return;
        this.#processes[slot] = null;
        if (!this.#isAway && !this.#lostSlots.has(slot))
          this.#startLater(slot, service, this.#options.scenario.restartMs);
      },
    });
    this.#processes[slot] = process;
  }

  #clockAheadMs(): number {
    const { draws, scenario } = this.#options;
    const isWrong = scenario.disturbed.has('clocks') && this.#isTroubled && draws.chance(CLOCK_WRONG_SHARE);
    if (!isWrong) return draws.between(-CLOCK_AHEAD_MS_MAX, CLOCK_AHEAD_MS_MAX);
    if (draws.chance(0.4)) return draws.pick([-1, 1]) * draws.between(...CLOCK_WEEK_MS);
    // Logarithmic: seconds are as frequent as days.
    const magnitude = Math.exp(draws.between(Math.log(CLOCK_WRONG_MS_MIN), Math.log(CLOCK_WRONG_MS_MAX)));
    return draws.chance(0.5) ? magnitude : -magnitude;
  }

  #disturbLater(service: SimulatedService): void {
    const { draws, scenario, time } = this.#options;
    time.after(scenario.disturbanceMs * draws.between(0.2, 1.8), null, () => {
      if (!this.#isTroubled) return;
      this.#disturb();
      this.#disturbLater(service);
    });
  }

  #disturb(): void {
    const { draws, log, scenario } = this.#options;
    const process = draws.pick(this.#processes);
    if (process === null || process.isFrozen || process.isStopping) return;
    switch (draws.pick(scenario.disturbedBy)) {
      case 'set the clock':
        process.clockAheadMs = this.#clockAheadMs();
        this.#count('set the clock');
        log(`${process.name}: its clock is set to ${Math.round(process.clockAheadMs)} ms ahead`);
        return;
      case 'kill':
        this.kill(process, 'at any time');
        return;
      case 'freeze':
        this.freeze(process, 'at any time');
        return;
      case 'end':
        this.#endInOrder(process);
    }
  }

  #endInOrder(process: SimulatedProcess): void {
    const { log, time } = this.#options;
    this.#count('end in order');
    log(`${process.name} is told to end`);
    process.end(() => void time.after(0, null, () => void (process.isAlive = false)));
  }

  #thaw(owner: Owner): void {
    if (!owner.isFrozen) return;
    this.#options.log(`${owner.name} wakes`);
    this.#options.time.thaw(owner);
  }

  #count(name: string): void {
    this.disturbances[name] = (this.disturbances[name] ?? 0) + 1;
  }
}

/** A result's name; all conflicts of a key share one. */
export function resultName({ commandKey, revision }: CommandResult): string {
  return `${commandKey}, revision ${revision}`;
}
