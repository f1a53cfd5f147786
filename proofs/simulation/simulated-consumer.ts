/**
 * A kafkajs consumer over simulated brokers.
 *
 *   joining -> joined: positions at the committed offsets, fetches, heartbeats -> (counted out, or a rebalance) joining
 *          -> left: a heartbeat was given up -> joining as a new member
 *
 * Batches of aborted and control records alone are stepped over, with events only.
 */
import { EventEmitter } from 'node:events';
import kafkajs, { type Assigner, type PartitionAssigner } from 'kafkajs';
import { BrokerError } from './broker-error.ts';
import { assignerOf } from './simulated-assigner.ts';
import type { SimulatedBroker } from './simulated-broker.ts';
import type { JoinAnswer } from './simulated-groups.ts';
import { isForReaders, type StoredHeaders, type StoredRecord } from './simulated-log.ts';
import { SimulatedFetcher, type Fetch } from './simulated-fetcher.ts';
import { GivenUpError, type Reply, type SimulatedNetwork } from './simulated-network.ts';
import type { Owner } from './virtual-time.ts';

const { AssignerProtocol } = kafkajs;

export interface ConsumerSettings {
  readonly groupId: string;
  readonly clientId: string;
  readonly partitionAssigners?: readonly PartitionAssigner[];
  readonly sessionTimeout: number;
  readonly heartbeatInterval: number;
  readonly rebalanceTimeout?: number;
  readonly maxWaitTimeInMs: number | (() => number);
}

type EachBatch = (payload: object) => Promise<void>;

const EVENTS = {
  REQUEST: 'request',
  HEARTBEAT: 'heartbeat',
  GROUP_JOIN: 'group-join',
  START_BATCH_PROCESS: 'start-batch',
  END_BATCH_PROCESS: 'end-batch',
  CRASH: 'crash',
};
const REBALANCE_TIMEOUT_MS = 60_000;
const JOIN_AGAIN_MS = 100;
/** kafkajs' first retry. */
const START_AGAIN_MS = 300;
/** Of Kafka's protocol. */
const CREATE_TIME = 0;
const LOG_APPEND_TIME = 1;
const NO_EPOCH = -1;

export class SimulatedConsumer {
  readonly events = EVENTS;
  readonly #broker: SimulatedBroker;
  readonly #network: SimulatedNetwork;
  readonly #owner: Owner | null;
  readonly #settings: ConsumerSettings;
  readonly #emitter = new EventEmitter();
  readonly #topics: string[] = [];
  readonly #fetcher: SimulatedFetcher;
  #assigner: Assigner | null = null;
  #eachBatch: EachBatch = async () => undefined;
  #memberId = '';
  #generation = 0;
  #isRunning = false;
  #isEnded = false;
  #isToJoin = false;
  #isJoining = false;
  #fetchesWhileJoining = false;

