/**
 * A kind of poison message: how its bytes are made, and the expected outcome. Whatever the outcome, the processor handles
 * the messages behind it in the partition (invariant I6).
 */
import type { CommandType, Outcome } from 'payment-processor-contract/commands';
import { laneOf } from 'payment-processor-contract/keys';
import type { TopicNames } from 'payment-processor-contract/topics';
import { accountOf } from '../commands.ts';
import { batchOf, CODECS, type BatchFields, type BatchRecord, type Codec, type HeaderList } from '../record-batch.ts';

/** The topics that the processor reads and others can write to. */
export type PoisonInput = 'command' | 'decision' | 'observation';

export function topicOf(
  { commands, observations, operatorDecisions }: TopicNames,
  { commandType, input }: Pick<PoisonKind, 'commandType' | 'input'>,
): string {
  return { command: commands[commandType], decision: operatorDecisions, observation: observations }[input];
}

/** Where a poison is published. */
export interface Aim {
  readonly topic: string;
  /** Its key's. */
  readonly lane: number;
  readonly partition: number;
  /** A key of this lane that no other message has. */
  readonly key: string;
}

/** @param key taken unless the kind needs one of its own */
export function aimed(
  kind: Pick<PoisonKind, 'commandType' | 'fixedKey' | 'input' | 'partition'>,
  topics: TopicNames,
  laneCount: number,
  key: string,
): Aim {
  const lane = laneOf(kind.fixedKey ?? key, laneCount);
  const partition = kind.partition === 'own' ? lane : (lane + 1) % laneCount;
  return { topic: topicOf(topics, kind), lane, partition, key: kind.fixedKey ?? key };
}

/** And what it can be made from. */
export interface PoisonPlace extends Aim {
  readonly nowMs: number;
  /** Avro under the topic's own schema, in the wire format. */
  readonly encode: (record: object) => Promise<Buffer>;
}

export interface PoisonedMessage {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** Of a message in a batch of its own. */
  readonly headers?: HeaderList;
}

export interface Poison {
  /** A record batch, as it goes over the wire. */
  readonly batch: Buffer;
  /** The bad message, which a dead letter is about; null if the batch as a whole is bad. */
  readonly message: PoisonedMessage | null;
  /** The key whose answer is expected; null: there can be no answer. */
  readonly key: string | null;
  /** Good commands in the same batch, by key. */
  readonly companions: readonly string[];
  /** Messages in the batch, each of which may be buried. */
  readonly messageCount: number;
}

export type Burial =
  | 'UNREADABLE'
  | 'UNKNOWN_SCHEMA'
  | 'NO_KEY'
  | 'INVALID_KEY'
  | 'TOO_LARGE'
  | 'SET_ASIDE'
  | 'REFUSED_DECISION'
  | 'UNREADABLE_BATCH';

export interface Expected {
  /** A poison that brokers refuse is harmless; it is listed so that we notice if a broker starts to accept it. */
  readonly broker: 'takes' | 'refuses' | 'either';
  /** The allowed outcomes; 'none': no answer. */
  readonly answers: readonly (Outcome | 'none')[];
  /** The allowed reasons in the dead letter; 'no': no dead letter. */
  readonly burials: readonly (Burial | 'no')[];
  readonly copy: 'whole' | 'reference' | 'either';
  /** Whether good commands in the same batch are answered ACCEPTED, or lost with it. */
  readonly companions: 'answered' | 'buried';
}

export interface PoisonKind {
  readonly name: string;
  readonly input: PoisonInput;
  readonly commandType: CommandType;
  /** 'other': not the partition of its key. */
  readonly partition: 'own' | 'other';
  /** It needs exactly this key, so it can be sent only once. */
  readonly fixedKey: string | null;
  readonly make: (place: PoisonPlace) => Poison | Promise<Poison>;
  readonly expected: Expected;
}

/** Kinds grouped by what they try. */
export type PoisonFamilies = Readonly<Record<string, readonly PoisonKind[]>>;

type Given = Partial<Omit<PoisonKind, 'name' | 'make' | 'expected'>>;
type Made<Content> = (place: PoisonPlace) => Content | Promise<Content>;

/** A message that is poison by itself. */
export interface PoisonMessage extends Partial<BatchRecord> {
  readonly codec?: Codec;
  readonly batch?: Partial<BatchFields>;
}

