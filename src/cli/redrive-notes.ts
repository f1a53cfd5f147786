/**
 * Notes of redrives, on the partition of their dead letter: written before the message is published again, so that two
 * people at once redrive it once. Of the notes that nobody had seen the first counts; the others publish nothing.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { openTopicReader, type TopicRecord } from '../consumers/outside/topic-reader.ts';
import type { KafkaSettings } from '../producers/kafka-client.ts';
import { topicNames } from '../records/topics.ts';
import { cliKafka } from './context.ts';
import { isoOf } from './event-output.ts';
import { CliFailure } from './exit-codes.ts';

type NoteSettings = KafkaSettings & { readonly TOPIC_PREFIX: string };

/** `dlq-reason` of a note; no dead letter has it, for the processor sets that header itself. */
export const REDRIVEN = 'REDRIVEN';
const HEADERS = {
  partition: 'dlq-redriven-partition',
  offset: 'dlq-redriven-offset',
  key: 'dlq-redriven-key',
  operator: 'dlq-redriven-by',
  id: 'dlq-redriven-id',
} as const;

/** A lane's open transaction hides what follows it from readers, until it ends or its time of 15 s is up. */
const OWN_NOTE_TRIES_MAX = 30;
const OWN_NOTE_PAUSE_MS = 1_000;

export interface RedriveNote {
  /** Of the dead letter. */
  readonly partition: number;
  readonly letterOffset: bigint;
  /** The dead letter's own key; null: it had none. */
  readonly letterKey: string | null;
  /** Under which it was to be published. */
  readonly key: string;
  readonly operator: string;
  readonly timestamp: string;
  readonly id: string;
}

/** Null: the record is a dead letter. */
export function noteOf(record: Pick<TopicRecord, 'headers' | 'key' | 'partition' | 'timestampMs'>): RedriveNote | null {
  const { headers, partition, timestampMs } = record;
  const offset = headers[HEADERS.offset] ?? '';
  if (headers['dlq-reason'] !== REDRIVEN || !/^\d{1,18}$/.test(offset)) return null;
  return {
    partition,
    letterOffset: BigInt(offset),
    letterKey: record.key?.toString('latin1') ?? null,
    key: headers[HEADERS.key] ?? '',
    operator: headers[HEADERS.operator] ?? '',
    timestamp: isoOf(timestampMs),
    id: headers[HEADERS.id] ?? '',
  };
}

/** Every note there is, by the name of its dead letter's place, each oldest first. */
export async function readNotes(settings: NoteSettings): Promise<Map<string, RedriveNote[]>> {
  const notes = new Map<string, RedriveNote[]>();
  const reader = await openTopicReader(cliKafka(settings), {
    topics: [topicNames(settings.TOPIC_PREFIX).deadLetters],
    start: { from: 'beginning' },
    untilEnd: true,
    groupPrefix: `${settings.TOPIC_PREFIX}-cli`,
    onRecord: (record) => {
      const note = noteOf(record);
      if (note === null) return;
      const name = letterName({ partition: note.partition, offset: note.letterOffset });
      notes.set(name, [...(notes.get(name) ?? []), note]);
    },
  });
  try {
    // Not to be ended by a signal and taken for whole: whether to pay is decided on what is read.
    await reader.ended;
  } finally {
    await reader.close();
  }
  return notes;
}

export function letterName({ partition, offset }: { partition: number; offset: bigint }): string {
  return `${partition}/${offset}`;
}

export function noteText({ key, operator, timestamp }: RedriveNote): string {
  return `redriven as ${key} by ${operator} at ${timestamp}`;
}

/** A dead letter that somebody wants to redrive. */
export interface RedriveClaim {
  readonly letter: { topic: string; partition: number; offset: bigint; key: Buffer | null };
  /** Under which it is to be published. */
  readonly key: string;
  readonly knownNotes: readonly RedriveNote[];
}

/** Null: the claim was first. Else who was. */
export type ClaimedBy = RedriveNote | null;

/**
 * Writes a note for each, and finds out which of them are the first after those that are known.
 * @returns in the order of the claims
 * @throws CliFailure when the notes cannot be read in time: then nothing may be sent
 */
export async function claimRedrives(
  settings: NoteSettings,
  operator: string,
  claims: readonly RedriveClaim[],
): Promise<ClaimedBy[]> {
  const ids = claims.map(() => randomUUID());
  const producer = cliKafka(settings).producer({
    idempotent: true,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
  });
  await producer.connect();
  try {
    for (const [index, claim] of claims.entries()) {
      await producer.send({
        topic: claim.letter.topic,
        acks: -1,
        messages: [noteMessage(claim, operator, ids[index] ?? '')],
      });
    }
  } finally {
    await producer.disconnect();
  }
  for (let tries = 0; tries < OWN_NOTE_TRIES_MAX; tries += 1) {
    const notes = await readNotes(settings);
    const found = claims.map((claim, index) => firstAfter(notes, claim, ids[index] ?? ''));
    if (found.every((first) => first !== 'not-there-yet')) return found;
    await delay(OWN_NOTE_PAUSE_MS);
  }
  throw new CliFailure(
    'failed',
    'the note of this redrive was written and cannot be read yet, for a transaction on its partition stays open; nothing was sent. ' +
      'Try again when it is over, with --again-may-pay-twice if the note of nobody else is shown by `dead-letters show`',
  );
}

function firstAfter(
  notes: ReadonlyMap<string, RedriveNote[]>,
  { knownNotes, letter }: RedriveClaim,
  id: string,
): ClaimedBy | 'not-there-yet' {
  const ofLetter = notes.get(letterName(letter)) ?? [];
  if (!ofLetter.some((note) => note.id === id)) return 'not-there-yet';
  const [first] = ofLetter.filter((note) => !knownNotes.some((known) => known.id === note.id));
  return first === undefined || first.id === id ? null : first;
}

function noteMessage({ key, letter }: RedriveClaim, operator: string, id: string) {
  const headers = {
    'dlq-reason': REDRIVEN,
    'dlq-message': `redriven as ${key} by ${operator}`,
    [HEADERS.partition]: String(letter.partition),
    [HEADERS.offset]: letter.offset.toString(),
    [HEADERS.key]: key,
    [HEADERS.operator]: operator,
    [HEADERS.id]: id,
  };
  return { key: letter.key, value: null, partition: letter.partition, headers };
}
