/** The whole service: its current world, and the parts that survive a reset (clock, credentials, connections). */
import type { Credentials } from './authentication.ts';
import type { Clock } from './clock.ts';
import { currencyOf, DEFAULT_CURRENCY } from './currencies.ts';
import { Faults, seededRandom } from './faults.ts';
import { RateLimit } from './rate-limit.ts';
import { Scheduler } from './scheduler.ts';
import type { Settings } from './settings.ts';
import { createWorld, openAccount, type AccountSeed, type World } from './state.ts';

export interface SandboxOptions {
  settings: Settings;
  credentials: Credentials;
  clock: Clock;
  /** Accounts that exist from the start and after each reset. */
  accounts: readonly AccountSeed[];
  /** Random seed for fault rules with a share. */
  randomSeed: number;
}

export class Sandbox {
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** For answers delayed by a fault. Not part of the world: a reset must not leave connections hanging. */
  readonly faultTimers: Scheduler;
  readonly #options: SandboxOptions;
  #world: World;
  #faults: Faults;
  #rateLimit: RateLimit;

  /** @throws for a seeded account of an unknown currency */
  constructor(options: SandboxOptions) {
    this.#options = options;
    this.credentials = options.credentials;
    this.clock = options.clock;
    this.faultTimers = new Scheduler(options.clock);
    this.#world = this.#newWorld();
    this.#faults = new Faults(seededRandom(options.randomSeed));
    this.#rateLimit = new RateLimit();
  }

  get world(): World {
    return this.#world;
  }

  get faults(): Faults {
    return this.#faults;
  }

  get rateLimit(): RateLimit {
    return this.#rateLimit;
  }

  /** Restores the initial state: books, counts, stored answers, fault rules and settings. */
  reset(): void {
    this.#world.scheduler.stop();
    this.#world = this.#newWorld();
    this.#faults = new Faults(seededRandom(this.#options.randomSeed));
    this.#rateLimit = new RateLimit();
  }

  stop(): void {
    this.#world.scheduler.stop();
    this.faultTimers.stop();
  }

  #newWorld(): World {
    const world = createWorld(this.#options.settings, this.clock);
    for (const seed of this.#options.accounts)
      openAccount(world, seed, seed.currency === undefined ? DEFAULT_CURRENCY : currencyOf(seed.currency));
    return world;
  }
}
