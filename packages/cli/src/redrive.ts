/**
 * Publishing a dead letter's message again: what will become of it, as far as that can be told beforehand, and the
 * message as it is sent. Key, value and headers are the original bytes, unless another key is given.
 */
import type { RawRecord } from 'payment-processor-client/internal/kafka/record-at';
import { CARRIED_LENGTH_MAX, type Entry } from '../../../src/ledger/entry.ts';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { keyProblem, laneOf, readKey } from 'payment-processor-contract/keys';
import type { TopicNames } from 'payment-processor-contract/topics';
import type { CliKafka } from './context.ts';
import { originalHeaders, summaryOfRaw } from './dead-letter.ts';
import { CliFailure } from './exit-codes.ts';

/** Headers of the processor about a message that it moved; again they would make the message as old as it was. */
const MOVED_HEADERS = 'moved-';
/** Reasons for which the command got an INVALID result of its key, where that was free. */
const ANSWERED_REASONS = ['UNREADABLE', 'UNKNOWN_SCHEMA', 'TOO_LARGE'];

export interface RedriveTarget {
  topic: string;
  key: string;
  /** Null: it is an operator's decision. */
  commandType: CommandType | null;
}

/**
 * Where the message goes, and under which key.
 * @throws CliFailure when it cannot go anywhere, or needs another key
 */
export function targetOf(letter: RawRecord, topics: TopicNames, newKey: string | null): RedriveTarget {
  const { source } = summaryOfRaw(letter);
  const commandType = COMMAND_TYPES.find((type) => topics.commands[type] === source.topic) ?? null;
  if (source.topic === null || (commandType === null && source.topic !== topics.operatorDecisions)) {
    throw new CliFailure(
      'refused',
      `the dead letter says that it came from ${source.topic ?? 'nowhere'}, which is no topic of commands or decisions under this TOPIC_PREFIX; nothing was sent`,
    );
  }
  if (letter.value === null)
    throw new CliFailure('refused', 'the message has no value to be sent again; nothing was sent');
  if ((letter.headers['ce_id']?.[0]?.toString().length ?? 0) > CARRIED_LENGTH_MAX) {
    throw new CliFailure(
      'refused',
      `its ce_id has more than ${CARRIED_LENGTH_MAX} characters, so no result can name it: give it another with --header ce_id=ID; nothing was sent`,
    );
  }
  if (newKey !== null) {
    const problem = keyProblem(newKey);
    if (problem !== null) throw new CliFailure('usage', `--key: ${problem}; nothing was sent`);
    if (commandType === null)
      throw new CliFailure('usage', 'a decision is about its own key: decide anew with `resolve`');
    return { topic: source.topic, key: newKey, commandType };
  }
  const read = readKey(letter.key);
  if (!read.ok) throw new CliFailure('usage', `${read.problem}: give it one with --key; nothing was sent`);
  return { topic: source.topic, key: read.key, commandType };
}

/**
 * What will happen, in sentences.
 * @param entry what the ledger has of the target's key
 * @throws CliFailure when it is certain to be of no use
 */
