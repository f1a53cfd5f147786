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

/** Goes on as long as a history does: brokers never rest. */
export function keepUp(options: UpkeepOptions): void {
  if (options.scenario.disturbed.has('compaction')) compactLater(options);
}

function compactLater(options: UpkeepOptions): void {
  const { broker, draws, log, time, topics } = options;
  time.after(draws.between(1, COMPACTION_MS_MAX), null, () => {
    broker.compact(topics.ledger);
    log('the ledger is compacted');
    compactLater(options);
  });
}
