/**
 * Brokers in three zones, one of which can be lost at once. Until new leaders are elected, its partitions accept and return
 * nothing, and transactional ids coordinated there neither begin nor end transactions.
 *
 * Unlike in histories, transaction markers are not late. The group's coordinator is never lost, so it counts out no live
 * member.
 */
import { brokerError } from './broker-error.ts';
import { NODES } from './coordinators.ts';
import { SimulatedBroker, type BatchPlace, type ProducedBatch } from './simulated-broker.ts';
import type { Draws } from './draws.ts';
import type { VirtualTime } from './virtual-time.ts';

/** Each zone has a coordinator. */
const ZONES = NODES;

export class ZonedBroker extends SimulatedBroker {
  readonly #time: VirtualTime;
  #lost: { zone: number; untilMs: number } | null = null;

  constructor(time: VirtualTime, draws: Draws, lateMarkerShare: number) {
    super(time, draws, lateMarkerShare);
    this.#time = time;
  }

  /** @param electionMs until the other zones lead all that this one led */
  loseZone(zone: number, electionMs: number): void {
    this.#lost = { zone, untilMs: this.#time.nowMs + electionMs };
    this.coordinators.lose(zone, electionMs);
    for (const topic of this.topics())
      for (const [partition, log] of this.logs(topic).entries())
        if (this.#isLeaderless(partition)) this.moveLeader(topic, partition, log.lastStableOffset(), electionMs);
  }

  override isWritable(topic: string, partition: number): boolean {
    return super.isWritable(topic, partition) && !this.#isLeaderless(partition);
  }

  override produce(id: string, to: { topic: string; partition: number }, batch: ProducedBatch): BatchPlace {
    if (this.#isLeaderless(to.partition)) throw brokerError('NOT_LEADER_FOR_PARTITION');
    return super.produce(id, to, batch);
  }

  #isLeaderless(partition: number): boolean {
    return this.#lost !== null && this.#time.nowMs < this.#lost.untilMs && partition % ZONES === this.#lost.zone;
  }
}
