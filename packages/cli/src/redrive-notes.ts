/**
 * Notes of redrives and acknowledgements, on the partition of their dead letter. That of a redrive is written before the
 * message is published again, so that two people at once redrive it once. Of the notes that nobody had seen the first
 * counts; the others publish nothing.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { HANDLED, NOTE_HEADERS, notedOffset } from '../../../src/producers/dead-letter-notes.ts';
import { topicNames } from 'payment-processor-contract/topics';
import { cliKafka, type CliSettings } from './context.ts';
import { isoOf } from './event-output.ts';
import { CliFailure } from './exit-codes.ts';
import { readTopics } from './topic-reading.ts';

/** A lane's open transaction hides what follows it from readers, until it ends or its time of 15 s is up. */
const OWN_NOTE_TRIES_MAX = 10;
const OWN_NOTE_PAUSE_MS = 1_000;

export interface RedriveNote {
  /** Of the dead letter. */
  readonly partition: number;
  readonly letterOffset: bigint;
  /** The dead letter's own key; null: it had none. */
  readonly letterKey: string | null;
  /** Under which it was to be published. */
  readonly key: string;
  /** Why it was acknowledged; null: it was redriven. */
  readonly because: string | null;
  readonly operator: string;
  readonly timestamp: string;
  readonly id: string;
}

/** Null: the record is a dead letter. */
export function noteOf(record: Pick<TopicRecord, 'headers' | 'key' | 'partition' | 'timestampMs'>): RedriveNote | null {
  const { headers, partition, timestampMs } = record;
  const letterOffset = notedOffset((name) => headers[name]);
  if (letterOffset === null) return null;
  return {
    partition,
    letterOffset,
    letterKey: record.key?.toString('latin1') ?? null,
    key: headers[NOTE_HEADERS.key] ?? '',
    because: headers[NOTE_HEADERS.because] ?? null,
    operator: headers[NOTE_HEADERS.operator] ?? '',
    timestamp: isoOf(timestampMs),
    id: headers[NOTE_HEADERS.id] ?? '',
  };
}

/** @returns every note, by the name of its dead letter's place, each oldest first; and what an open transaction hides, in sentences */
export async function readNotes(
  settings: CliSettings,
): Promise<{ notes: Map<string, RedriveNote[]>; hidden: readonly string[] }> {
  const notes = new Map<string, RedriveNote[]>();
  const hidden = await readTopics(settings, {
    topics: [topicNames(settings.TOPIC_PREFIX).deadLetters],
    onRecord: (record) => {
      const note = noteOf(record);
      if (note === null) return;
      const name = letterName({ partition: note.partition, offset: note.letterOffset });
      notes.set(name, [...(notes.get(name) ?? []), note]);
    },
  });
  return { notes, hidden };
}

export function letterName({ partition, offset }: { partition: number; offset: bigint }): string {
  return `${partition}/${offset}`;
}

export function noteText({ because, key, operator, timestamp }: RedriveNote): string {
  const what = because === null ? `redriven as ${key}` : `acknowledged (${because})`;
  return `${what} by ${operator} at ${timestamp}`;
}

/** Who knows what became of it. */
export function whomToAsk({ because, key, operator }: RedriveNote): string {
  return because === null ? `look with \`show ${key}\`` : `ask ${operator}`;
}

/** A dead letter that somebody wants to handle. */
export interface LetterClaim {
  readonly letter: { topic: string; partition: number; offset: bigint; key: Buffer | null };
  readonly knownNotes: readonly RedriveNote[];
}

export interface RedriveClaim extends LetterClaim {
  /** Under which it is to be published. */
  readonly key: string;
}

/** Null: the claim was first. Else who was. */
export type ClaimedBy = RedriveNote | null;

/**
 * Writes a note for each, and finds out which of them are the first after those that are known.
 * @returns in the order of the claims
 * @throws CliFailure when the notes cannot be read in time: then nothing may be sent
 */
export async function claimRedrives(
  settings: CliSettings,
  operator: string,
  claims: readonly RedriveClaim[],
): Promise<ClaimedBy[]> {
  return claimed(settings, claims, ({ key, letter }, id) =>
    noteMessage(letter, operator, id, { kind: 'redriven', key }),
  );
}

/** Handled by a person otherwise: it is open no more. As `claimRedrives`. */
export async function acknowledge(
  settings: CliSettings,
  operator: string,
  claims: readonly LetterClaim[],
  because: string,
): Promise<ClaimedBy[]> {
  return claimed(settings, claims, ({ letter }, id) =>
    noteMessage(letter, operator, id, { kind: 'acknowledged', because }),
  );
}

async function claimed<Claim extends LetterClaim>(
  settings: CliSettings,
  claims: readonly Claim[],
  noteOn: (claim: Claim, id: string) => NoteMessage,
): Promise<ClaimedBy[]> {
  const ids = claims.map(() => randomUUID());
  await writeNotes(
    settings,
    claims.map((claim, index) => noteOn(claim, ids[index] ?? '')),
  );
  for (let tries = 0; tries < OWN_NOTE_TRIES_MAX; tries += 1) {
    const { notes } = await readNotes(settings);
    const found = claims.map((claim, index) => firstAfter(notes, claim, ids[index] ?? ''));
    if (found.every((first) => first !== 'not-there-yet')) return found;
    await delay(OWN_NOTE_PAUSE_MS);
  }
  throw new CliFailure(
    'failed',
    'the note was written and cannot be read yet, for a transaction on its partition stays open: `dead-letters show` has it when that is over',
  );
}

function firstAfter(
  notes: ReadonlyMap<string, RedriveNote[]>,
  { knownNotes, letter }: LetterClaim,
  id: string,
): ClaimedBy | 'not-there-yet' {
  const ofLetter = notes.get(letterName(letter)) ?? [];
  if (!ofLetter.some((note) => note.id === id)) return 'not-there-yet';
  const [first] = ofLetter.filter((note) => !knownNotes.some((known) => known.id === note.id));
  return first === undefined || first.id === id ? null : first;
}

async function writeNotes(settings: CliSettings, messages: readonly NoteMessage[]): Promise<void> {
  const producer = cliKafka(settings).producer({
    idempotent: true,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
  });
  await producer.connect();
  try {
    const topic = topicNames(settings.TOPIC_PREFIX).deadLetters;
    for (const message of messages) await producer.send({ topic, acks: -1, messages: [message] });
  } finally {
    await producer.disconnect();
  }
}

type NoteMessage = ReturnType<typeof noteMessage>;

function noteMessage(
  letter: LetterClaim['letter'],
  operator: string,
  id: string,
  what: { kind: 'redriven'; key: string } | { kind: 'acknowledged'; because: string },
) {
  const said = what.kind === 'redriven' ? `redriven as ${what.key}` : `acknowledged (${what.because})`;
  const headers = {
    'dlq-reason': HANDLED[what.kind],
    'dlq-message': `${said} by ${operator}`,
    [NOTE_HEADERS.partition]: String(letter.partition),
    [NOTE_HEADERS.offset]: letter.offset.toString(),
    ...(what.kind === 'redriven' ? { [NOTE_HEADERS.key]: what.key } : { [NOTE_HEADERS.because]: what.because }),
    [NOTE_HEADERS.operator]: operator,
    [NOTE_HEADERS.id]: id,
  };
  return { key: letter.key, value: null, partition: letter.partition, headers };
}
