/**
 * What one transactional producer asks of brokers, step by step. Each step is retried, with the same bytes, until its
 * outcome is certain, no retry can help or the session is over. Only `end` is not retried after a lost answer.
 *
 *   initialise -> { register* -> write -> end }*
 *
 * Owns the connections, the producer's epoch, and the sequence of each partition; remembers the coordinator.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { BrokerAnswerError, verdictOf, type BrokerVerdict } from './broker-verdicts.ts';
import type { Broker, BrokerRequest, Cluster } from './kafka-cluster.ts';
import { kafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';
import { batchName, type RecordBatch } from './record-batch.ts';
import {
  addPartitionsRequest,
  endTransactionRequest,
  initProducerIdRequest,
  produceRequest,
  type PartitionBytes,
  type PartitionName,
  type ProducerName,
  type WrittenCode,
} from './transaction-requests.ts';

/** A transaction's first record in one partition. The others follow it directly, and then a control record. */
export interface WrittenAt {
  readonly firstOffset: bigint;
  /** By the broker's clock, milliseconds since 1970; 0: the topic keeps its clients' timestamps. */
  readonly timestampMs: number;
}
/** By `topic/partition`, without partitions whose broker does not report the offset. */
export type Written = ReadonlyMap<string, WrittenAt>;

export interface SessionOptions {
  readonly transactionalId: string;
  /** The broker ends a transaction that takes longer. */
  readonly transactionTimeoutMs: number;
  /** Topics that only we read: our readers support zstd, others' may not. */
  readonly compressedTopics: ReadonlySet<string>;
}

/** The verdict on errors that a retry may fix, such as a lost connection. */
const LOST = { kind: 'moved', name: 'connection lost' } as const;
const TRANSACTION_COORDINATOR = 1;
/** The coordinator ends the previous transaction within a few milliseconds. */
const WAIT_MS_MIN = 3;
const WAIT_MS_MAX = 500;
/** Wait before a retry, as a share of the time that the step has taken: retries are frequent at first. */
const BUSY_WAIT_SHARE = 0.1;
const MOVED_WAIT_SHARE = 0.4;
const NO_OFFSET = -1n;
/** Our own bugs: no broker or network causes these errors. */
const BUGS: readonly string[] = ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError'];

interface Sealed extends PartitionBytes {
  readonly name: string;
  readonly recordCount: number;
  readonly firstSequence: number;
  tries: number;
}

export class ProducerSession {
  readonly #cluster: Cluster;
  readonly #options: SessionOptions;
  #producer: ProducerName | null = null;
  #coordinatorId: number | string | null = null;
  /** The metadata may be old, or the connection closed. */
  #isStale = false;
  #isOver = false;
  /** Sequence of the next record, by partition. */
  readonly #sequences = new Map<string, number>();
  /** See `problem`. */
  #problem: Error | null = null;

  constructor(cluster: Cluster, options: SessionOptions) {
    this.#cluster = cluster;
    this.#options = options;
  }

  /** Why the step that is under way, or has failed, was last retried; null: it was not. */
  get problem(): Error | null {
    return this.#problem;
  }

  isInitialised(): boolean {
    return this.#producer !== null;
  }

  /** @throws the client's error once its retries are used up */
  async connect(): Promise<void> {
    await this.#cluster.connect();
  }

  /**
   * Fences every earlier producer of the id.
   * @throws as all steps do: BrokerAnswerError, or an error that no retry can fix
   */
  async initialise(): Promise<void> {
    const { transactionTimeoutMs, transactionalId } = this.#options;
    const request = initProducerIdRequest(transactionalId, transactionTimeoutMs);
    const { epoch, producerId } = await this.#askCoordinator(request, ({ errorCode }) => [verdictOf(errorCode)]);
    this.#producer = { transactionalId, producerId, epoch };
    this.#sequences.clear();
  }

