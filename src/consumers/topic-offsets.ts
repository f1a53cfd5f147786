/**
 * Asks the brokers where partitions begin and end, for the ids of their topics, and for the group's offsets. Commits nothing.
 *
 * Owns one admin client at a time. The client's view of the leaders goes stale when one moves, so an error replaces the
 * client.
 */
import kafkajs, { type Admin, type GroupDescription, type Kafka } from 'kafkajs';
import type { Clock } from 'payment-processor-contract/clock';
import { createKafka, PATIENT_RETRY, type KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import type { KafkaLog } from 'payment-processor-contract/kafka/kafka-log';
import { settledWithin } from 'payment-processor-contract/settled-within';
import { clientProcess, type GroupProcess } from './group-processes.ts';
import { decodeMemberNote } from './member-note.ts';
import { READ_UNCOMMITTED, type PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { BatchedQuestions } from './batched-questions.ts';

const { AssignerProtocol } = kafkajs;

/** Where an input's partition begins and ends, and its topic's id, according to the broker. */
export interface InputBounds {
  readonly lowOffset: bigint;
  /** Offset after the last record, including records of open transactions. */
  readonly highOffset: bigint;
  /** It changes when a topic is recreated; null: the broker has no topic ids. */
  readonly topicId: string | null;
}

/** For comparison with a reader's position. */
export interface BoundsWithEpoch extends InputBounds {
  /** As `epochEnd` returns it, for the leader epoch that we asked about; null: we asked about none. */
  readonly epochEnd: bigint | null;
}

/** Bounds, with the group's offset. */
export interface TopicStart extends InputBounds {
  readonly committedOffset: bigint | null;
}

/** Everything published before `atMs` lies before the ends. */
export interface WrittenTopic {
  readonly atMs: number;
  /** By partition. */
  readonly ends: ReadonlyMap<number, bigint>;
}

/** Isolation level in Kafka's protocol. */
const READ_COMMITTED = 1;
const STOP_DEADLINE_MS = 3_000;

/** Lanes ask in turn about the same topics: one answer serves them all for this long. */
const ANSWER_AGE_MAX_MS = 500;
/** Otherwise kafkajs refreshes metadata before each request. A moved leader causes an error, so we notice it at once. */
const METADATA_AGE_MAX_MS = 10_000;

/** The latest answers, by topic or group. */
type Answers<Answer> = Map<string, { askedMs: number; answer: Promise<Answer> }>;

type OffsetsQuestion = Parameters<Admin['fetchOffsetsOfTopics']>[0];

export class TopicOffsets {
  readonly #kafka: Kafka;
  #isStopped = false;
  #client: { readonly admin: Promise<Admin>; readonly dropped: PromiseWithResolvers<never> } | null = null;
  readonly #groupId: string;
  readonly #clock: Clock;
  readonly #askIds = new BatchedQuestions((topics) => this.#idsOf(topics));
  readonly #askEnds = this.#batched((topics) => this.#endsOf(topics));
  readonly #askBounds = this.#batched((topics) => this.#endsOf(topics, READ_UNCOMMITTED));
  readonly #askWritten = this.#batched((topics) => this.#offsetsOf({ topics, isolationLevel: READ_UNCOMMITTED }));
  readonly #askEpochEnds = this.#batched((epochs) => this.#epochEndsOf(epochs));
  readonly #askCommitted = this.#batched((topics) => this.#committedOf(topics));
  readonly #ends: Answers<Map<number, PartitionOffsets>> = new Map();
  readonly #bounds: Answers<Map<number, PartitionOffsets>> = new Map();
  readonly #written: Answers<WrittenTopic> = new Map();
  readonly #ids: Answers<string | null> = new Map();
  readonly #members: Answers<GroupProcess[]> = new Map();
  readonly #committed: Answers<Map<number, bigint>> = new Map();

  constructor(settings: KafkaSettings, options: { groupId: string; clientId: string; clock: Clock; log: KafkaLog }) {
    this.#groupId = options.groupId;
    this.#clock = options.clock;
    this.#kafka = createKafka(settings, options.clientId, { retry: PATIENT_RETRY, log: options.log });
  }

  /** Bounded: otherwise a hanging broker could delay the shutdown for minutes. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await settledWithin(this.#drop(stopping()), STOP_DEADLINE_MS);
  }

  /** First offset and last stable offset of each partition. */
  ends(topic: string): Promise<Map<number, PartitionOffsets>> {
    return this.#shared(this.#ends, topic, () => this.#askEnds.ask(topic));
  }

  /**
   * Offset after the last record of each partition, including records of open transactions. `ends` stops before the first
   * open transaction.
   */
  highWatermarks(topic: string): Promise<Map<number, bigint>> {
    return this.#askWritten.ask(topic);
  }

  /** High watermarks, with the time at which we asked, by our clock. */
  written(topic: string): Promise<WrittenTopic> {
    return this.#shared(this.#written, topic, async () => {
      const atMs = this.#clock.nowMs();
      return { atMs, ends: await this.highWatermarks(topic) };
    });
  }

  /** The processes of the group, as Kafka knows them, including those that have yet to rejoin. */
  members(): Promise<GroupProcess[]> {
    return this.#shared(this.#members, this.#groupId, async () => {
      const { groups } = await this.#ask((admin) => admin.describeGroups([this.#groupId]));
      return groups.flatMap(({ members }) => members).map(processOf);
    });
  }

  async startOf(topic: string, lane: number): Promise<TopicStart> {
    const [bounds, committed, topicId] = await Promise.all([
      this.#shared(this.#bounds, topic, () => this.#askBounds.ask(topic)),
      this.committed(topic),
      this.#topicId(topic),
    ]);
    const ofLane = bounds.get(lane);
    if (ofLane === undefined) throw new Error(`${topic} has no partition ${lane}`);
    return { lowOffset: ofLane.low, highOffset: ofLane.high, topicId, committedOffset: committed.get(lane) ?? null };
  }

  /**
   * First offset and high watermark of each partition, never from the cache, and the topic's id. Readers compare their
   * positions with them, and an older answer would make the topic look truncated. So would the last stable offset: a
   * process that has just committed is past its own transaction before the coordinator has marked it.
   * @param epochs leader epochs to ask about, by partition
   */
  async bounds(topic: string, epochs: ReadonlyMap<number, number>): Promise<Map<number, BoundsWithEpoch>> {
    const [bounds, topicId, epochEnds] = await Promise.all([
      this.#askBounds.ask(topic),
      this.#topicId(topic),
      Promise.all([...epochs].map(async ([lane, epoch]) => [lane, await this.epochEnd(topic, lane, epoch)] as const)),
    ]);
    const ends = new Map(epochEnds);
    return new Map(
      [...bounds].map(([lane, { high, low }]) => [
        lane,
        { lowOffset: low, highOffset: high, topicId, epochEnd: ends.get(lane) ?? null },
      ]),
    );
  }

  /**
   * Offset after the last record of a leader epoch, or of the last earlier epoch with records; -1: the topic has no epoch
   * that late. Ask about one epoch of a partition at a time.
   */
  epochEnd(topic: string, lane: number, epoch: number): Promise<bigint> {
    return this.#askEpochEnds.ask(epochName(topic, lane, epoch));
  }

  /** The group's next offset, by partition; partitions without one are left out. */
  committed(topic: string): Promise<Map<number, bigint>> {
    return this.#shared(this.#committed, topic, () => this.#askCommitted.ask(topic));
  }

  #topicId(topic: string): Promise<string | null> {
    return this.#shared(this.#ids, topic, () => this.#askIds.ask(topic));
  }

  /** Does not ask before all topics exist: for one that does not, kafkajs fails every request that its client has open. */
  #batched<Answer>(send: (names: readonly string[]) => Promise<ReadonlyMap<string, Answer>>): BatchedQuestions<Answer> {
    return new BatchedQuestions(async (names) => {
      await Promise.all(names.map((name) => this.#topicId(epochOf(name).topic)));
      return send(names);
    });
  }

  async #endsOf(
    topics: readonly string[],
    isolationLevel = READ_COMMITTED,
  ): Promise<Map<string, Map<number, PartitionOffsets>>> {
    const highs = await this.#offsetsOf({ topics, isolationLevel });
    const lows = await this.#offsetsOf({ topics, fromBeginning: true });
    const boundsOf = (topic: string, ends: ReadonlyMap<number, bigint>): Map<number, PartitionOffsets> =>
      new Map(
        [...ends].map(([partition, high]) => [partition, { low: lows.get(topic)?.get(partition) ?? high, high }]),
      );
    return new Map([...highs].map(([topic, ends]) => [topic, boundsOf(topic, ends)]));
  }

  async #offsetsOf(question: OffsetsQuestion): Promise<Map<string, Map<number, bigint>>> {
    return byTopic(await this.#ask((admin) => admin.fetchOffsetsOfTopics(question)));
  }

  async #epochEndsOf(names: readonly string[]): Promise<Map<string, bigint>> {
    const asked = names.map((name) => ({ name, ...epochOf(name) }));
    const topics = [...Map.groupBy(asked, ({ topic }) => topic)].map(([topic, partitions]) => ({ topic, partitions }));
    const ends = byTopic(await this.#ask((admin) => admin.fetchEndsOfLeaderEpochs(topics)));
    return new Map(
      asked.flatMap(({ name, partition, topic }) => {
        const end = ends.get(topic)?.get(partition);
        return end === undefined ? [] : [[name, end] as const];
      }),
    );
  }

  async #committedOf(topics: readonly string[]): Promise<Map<string, Map<number, bigint>>> {
    const question = { groupId: this.#groupId, topics: [...topics] };
    const offsets = byTopic(await this.#ask((admin) => admin.fetchOffsets(question)));
    return new Map(
      [...offsets].map(([topic, next]) => [topic, new Map([...next].filter(([, offset]) => offset >= 0n))]),
    );
  }

  async #idsOf(topics: readonly string[]): Promise<Map<string, string | null>> {
    const ids = await this.#ask((admin) => admin.fetchTopicIds({ topics: [...topics] }));
    return new Map(ids.map(({ topic, topicId }) => [topic, topicId]));
  }

  async #ask<Answer>(question: (admin: Admin) => Promise<Answer>): Promise<Answer> {
    if (this.#isStopped) throw stopping();
    const client = (this.#client ??= { admin: this.#connect(), dropped: droppable() });
    try {
      return await Promise.race([client.admin.then(question), client.dropped.promise]);
    } catch (error) {
      if (this.#client === client) await this.#drop(error);
      throw error;
    }
  }

  async #connect(): Promise<Admin> {
    const admin = this.#kafka.admin({ metadataMaxAge: METADATA_AGE_MAX_MS });
    await admin.connect();
    return admin;
  }

  /** Pending questions fail together with the client: it would repeat them for a minute, without connecting again. */
  async #drop(reason: unknown): Promise<void> {
    const client = this.#client;
    this.#client = null;
    client?.dropped.reject(reason);
    await client?.admin.then((admin) => admin.disconnect()).catch(() => undefined);
  }

  #shared<Answer>(answers: Answers<Answer>, name: string, ask: () => Promise<Answer>): Promise<Answer> {
    const nowMs = this.#clock.monotonicMs();
    const latest = answers.get(name);
    if (latest !== undefined && nowMs - latest.askedMs < ANSWER_AGE_MAX_MS) return latest.answer;
    const answer = ask();
    answer.catch(() => answers.delete(name));
    answers.set(name, { askedMs: nowMs, answer });
    return answer;
  }
}