  constructor(broker: SimulatedBroker, network: SimulatedNetwork, owner: Owner | null, settings: ConsumerSettings) {
    this.#broker = broker;
    this.#network = network;
    this.#owner = owner;
    this.#settings = settings;
    const { maxWaitTimeInMs } = settings;
    this.#fetcher = new SimulatedFetcher({
      broker,
      network,
      owner,
      maxWaitMs: typeof maxWaitTimeInMs === 'function' ? maxWaitTimeInMs : () => maxWaitTimeInMs,
      isRunning: () => this.#isRunning,
      onGone: () => void this.#joinAgainLater(),
      handle: (fetch, resolve) => this.#handle(fetch, resolve),
    });
  }

  on(name: string, listener: (event: { payload: unknown }) => void): void {
    this.#emitter.on(name, listener);
  }

  async connect(): Promise<void> {
    await this.#network.request(this.#owner, 'connect', () => undefined);
  }

  async subscribe({ topic, topics }: { topic?: string; topics?: readonly string[] }): Promise<void> {
    this.#topics.push(...(topics ?? []), ...(topic === undefined ? [] : [topic]));
  }

  async run(config: { eachBatch: EachBatch; fetchWhileJoining?: boolean }): Promise<void> {
    this.#eachBatch = config.eachBatch;
    this.#fetchesWhileJoining = config.fetchWhileJoining ?? false;
    this.#isRunning = true;
    this.#assigner = assignerOf(this.#broker, this.#settings.partitionAssigners?.[0]);
    await this.#join();
  }

  seek({ topic, partition, offset }: { topic: string; partition: number; offset: string }): void {
    this.#fetcher.seek({ topic, partition }, Number(offset));
  }

  pause(given: readonly { topic: string; partitions: readonly number[] }[]): void {
    for (const { topic, partitions } of given)
      for (const partition of partitions) this.#fetcher.pause({ topic, partition });
  }

  resume(given: readonly { topic: string; partitions: readonly number[] }[]): void {
    for (const { topic, partitions } of given)
      for (const partition of partitions) this.#fetcher.resume({ topic, partition });
  }

  /** The assigner has something new to tell. */
  rejoin(): void {
    if (this.#isRunning) void this.#join({ isFetching: true });
  }

  async commitOffsets(offsets: readonly { topic: string; partition: number; offset: string }[]): Promise<void> {
    const { groupId } = this.#settings;
    const [memberId, generation] = [this.#memberId, this.#generation];
    await this.#network.request(this.#owner, 'offsets', () =>
      this.#broker.groups.commit(groupId, memberId, generation, offsets),
    );
  }

  async disconnect(): Promise<void> {
    this.#isEnded = true;
    await this.#leave();
  }

  async #leave(): Promise<void> {
    if (!this.#isRunning) return;
    this.#isRunning = false;
    const { groupId } = this.#settings;
    const memberId = this.#memberId;
    await this.#network.request(this.#owner, 'leave', () => this.#broker.groups.leave(groupId, memberId));
  }

  /** @param isFetching whether fetching by the previous assignment continues until the next one is there */
  async #join({ isFetching } = { isFetching: false }): Promise<void> {
    const { clientId, groupId, rebalanceTimeout, sessionTimeout } = this.#settings;
    if (!isFetching) this.#fetcher.stop();
    if (this.#isJoining) return;
    this.#isJoining = true;
    while (this.#isRunning) {
      try {
        const protocol = this.#assigner?.protocol({ topics: this.#topics });
        const request = {
          groupId,
          clientId,
          memberId: this.#memberId,
          sessionTimeoutMs: sessionTimeout,
          rebalanceTimeoutMs: rebalanceTimeout ?? REBALANCE_TIMEOUT_MS,
          memberMetadata: protocol?.metadata ?? Buffer.alloc(0),
        };
        const joined = await this.#ask<JoinAnswer>('JoinGroup', (reply) => this.#broker.groups.join(request, reply));
        this.#memberId = joined.memberId;
        const assignments = await this.#assignmentsOf(joined);
        const { generation, memberId } = joined;
        const assignment = await this.#ask<Buffer>('SyncGroup', (reply) =>
          this.#broker.groups.sync(groupId, memberId, generation, assignments, reply),
        );
        await this.#joined(generation, assignment);
        break;
      } catch (error) {
        if (isForgotten(error)) this.#memberId = '';
        await new Promise((resolve) => setTimeout(resolve, JOIN_AGAIN_MS));
      }
    }
    this.#isJoining = false;
  }

  /** kafkajs refreshes its view of the cluster first. */
  async #joinAgainLater(): Promise<void> {
    if (this.#isToJoin || !this.#isRunning) return;
    this.#isToJoin = true;
    await new Promise((resolve) => setTimeout(resolve, JOIN_AGAIN_MS));
    this.#isToJoin = false;
    if (this.#runs()) await this.#join();
  }

  /** Asked after a wait: it may have been stopped meanwhile. */
  #runs(): boolean {
    return this.#isRunning;
  }

  async #assignmentsOf({ members }: JoinAnswer): Promise<ReadonlyMap<string, Buffer>> {
    if (members === null || this.#assigner === null) return new Map();
    const group = { members: [...members], topics: this.#topics };
    const assigned = await this.#assigner.assign(group);
    return new Map(assigned.map(({ memberAssignment, memberId }) => [memberId, memberAssignment]));
  }

  async #joined(generation: number, assignment: Buffer): Promise<void> {
    const { groupId } = this.#settings;
    const decoded = assignment.length === 0 ? null : AssignerProtocol.MemberAssignment.decode(assignment);
    const memberAssignment = decoded?.assignment ?? {};
    const places = Object.entries(memberAssignment).flatMap(([topic, partitions]) =>
      partitions.map((partition) => ({ topic, partition })),
    );
    const committed = await this.#network.request(this.#owner, 'committed offsets', () =>
      places.map(({ topic, partition }) => Number(this.#broker.groups.committed(groupId, topic, partition) ?? 0n)),
    );
    this.#generation = generation;
    this.#fetcher.assign(places.map((place, index) => ({ ...place, position: committed[index] ?? 0 })));
    this.#emit(EVENTS.GROUP_JOIN, { memberId: this.#memberId, memberAssignment });
    this.#fetcher.start();
    this.#beatLater(generation);
  }

  #beatLater(generation: number): void {
    setTimeout(() => void this.#beat(generation), this.#settings.heartbeatInterval);
  }

  async #beat(generation: number): Promise<void> {
    if (!this.#isRunning || generation !== this.#generation) return;
    const { groupId } = this.#settings;
    try {
      await this.#ask<null>('Heartbeat', (reply) =>
        this.#broker.groups.heartbeat(groupId, this.#memberId, generation, reply),
      );
      this.#emit(EVENTS.HEARTBEAT, {});
    } catch (error) {
      if (error instanceof BrokerError) {
        const isOut = isForgotten(error);
        if (isOut) this.#memberId = '';
        await this.#join({ isFetching: !isOut && this.#fetchesWhileJoining });
        return;
      }
      if (error instanceof GivenUpError) {
        await this.#startAgain(error);
        return;
      }
    }
    this.#beatLater(generation);
  }

  async #startAgain(error: GivenUpError): Promise<void> {
    // What it was given then starts its heartbeats anew.
    if (this.#isJoining) return;
    this.#fetcher.stop();
    await this.#leave().catch(() => undefined);
    this.#emit(EVENTS.CRASH, { error, restart: true });
    await new Promise((resolve) => setTimeout(resolve, START_AGAIN_MS));
    if (this.#isEnded) return;
    this.#memberId = '';
    this.#isRunning = true;
    await this.#join();
  }

  async #ask<Value>(apiName: string, answer: (reply: Reply<Value>) => void): Promise<Value> {
    const [sentAt, sentMs] = [Date.now(), performance.now()];
    const value = await this.#network.ask(this.#owner, apiName, answer);
    this.#emit(EVENTS.REQUEST, { apiName, sentAt, duration: performance.now() - sentMs });
    return value;
  }

  async #handle(
    { highWatermark, offset, partition, records, topic }: Fetch,
    resolve: (offset: number) => void,
  ): Promise<void> {
    const lastOffset = records.at(-1)?.offset ?? offset;
    const isBrokersTime =
      this.#broker.topics().includes(topic) && this.#broker.config(topic).timestampType === 'LogAppendTime';
    const batchContext = { timestampType: isBrokersTime ? LOG_APPEND_TIME : CREATE_TIME };
    const messages = records.filter(isForReaders).map((record) => ({ ...messageOf(record), batchContext }));
    const described = {
      topic,
      partition,
      highWatermark: String(highWatermark),
      batchSize: messages.length,
      fetchedOffset: String(offset),
    };
    const leaderEpoch = records.at(-1)?.leaderEpoch ?? NO_EPOCH;
    const event = { ...described, lastOffset: String(lastOffset), leaderEpoch };
    this.#emit(EVENTS.START_BATCH_PROCESS, event);
    if (messages.length === 0) resolve(lastOffset);
    else {
      await this.#eachBatch({
        batch: {
          ...described,
          messages,
          lastOffset: () => String(lastOffset),
          leaderEpoch: () => leaderEpoch,
        },
        resolveOffset: (resolved: string) => resolve(Number(resolved)),
        heartbeat: async () => undefined,
        pause: () => this.#fetcher.pause({ topic, partition }),
        isRunning: () => this.#isRunning,
        isStale: () => this.#fetcher.hasSought({ topic, partition }),
      });
    }
    this.#emit(EVENTS.END_BATCH_PROCESS, event);
  }

  #emit(name: string, payload: object): void {
    this.#emitter.emit(name, { payload });
  }
}

function isForgotten(error: unknown): boolean {
  return error instanceof BrokerError && error.type === 'UNKNOWN_MEMBER_ID';
}

function messageOf({ headers, key, offset, timestampMs, value }: StoredRecord): object {
  return { key, value, headers: decodedHeaders(headers), offset: String(offset), timestamp: String(timestampMs) };
}

/** As the patched client reads them: several of one name as a list. */
export function decodedHeaders(headers: StoredHeaders): object {
  const decoded = Object.create(null) as Record<string, unknown>;
  for (const [name, values] of Map.groupBy(headers, ([name]) => name)) {
    const given = values.map(([, value]) => value);
    decoded[name] = given.length === 1 ? given[0] : given;
  }
  return decoded;
}
