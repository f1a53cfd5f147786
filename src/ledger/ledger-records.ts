/**
 * The records of the ledger topic: JSON, so that they can be read with any tool. Partition p is lane p's.
 *
 *   key             value
 *   c:<key>         the entry of a command
 *   t:<id>          the state of a transaction (src/status)
 *   !owner          who took the lane last, and when; its token marks the end of a restore
 *   !claim:<id>     a transactional id that may write to the lane, until its owner takes the claim away or says that the id is
 *                   fenced, or another owner has fenced it
 *   !position       the next offset of each input topic, the topics' ids, and the number of the owner's commit
 *   !hold           what operators hold (holds.ts)
 *   !suspect        the message that the owner reads alone, for the lane was lost over and over; or none
 *   !poll           how far the status poller is (src/status); lane 0 alone
 *
 * A value of another version stops the lane: guessing about money is worse than waiting for the right release.
 */
import { z } from 'zod';
import { entryRecord } from './entry-record.ts';
import type { Entry } from './entry.ts';

export const ENTRY_PREFIX = 'c:';
export const TRANSACTION_PREFIX = 't:';
export const OWNER_KEY = '!owner';
export const CLAIM_PREFIX = '!claim:';
export const POSITION_KEY = '!position';
export const SUSPECT_KEY = '!suspect';
export const HOLD_KEY = '!hold';

const FORMAT_VERSION = 1;
/** Of a phase alone: within a text the quotation marks are escaped. */
const DONE_MARK = Buffer.from('"state":"DONE"');
/** Of that outcome, and of texts that are the word. */
const UNKNOWN_MARK = Buffer.from('"UNKNOWN"');

/** Whoever has taken a lane, and may write to it until it is fenced or has released the lane. */
export interface Claimant {
  readonly token: string;
  readonly processId: string;
  /** Of its producer, for the next owner to fence. */
  readonly transactionalId: string;
}

export interface Claim extends Claimant {
  /** Its owner's producer broke, and the owner fenced it itself: the next owner takes the claim away, and waits for nobody. */
  readonly isFenced: boolean;
}

export interface OwnerRecord extends Claimant {
  readonly atMs: number;
  /** Owners in a row before this one that committed nothing but their own record. */
  readonly barren: number;
  /** Until when an owner that was fenced may begin calls, for it may not know it; 0: none may. */
  readonly fencedCallUntilMs: number;
}

/** A message that may be what lanes are lost at. */
export interface Suspect {
  readonly topic: string;
  readonly offset: bigint;
  /** Owners that were lost while they handled it alone, with the present one. */
  readonly tries: number;
}

export interface PositionRecord {
  /** Token of the owner that wrote it. */
  readonly token: string;
  /** Counts the commits of this owner. */
  readonly commit: number;
  /** Next offset to be read, by topic. */
  readonly next: Readonly<Record<string, bigint>>;
  /**
   * Ids of the topics that the offsets are of, and of the ledger itself, by topic: one that is deleted and made again has
   * another. None where brokers do not know ids.
   */
  readonly topicIds: Readonly<Record<string, string>>;
}

/** A ledger value that this release cannot read; the message says which. */
export class LedgerFormatError extends Error {}

export function encodeEntry(entry: Entry): Buffer {
  const { phase } = entry;
  const plainPhase =
    phase.state === 'DONE'
      ? { ...phase, result: { value: phase.result.value.toString('base64'), headers: phase.result.headers } }
      : phase;
  return encode({ ...entry, origin: { ...entry.origin, offset: entry.origin.offset.toString() }, phase: plainPhase });
}

/** @throws LedgerFormatError for a record of another release, and for what is no entry */
export function decodeEntry(value: Buffer): Entry {
  const plain = decode(value);
  try {
    return entryRecord.parse(plain);
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    throw new LedgerFormatError(`the ledger record of ${String(plain['key'])} is not an entry: ${placesOf(error)}`);
  }
}

/** Before it is decoded: false of an entry that has its result, and of no other. */
export function mayBeUnfinished(value: Buffer): boolean {
  return !value.includes(DONE_MARK);
}