export function foresight(
  letter: RawRecord,
  target: RedriveTarget,
  entry: Entry | null,
  isNewKey: boolean,
  nowMs: number,
): string[] {
  const { reason } = summaryOfRaw(letter);
  if (target.commandType === null) {
    return ['it is judged again: the revision that it names must still be the present one, else it is refused again'];
  }
  const notes: string[] = ['it counts as a new message: its age begins now'];
  const expiresAt = originalHeaders(letter)['expires-at']?.[0]?.toString() ?? '';
  if (Date.parse(expiresAt) <= nowMs)
    notes.push(`its expires-at, ${expiresAt}, has passed: it will be EXPIRED if it can be read`);
  if (reason !== null && ANSWERED_REASONS.includes(reason)) {
    notes.push(
      `it was ${reason}: unless the cause was mended (a schema registered, a release changed), it will be again`,
    );
  }
  if (entry === null) return [...notes, `the key ${target.key} is not known: the message is a command of its own`];
  const state = entry.phase.state === 'DONE' ? entry.phase.outcome : `not finished (${entry.phase.state})`;
  if (isNewKey) {
    throw new CliFailure(
      'refused',
      `the key ${target.key} is known already, its command is ${state}: give a key that is not; nothing was sent`,
    );
  }
  if (state === 'INVALID' && reason !== null && ANSWERED_REASONS.includes(reason)) {
    throw new CliFailure(
      'refused',
      `the key ${target.key} is known already with its INVALID result, so that this message would be a CONFLICT: ` +
        'send it under a new key with --key; nothing was sent',
    );
  }
  const retry = state === 'FAILED' ? `; to have it run again use \`resolve ${target.key} --decision RETRY\`` : '';
  return [
    ...notes,
    `the key ${target.key} is known already, its command is ${state}: with the same content this message gets that result, with other content it will be a CONFLICT${retry}`,
  ];
}

/** Headers that are set, or take the place of all of their name. */
export type HeaderChanges = ReadonlyMap<string, string>;

/** The letter as if its message had been published with these headers. */
export function withHeaders(letter: RawRecord, changes: HeaderChanges): RawRecord {
  const changed = [...changes].map(([name, value]) => [name, [Buffer.from(value)]] as const);
  return { ...letter, headers: { ...letter.headers, ...Object.fromEntries(changed) } };
}

/** Publishes letters' messages again, one at a time; owns its producer from `open` to `close`. */
export class Republisher {
  readonly #kafka: CliKafka;
  readonly #producer: ReturnType<CliKafka['producer']>;
  readonly #lanes = new Map<string, number>();

  private constructor(kafka: CliKafka) {
    this.#kafka = kafka;
    this.#producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1, allowAutoTopicCreation: false });
  }

  static async open(kafka: CliKafka): Promise<Republisher> {
    const publisher = new Republisher(kafka);
    await publisher.#producer.connect();
    return publisher;
  }

  /**
   * Publishes the message; once, idempotently.
   * @returns where it lies
   * @throws CliFailure when it is not known whether it lies there: the dead letter is marked already
   */
  async publish(letter: RawRecord, target: RedriveTarget): Promise<{ partition: number; offset: bigint }> {
    try {
      const partition = laneOf(target.key, await this.#lanesOf(target.topic));
      const [written] = await this.#producer.send({
        topic: target.topic,
        acks: -1,
        messages: [{ key: target.key, value: letter.value, headers: headersFor(letter, target.key), partition }],
      });
      return { partition, offset: BigInt(written?.baseOffset ?? '-1') };
    } catch (error) {
      throw new CliFailure(
        'failed',
        `the dead letter is marked as redriven, and it is not known whether its message was published (${error instanceof Error ? error.message : String(error)}): ` +
          `look with \`show ${target.key}\`; if it is not there, redrive it under the same key with --again-may-pay-twice`,
      );
    }
  }

  async close(): Promise<void> {
    await this.#producer.disconnect();
  }

  async #lanesOf(topic: string): Promise<number> {
    const known = this.#lanes.get(topic);
    if (known !== undefined) return known;
    const lanes = await withAdmin(this.#kafka, async (admin) => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      return topics[0]?.partitions.length ?? 0;
    });
    this.#lanes.set(topic, lanes);
    return lanes;
  }
}

function headersFor(letter: RawRecord, key: string): Record<string, Buffer[]> {
  const isNewKey = letter.key?.toString('latin1') !== key;
  return Object.fromEntries(
    Object.entries(originalHeaders(letter))
      .filter(([name]) => !name.startsWith(MOVED_HEADERS))
      .map(([name, values]) => [name, name === 'ce_subject' && isNewKey ? [Buffer.from(key)] : [...values]]),
  );
}