/** No topic's name has a slash. */
function epochName(topic: string, lane: number, epoch: number): string {
  return `${topic}/${lane}/${epoch}`;
}

function epochOf(name: string): { topic: string; partition: number; leaderEpoch: number } {
  const [topic = '', partition, leaderEpoch] = name.split('/');
  return { topic, partition: Number(partition), leaderEpoch: Number(leaderEpoch) };
}

function byTopic(
  topics: readonly { topic: string; partitions: readonly { partition: number; offset: string }[] }[],
): Map<string, Map<number, bigint>> {
  return new Map(
    topics.map(({ partitions, topic }) => [
      topic,
      new Map(partitions.map(({ offset, partition }) => [partition, BigInt(offset)])),
    ]),
  );
}

function processOf({
  clientHost,
  clientId,
  memberAssignment,
  memberMetadata,
}: GroupDescription['members'][number]): GroupProcess {
  // Between two generations there is no assignment.
  const decoded = memberAssignment.length === 0 ? null : AssignerProtocol.MemberAssignment.decode(memberAssignment);
  const lanes = [...new Set(Object.values(decoded?.assignment ?? {}).flat())].sort((left, right) => left - right);
  const { address } = decodeMemberNote(memberMetadata);
  return { process: clientProcess(clientId), host: clientHost.replace(/^\//, ''), lanes, address };
}

function stopping(): Error {
  return new Error('the process is shutting down');
}

function droppable(): PromiseWithResolvers<never> {
  const dropped = Promise.withResolvers<never>();
  // If nobody waits for it, its rejection must not count as unhandled.
  dropped.promise.catch(() => undefined);
  return dropped;
}
