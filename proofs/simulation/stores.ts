/** The local stores of the processes: kept, lost, or replaced by an old copy. */
import { MemoryIndex } from './memory-index.ts';
import type { Surroundings } from './world.ts';

type StoresOptions = Pick<Surroundings, 'draws' | 'scenario' | 'time'>;

/** The share of restarts without the disk; usually a disk outlives its process. */
const LOST_SHARE = 0.3;
const OLD_SHARE = 0.5;
/** The longest time between copies that may return later. */
const COPIED_MS_MAX = 8_000;

export class Stores {
  readonly #options: StoresOptions;
  readonly #kept: MemoryIndex[];
  readonly #old: MemoryIndex[] = [];
  #isOldOnly = false;

  constructor(options: StoresOptions) {
    this.#options = options;
    const { laneCount, processCount } = options.scenario;
    this.#kept = Array.from({ length: processCount }, () => new MemoryIndex(laneCount));
  }

  /** Copies a store now and then. */
  copyWhile(isTroubled: () => boolean): void {
    const { draws, time } = this.#options;
    time.after(draws.between(1, COPIED_MS_MAX), null, () => {
      this.#old.push(draws.pick(this.#kept).copy());
      if (isTroubled()) this.copyWhile(isTroubled);
    });
  }

  /** From now on, every process gets an old copy, if there are any. */
  useOldOnly(): void {
    this.#isOldOnly = true;
  }

  loseAll(): void {
    for (const slot of this.#kept.keys()) this.#kept[slot] = new MemoryIndex(this.#options.scenario.laneCount);
  }

  /** The stores by slot. */
  all(): readonly MemoryIndex[] {
    return this.#kept;
  }

  /** The store that the slot's next process finds. */
  next(slot: number): { index: MemoryIndex; isOld: boolean } {
    const { draws, scenario } = this.#options;
    const mayBeOld = this.#isOldOnly || scenario.disturbed.has('old-stores');
    const isOld = mayBeOld && this.#old.length > 0 && (this.#isOldOnly || draws.chance(OLD_SHARE));
    const kept = this.#kept[slot];
    const isLost = kept === undefined || draws.chance(LOST_SHARE);
    const index = isOld ? draws.pick(this.#old).copy() : isLost ? new MemoryIndex(scenario.laneCount) : kept;
    this.#kept[slot] = index;
    return { index, isOld };
  }
}