const NONE: Expected = { broker: 'takes', answers: ['none'], burials: ['no'], copy: 'either', companions: 'answered' };
export const expected = {
  accepted: { ...NONE, answers: ['ACCEPTED'] },
  invalid: { ...NONE, answers: ['INVALID'] },
  /** Answered, and copied whole into a dead letter. */
  unreadable: { ...NONE, answers: ['INVALID'], burials: ['UNREADABLE'], copy: 'whole' },
  tooLarge: { ...NONE, answers: ['INVALID'], burials: ['TOO_LARGE'], copy: 'whole' },
  tooLargeByReference: { ...NONE, answers: ['INVALID'], burials: ['TOO_LARGE'], copy: 'reference' },
  badKey: { ...NONE, burials: ['INVALID_KEY'], copy: 'whole' },
  badKeyByReference: { ...NONE, burials: ['INVALID_KEY'], copy: 'reference' },
  /** Has no key that could be answered, or is in a topic whose keys get no answers. */
  buried: { ...NONE, burials: ['UNREADABLE'], copy: 'whole' },
  refusedDecision: { ...NONE, burials: ['REFUSED_DECISION'], copy: 'whole' },
  /** The content is unknown, so the whole batch is set aside. */
  unreadableBatch: { ...NONE, burials: ['UNREADABLE_BATCH'], copy: 'reference', companions: 'buried' },
  refusedByBroker: { ...NONE, broker: 'refuses' },
} as const satisfies Record<string, Expected>;

/** One bad message in a batch of its own; fields that are not given are those of a good message. */
export function messageKind(name: string, outcome: Expected, make: Made<PoisonMessage>, given: Given = {}): PoisonKind {
  return batchKind(
    name,
    outcome,
    async (place) => {
      const { codec = CODECS.none, batch: fields, ...parts } = await make(place);
      const record = { ...goodRecord(given.fixedKey ?? place.key), ...parts };
      return {
        batch: batchOf([record], codec, fields),
        message: { key: bytesOf(record.key), value: bytesOf(record.value), headers: record.headers },
      };
    },
    given,
  );
}

/** A batch that is poison as a whole, or has good commands around the bad message. */
export function batchKind(
  name: string,
  outcome: Expected,
  make: Made<Partial<Poison> & { batch: Buffer }>,
  given: Given = {},
): PoisonKind {
  return {
    name,
    input: 'command',
    commandType: 'transfer-in',
    partition: 'own',
    fixedKey: null,
    ...given,
    make: async (place) => ({
      message: null,
      // Decisions and observations have no results of their own.
      key: (given.input ?? 'command') === 'command' ? (given.fixedKey ?? place.key) : null,
      companions: [],
      messageCount: 1,
      ...(await make(place)),
    }),
    expected: outcome,
  };
}

export const JSON_HEADER: HeaderList[number] = ['content-type', 'application/json'];

/** A valid transfer. @param more appended after the last member @param amount the literal JSON text */
export function transferJson(key: string, more = '', amount = '100'): string {
  return `{"source":{"accountId":"ExternalAccount:payer-x"},"destination":{"accountId":"${accountOf(key)}"},"amount":${amount}${more}}`;
}

export function quoteJson(key: string, more = ''): string {
  return `{"source":{"sourceType":"ACCOUNT","accountId":"${accountOf(key)}"},"destination":{"destinationType":"ACCOUNT","accountId":"ExternalAccount:payee-x"},"lockedCurrencySide":"SENDING","lockedCurrencyAmount":1000${more}}`;
}

/** A quote to a UMA address: only such a quote may have fields about the sender. */
export function umaQuoteJson(key: string, more: string): string {
  const destination =
    '"destination":{"destinationType":"UMA_ADDRESS","otherFieldsJson":"{\\"umaAddress\\":\\"$you@there.example\\"}"}';
  return quoteJson(key, `,"lookupId":"Lookup:any"${more}`).replace(/"destination":\{[^}]*\}/, () => destination);
}

export function goodRecord(key: string): { key: string; value: string; headers: HeaderList } {
  return { key, value: transferJson(key), headers: [JSON_HEADER] };
}

export function bytesOf(content: Buffer | string | null): Buffer | null {
  return content === null ? null : Buffer.from(content);
}