/** Before it is decoded: true of an entry whose result is UNKNOWN, and of few others. */
export function mayBeUnknown(value: Buffer): boolean {
  return value.includes(UNKNOWN_MARK);
}

export function encodeOwner(owner: OwnerRecord): Buffer {
  return encode(owner);
}

const text = z.string();
const count = z.int().min(0);
const offset = z
  .string()
  .regex(/^\d{1,19}$/)
  .transform(BigInt);

// A field that a release adds has a default, for earlier ones do not write it; one that is not known is passed over.
const ownerRecord: z.ZodType<OwnerRecord> = z.object({
  token: text,
  processId: text,
  transactionalId: text,
  atMs: z.number(),
  barren: count,
  fencedCallUntilMs: z.number().default(0),
});
const claimRecord = z.object({ token: text, processId: text, isFenced: z.boolean() });
const positionRecord: z.ZodType<PositionRecord> = z.object({
  token: text,
  commit: count,
  next: z.record(text, offset),
  topicIds: z.record(text, text),
});

/** @throws LedgerFormatError for what is no such record */
export function decodeOwner(value: Buffer): OwnerRecord {
  return readAs(ownerRecord, decode(value), OWNER_KEY);
}

export function encodeClaim({ isFenced, processId, token }: Omit<Claim, 'transactionalId'>): Buffer {
  return encode({ processId, token, isFenced });
}

/**
 * @param key with the prefix
 * @throws LedgerFormatError for what is no such record
 */
export function decodeClaim(key: string, value: Buffer): Claim {
  return { ...readAs(claimRecord, decode(value), key), transactionalId: key.slice(CLAIM_PREFIX.length) };
}

/** @param suspect null: none is any more */
export function encodeSuspect(suspect: Suspect | null): Buffer {
  return encode(suspect === null ? {} : { ...suspect, offset: suspect.offset.toString() });
}

export function decodeSuspect(value: Buffer): Suspect | null {
  const plain = decode(value) as unknown as { topic?: string; offset?: string; tries?: number };
  const { offset, topic, tries } = plain;
  return topic === undefined || offset === undefined || tries === undefined
    ? null
    : { topic, offset: BigInt(offset), tries };
}

export function encodePosition(position: PositionRecord): Buffer {
  const next = Object.fromEntries(Object.entries(position.next).map(([topic, offset]) => [topic, offset.toString()]));
  return encode({ ...position, next });
}

/** @throws LedgerFormatError for what is no such record */
export function decodePosition(value: Buffer): PositionRecord {
  return readAs(positionRecord, decode(value), POSITION_KEY);
}

function readAs<Value>(type: z.ZodType<Value>, plain: unknown, key: string): Value {
  const read = type.safeParse(plain);
  if (read.success) return read.data;
  throw new LedgerFormatError(`the ledger record ${key} cannot be read: ${placesOf(read.error)}`);
}

/** Paths alone: what stands there may be an account. */
function placesOf({ issues }: z.ZodError): string {
  return issues.map(({ path }) => path.join('.')).join(', ');
}

/** For any other record of plain data: numbers within a double, strings, booleans, nulls, objects. */
export function encode(record: object): Buffer {
  return Buffer.from(JSON.stringify({ v: FORMAT_VERSION, ...record }));
}

/** @throws LedgerFormatError */
export function decode(value: Buffer): Record<string, unknown> {
  const { v: version, ...plain } = jsonObjectOf(value);
  if (version !== FORMAT_VERSION) {
    throw new LedgerFormatError(
      `the ledger has a record of format ${String(version)}, and this release reads format ${FORMAT_VERSION}: run the release that wrote it`,
    );
  }
  return plain;
}

function jsonObjectOf(value: Buffer): object & { v?: unknown } {
  try {
    const parsed: unknown = JSON.parse(value.toString());
    if (typeof parsed === 'object' && parsed !== null) return parsed;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new LedgerFormatError('a ledger record is not a JSON object');
}
