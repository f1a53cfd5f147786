/**
 * The records of the ledger topic: JSON, so that a person can read them with any tool. Partition p is lane p's.
 *
 *   key             value
 *   c:<key>         the entry of a command
 *   t:<id>          the state of a transaction (src/status)
 *   !owner          who owns the lane since when; its token marks the end of a restore
 *   !position       the next offset of each input topic, the topics' ids, and the number of the owner's commit
 *   !poll           how far the status poller is (src/status); lane 0 alone
 *
 * A value of another version stops the lane: guessing about money is worse than waiting for the right release.
 */
import type { Entry, Phase } from './entry.ts';

export const ENTRY_PREFIX = 'c:';
export const TRANSACTION_PREFIX = 't:';
export const OWNER_KEY = '!owner';
export const POSITION_KEY = '!position';

const FORMAT_VERSION = 1;

export interface OwnerRecord {
  readonly token: string;
  readonly processId: string;
  readonly atMs: number;
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
   * another. None in records of earlier releases, and where brokers do not know ids.
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

export function decodeEntry(value: Buffer): Entry {
  const plain = decode(value) as unknown as PlainEntry;
  const { phase } = plain;
  const result =
    phase.result === undefined ? {} : { result: { ...phase.result, value: Buffer.from(phase.result.value, 'base64') } };
  return {
    ...plain,
    origin: { ...plain.origin, offset: BigInt(plain.origin.offset) },
    phase: { ...phase, ...result } as Phase,
  };
}

type PlainEntry = Omit<Entry, 'phase' | 'origin'> & {
  origin: Omit<Entry['origin'], 'offset'> & { offset: string };
  phase: { result?: { value: string; headers: Record<string, string> } };
};

export function encodeOwner(owner: OwnerRecord): Buffer {
  return encode(owner);
}

export function decodeOwner(value: Buffer): OwnerRecord {
  return decode(value) as unknown as OwnerRecord;
}

export function encodePosition(position: PositionRecord): Buffer {
  const next = Object.fromEntries(Object.entries(position.next).map(([topic, offset]) => [topic, offset.toString()]));
  return encode({ ...position, next });
}

export function decodePosition(value: Buffer): PositionRecord {
  const plain = decode(value) as unknown as {
    token: string;
    commit: number;
    next: Record<string, string>;
    topicIds?: Record<string, string>;
  };
  const next = Object.fromEntries(Object.entries(plain.next).map(([topic, offset]) => [topic, BigInt(offset)]));
  return { token: plain.token, commit: plain.commit, next, topicIds: plain.topicIds ?? {} };
}

/** For any other record of plain data: numbers within a double, strings, booleans, nulls, objects. */
export function encode(record: object): Buffer {
  return Buffer.from(JSON.stringify({ v: FORMAT_VERSION, ...record }));
}

export function decode(value: Buffer): Record<string, unknown> {
  const { v: version, ...plain } = JSON.parse(value.toString()) as Record<string, unknown>;
  if (version !== FORMAT_VERSION) {
    throw new LedgerFormatError(
      `a ledger record has format version ${String(version)}; this release reads ${FORMAT_VERSION}`,
    );
  }
  return plain;
}
