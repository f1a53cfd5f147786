/** What brokers and their administrators do to topics while processors run. */
import type { TopicNames } from '../../src/records/topics.ts';
import type { Draws } from './draws.ts';
import type { Scenario } from './scenario.ts';
import type { SimulatedBroker } from './simulated-broker.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface UpkeepOptions {
  readonly scenario: Scenario;
  readonly time: VirtualTime;
  readonly draws: Draws;
  readonly broker: SimulatedBroker;
  readonly topics: TopicNames;
  readonly log: (line: string) => void;
}

const COMPACTION_MS_MAX = 6_000;

export class KafkaUpkeep {
  readonly #options: UpkeepOptions;
  #isOver = false;

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /** Goes on whether or not all has healed: brokers never rest. */
  start(): void {
    if (this.#options.scenario.disturbed.has('compaction')) this.#compactLater();
  }

  stop(): void {
    this.#isOver = true;
  }

  compact(): void {
    const { broker, log, topics } = this.#options;
    broker.compact(topics.ledger);
    log('the ledger is compacted');
  }

  #compactLater(): void {
    const { draws, time } = this.#options;
    time.after(draws.between(1, COMPACTION_MS_MAX), null, () => {
      if (this.#isOver) return;
      this.compact();
      this.#compactLater();
    });
  }
}