  /** Adds partitions to the transaction. The first call begins it, once the coordinator has ended the previous one. */
  async register(partitions: readonly PartitionName[]): Promise<void> {
    await this.#askCoordinator(addPartitionsRequest(this.#initialised(), partitions), (answers) => {
      const missing = new Set(partitions.map(({ partition, topic }) => batchName(topic, partition)));
      for (const { partition, topic } of answers) missing.delete(batchName(topic, partition));
      const verdicts = answers.map(({ errorCode, topic }) => ({ ...verdictOf(errorCode), topic }));
      return missing.size === 0 ? verdicts : [...verdicts, notAnswered(missing)];
    });
  }

  /** Resolves once every in-sync replica has all of it. */
  async write(batches: readonly RecordBatch[]): Promise<Written> {
    const sealed = batches.map((batch) => this.#seal(batch));
    const waiting = new Map(sealed.map((batch) => [batch.name, batch]));
    const written = new Map<string, WrittenAt>();
    await this.#retry(async () => {
      await this.#cluster.addMultipleTargetTopics([...new Set(sealed.map(({ topic }) => topic))]);
      await this.#cluster.refreshMetadataIfNecessary();
      const verdicts = await Promise.all(
        [...this.#byLeader(waiting.values())].map(([leader, ofLeader]) =>
          this.#produce(leader, ofLeader, (batch, { firstOffset, timestampMs }) => {
            waiting.delete(batch.name);
            this.#sequences.set(batch.name, sequenceAfter(batch));
            // The broker sends -1 if the topic keeps its clients' timestamps.
            if (firstOffset > NO_OFFSET)
              written.set(batch.name, { firstOffset, timestampMs: Math.max(0, timestampMs) });
          }),
        ),
      );
      const verdict = worstOf(verdicts.flat());
      if (verdict.kind !== 'done' || waiting.size === 0) return verdict;
      return notAnswered(waiting.keys());
    });
    return written;
  }

  /**
   * Never retried after a lost answer: the first request may arrive late, and would end the next transaction midway.
   * After an answer that asks for a retry, that cannot happen.
   */
  async end(isCommit: boolean): Promise<void> {
    await this.#askCoordinator(
      endTransactionRequest(this.#initialised(), isCommit),
      (errorCode) => [verdictOf(errorCode)],
      (error) => {
        throw new AnswerLostError('we do not know how the transaction ended', { cause: error });
      },
    );
  }

  /** Sends nothing more. @returns once the connections are closed; never rejects */
  async close(): Promise<void> {
    this.#isOver = true;
    await this.#cluster.disconnect().catch(() => undefined);
  }

  #initialised(): ProducerName {
    if (this.#producer === null) throw new Error('the producer was not initialised');
    return this.#producer;
  }

  #seal(batch: RecordBatch): Sealed {
    const { partition, recordCount, topic } = batch;
    const name = batchName(topic, partition);
    const firstSequence = this.#sequences.get(name) ?? 0;
    const bytes = batch.sealed({ ...this.#initialised(), firstSequence }, this.#options.compressedTopics.has(topic));
    return { topic, partition, name, recordCount, firstSequence, bytes, tries: 0 };
  }

  /**
   * One request. Reports each acknowledged batch at once.
   * @returns the verdicts on the batches; rejects as `#lost` throws
   */
  async #produce(
    leader: number | null,
    batches: readonly Sealed[],
    acknowledged: (batch: Sealed, at: WrittenAt) => void,
  ): Promise<BrokerVerdict[]> {
    if (leader === null) return [{ kind: 'moved', name: 'no leader is known' }];
    let answers: readonly WrittenCode[];
    try {
      const broker = await this.#cluster.findBroker({ nodeId: leader });
      for (const batch of batches) batch.tries += 1;
      answers = await this.#send(broker, produceRequest(this.#options.transactionalId, batches));
    } catch (error) {
      return [this.#lost(error)];
    }
    const sent = new Map(batches.map((batch) => [batch.name, batch]));
    return answers.map((answer) => {
      const batch = sent.get(batchName(answer.topic, answer.partition));
      const verdict = { ...verdictOf(answer.errorCode), topic: answer.topic };
      if (batch === undefined) return { kind: 'done' };
      if (verdict.kind === 'done') acknowledged(batch, answer);
      if (verdict.kind !== 'duplicate') return verdict;
      // We sent it only once, so the broker has another batch with that sequence.
      if (batch.tries === 1) return { kind: 'failed', name: verdict.name, failure: 'not-committed' };
      acknowledged(batch, { firstOffset: NO_OFFSET, timestampMs: 0 });
      return { kind: 'done' };
    });
  }

  #byLeader(batches: Iterable<Sealed>): Map<number | null, Sealed[]> {
    return Map.groupBy(batches, ({ partition, topic }) => {
      const partitions = this.#cluster.findTopicPartitionMetadata(topic);
      const leader = partitions.find(({ partitionId }) => partitionId === partition)?.leader ?? -1;
      return leader < 0 ? null : leader;
    });
  }

  async #askCoordinator<Answer>(
    request: BrokerRequest<Answer>,
    verdictsOf: (answer: Answer) => readonly BrokerVerdict[],
    lost = (error: unknown): typeof LOST => this.#lost(error),
  ): Promise<Answer> {
    let answer: Answer | undefined;
    await this.#retry(async () => {
      const coordinator = await this.#coordinator();
      try {
        answer = await this.#send(coordinator, request);
      } catch (error) {
        this.#coordinatorId = null;
        return lost(error);
      }
      const verdict = worstOf(verdictsOf(answer));
      if (verdict.kind === 'moved') this.#coordinatorId = null;
      return verdict;
    });
    return answer as Answer;
  }

  async #coordinator(): Promise<Broker> {
    const nodeId = this.#coordinatorId;
    if (nodeId !== null) {
      this.#coordinatorId = null;
      const coordinator = await this.#cluster.findBroker({ nodeId });
      this.#coordinatorId = nodeId;
      return coordinator;
    }
    // Without topics kafkajs would ask for all topics of the cluster, and fail if any of them has no leader.
    await this.#cluster.addMultipleTargetTopics([...this.#options.compressedTopics]);
    const found = await this.#cluster.findGroupCoordinator({
      groupId: this.#options.transactionalId,
      coordinatorType: TRANSACTION_COORDINATOR,
    });
    this.#coordinatorId = found.nodeId;
    return found;
  }

  async #send<Answer>(broker: Broker, request: BrokerRequest<Answer>): Promise<Answer> {
    this.#assertNotOver();
    return broker.connectionPool.send(request);
  }

  /** Retries until the step is done. @param attempt is retried after all errors except those that `#lost` throws */
  async #retry(attempt: () => Promise<BrokerVerdict>): Promise<void> {
    const startMs = performance.now();
    this.#problem = null;
    for (;;) {
      this.#assertNotOver();
      const verdict = await this.#tryOnce(attempt);
      switch (verdict.kind) {
        case 'done':
          this.#problem = null;
          return;
        case 'failed':
          throw new BrokerAnswerError(verdict.name, verdict.failure, verdict.topic);
        case 'duplicate':
          // `#produce` handles duplicates, and no other request has batches.
          throw new BrokerAnswerError(verdict.name, 'not-committed');
        case 'moved':
          this.#isStale = true;
          break;
        case 'busy':
          break;
      }
      if (verdict !== LOST) this.#problem = new BrokerAnswerError(verdict.name, 'not-committed');
      const share = verdict.kind === 'moved' ? MOVED_WAIT_SHARE : BUSY_WAIT_SHARE;
      const waitMs = share * (performance.now() - startMs);
      await delay(Math.min(Math.max(waitMs, WAIT_MS_MIN), WAIT_MS_MAX));
    }
  }

  /** Refreshes the metadata first if it may be old. */
  async #tryOnce(attempt: () => Promise<BrokerVerdict>): Promise<BrokerVerdict> {
    try {
      if (this.#isStale) {
        if (!this.#cluster.isConnected()) await this.#cluster.connect();
        this.#assertNotOver();
        await this.#cluster.refreshMetadata();
        this.#isStale = false;
      }
      return await attempt();
    } catch (error) {
      return this.#lost(error);
    }
  }

  /** @throws errors that no retry can fix */
  #lost(error: unknown): typeof LOST {
    const isFinal =
      !(error instanceof Error) ||
      error instanceof SessionOverError ||
      error instanceof AnswerLostError ||
      BUGS.includes(error.name);
    if (isFinal || kafkaRefusal(error) !== null) throw error;
    this.#problem = error;
    const { host, name, port } = error as Error & { host?: string; port?: number };
    if (name === 'KafkaJSConnectionClosedError' && host !== undefined && port !== undefined)
      this.#cluster.removeBroker({ host, port });
    return LOST;
  }

  #assertNotOver(): void {
    if (this.#isOver) throw new SessionOverError('the producer was closed');
  }
}

class SessionOverError extends Error {}
class AnswerLostError extends Error {}

/** A failure outweighs a retry, and a retry outweighs success. */
function worstOf(verdicts: readonly BrokerVerdict[]): BrokerVerdict {
  const ranks: readonly BrokerVerdict['kind'][] = ['failed', 'duplicate', 'moved', 'busy'];
  for (const rank of ranks) {
    const found = verdicts.find(({ kind }) => kind === rank);
    if (found !== undefined) return found;
  }
  return { kind: 'done' };
}

/** The step is retried. Partitions that are done are left out, or a retry changes nothing for them. */
function notAnswered(names: Iterable<string>): BrokerVerdict {
  return { kind: 'moved', name: `it leaves out ${[...names].join(', ')}` };
}

/** Sequences wrap around to 0. */
function sequenceAfter({ firstSequence, recordCount }: Sealed): number {
  return (firstSequence + recordCount) % 2 ** 31;
}
