/** What brokers and their administrators do to topics while processors run. */
import { positionRecords, POSITION_KEY } from '../../src/ledger/ledger-records.ts';
import type { Surroundings } from './world.ts';

const COMPACTION_MS_MAX = 6_000;
const TOPIC_GONE_MS_MAX = 2_000;
/** How often to check whether processors have read from a topic. */
const UNREAD_MS = 250;
const LEADER_MS_MAX = 5_000;
const LOW_END_MS_MAX = 8_000;
const COORDINATOR_LOST_MS = [5_000, 60_000] as const;
/** Longer than the time between a processor's checks. */
const LEADER_RESTS_MS = 12_000;

export class KafkaUpkeep {
  /** Lanes from which messages were removed. */
  readonly jumped = new Set<number>();
  readonly #options: Surroundings;
  /** From when each partition may get a new leader again. */
  readonly #movableFromMs = new Map<string, number>();
  #isOver = false;

  constructor(options: Surroundings) {
    this.#options = options;
  }

  /** Goes on after everything has healed, because brokers never rest. */
  start(): void {
    const { disturbed } = this.#options.scenario;
    if (disturbed.has('compaction')) this.#compactLater();
    if (disturbed.has('topics-again')) this.#once((topic) => this.#makeAgain(topic));
    if (disturbed.has('truncation')) this.#once((topic, lane) => this.#truncate(topic, lane));
    if (disturbed.has('leaders')) this.#moveLeaderLater();
    if (disturbed.has('coordinator')) this.#loseCoordinatorLater();
  }

  stop(): void {
    this.#isOver = true;
  }

  compact(): void {
    const { broker, log, topics } = this.#options;
    broker.compact(topics.ledger);
    log('the ledger is compacted');
  }

  #once(work: (topic: string, lane: number) => void): void {
    const { broker, draws, scenario, time, topics } = this.#options;
    const [topic, lane] = [draws.pick(Object.values(topics.commands)), draws.below(scenario.laneCount)];
    const attempt = (): void => {
      // Another disturbance may have deleted it for a moment.
      if (broker.topics().includes(topic) && this.#isReadByAll(topic)) work(topic, lane);
      else if (!this.#isOver) time.after(UNREAD_MS, null, attempt);
    };
    time.after(draws.between(0, scenario.durationMs), null, attempt);
  }

  /** No processor could notice the loss of messages before it has read from the topic. */
  #isReadByAll(topic: string): boolean {
    const { broker, topics } = this.#options;
    return broker.logs(topics.ledger).every((log) =>
      log.committed().some(({ key, value }) => {
        if (key?.toString() !== POSITION_KEY || value === null) return false;
        return positionRecords.decode(value).topicIds[topic] !== undefined;
      }),
    );
  }

  #makeAgain(topic: string): void {
    const { broker, draws, log, scenario, time } = this.#options;
    const config = broker.config(topic);
    broker.deleteTopic(topic);
    for (let lane = 0; lane < scenario.laneCount; lane += 1) this.jumped.add(lane);
    log(`${topic} is deleted`);
    time.after(draws.between(10, TOPIC_GONE_MS_MAX), null, () => {
      broker.createTopic(topic, scenario.laneCount, config);
      log(`${topic} is made again`);
    });
  }

  #truncate(topic: string, lane: number): void {
    const { broker, draws, log } = this.#options;
    const partition = broker.log(topic, lane);
    const offset = Math.ceil(draws.between(partition.lowOffset(), partition.nextOffset()));
    partition.deleteBefore(offset);
    this.jumped.add(lane);
    log(`${topic}, partition ${lane} begins at ${offset}`);
  }

  #moveLeaderLater(): void {
    const { broker, draws, log, scenario, time } = this.#options;
    time.after(draws.between(0, LEADER_MS_MAX), null, () => {
      if (this.#isOver) return;
      const [topic, lane] = [draws.pick(broker.topics()), draws.below(scenario.laneCount)];
      const partition = broker.log(topic, lane);
      const end = Math.floor(draws.between(partition.lowOffset(), partition.lastStableOffset()));
      const durationMs = draws.between(100, LOW_END_MS_MAX);
      this.#moveLeaderLater();
      // A processor accepts a low end that lasts for longer than a new leader explains, so leave time between two.
      const name = `${topic}/${lane}`;
      if ((this.#movableFromMs.get(name) ?? 0) > time.nowMs) return;
      this.#movableFromMs.set(name, time.nowMs + durationMs + LEADER_RESTS_MS);
      broker.moveLeader(topic, lane, end, durationMs);
      log(`${topic}, partition ${lane} seems to end at ${end}`);
    });
  }

  #loseCoordinatorLater(): void {
    const { broker, draws, log, scenario, time } = this.#options;
    const forMs = draws.between(...COORDINATOR_LOST_MS);
    time.after(draws.between(0, scenario.durationMs), null, () => {
      broker.coordinators.loseAtCommit(forMs);
      log(`with the next commit a coordinator of transactions is lost for ${Math.round(forMs)} ms`);
    });
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
