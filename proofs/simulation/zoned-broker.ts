/**
 * Brokers in three zones of which one can be lost at once: until new leaders are elected, its partitions take and show
 * nothing, and transactional ids that are coordinated there neither begin nor end anything.
 *
 * None of the delays that histories have in plenty: marks of transactions are written at once. The group's coordinator is elsewhere: members that live are not counted out.
 */
import { brokerError, SimulatedBroker } from './simulated-broker.ts';
import type { Draws } from './draws.ts';
import type { NewRecord } from './simulated-log.ts';
import type { VirtualTime } from './virtual-time.ts';

export const ZONES = 3;

export class ZonedBroker extends SimulatedBroker {
  readonly #time: VirtualTime;
  #lost: { zone: number; untilMs: number } | null = null;

  constructor(time: VirtualTime, draws: Draws) {
    super(time, draws, 0);
    this.#time = time;
  }

  /** @param electionMs until the other zones lead all that this one led */
  loseZone(zone: number, electionMs: number): void {
    this.#lost = { zone, untilMs: this.#time.nowMs + electionMs };
    for (const topic of this.topics())
      for (const [partition, log] of this.logs(topic).entries())
        if (this.isLeaderless(partition)) this.moveLeader(topic, partition, log.lastStableOffset(), electionMs);
  }

  isLeaderless(partition: number): boolean {
    return this.#isLost(partition);
  }

  override initialise(transactionalId: string): number {
    this.#checkCoordinator(transactionalId);
    return super.initialise(transactionalId);
  }

  override produce(
    id: string,
    epoch: number,
    to: { topic: string; partition: number },
    records: readonly NewRecord[],
    timeoutMs: number,
  ): { baseOffset: string; logAppendTime: string } {
    if (this.isLeaderless(to.partition)) throw brokerError('NOT_LEADER_FOR_PARTITION');
    return super.produce(id, epoch, to, records, timeoutMs);
  }

  override end(id: string, epoch: number, outcome: 'committed' | 'aborted'): void {
    this.#checkCoordinator(id);
    super.end(id, epoch, outcome);
  }

  #checkCoordinator(transactionalId: string): void {
    const sum = Buffer.from(transactionalId).reduce((total, byte) => total + byte, 0);
    if (this.#isLost(sum)) throw brokerError('NOT_COORDINATOR_FOR_GROUP');
  }

  #isLost(place: number): boolean {
    return this.#lost !== null && this.#time.nowMs < this.#lost.untilMs && place % ZONES === this.#lost.zone;
  }
}
