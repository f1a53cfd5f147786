/**
 * Holds of operators: commands of which types may begin no call, since when and until when, and who said why. Pure.
 *
 * An order lies in each partition of its topic, as JSON, so that it needs no registry; the last one on a type counts. What
 * a lane makes of its partition is one record of its ledger.
 */
import { z } from 'zod';
import { COMMAND_TYPES, type CommandType } from '../records/commands.ts';
import { instantMs } from '../records/instants.ts';
import { operationOf } from './settlement.ts';
import type { Entry } from './entry.ts';
import { decode, encode, HOLD_KEY, LedgerFormatError } from './ledger-records.ts';

export interface HoldOrder {
  readonly action: 'HOLD' | 'RELEASE';
  /** None: all. Those that this release does not know are kept. */
  readonly commandTypes: readonly string[];
  readonly operator: string;
  readonly reason: string;
  /** When the hold ends by itself; null: by a RELEASE alone. */
  readonly until: string | null;
  /** By the clock of the operator. */
  readonly at: string;
}

/** One type's. */
export interface Hold {
  /** Of its order, in the lane's partition. */
  readonly offset: string;
  readonly operator: string;
  readonly reason: string;
  readonly until: string | null;
  readonly at: string;
}

export interface HoldsRecord {
  /** Of the last order that was carried out; null: none was. */
  readonly offset: string | null;
  readonly holds: Readonly<Record<string, Hold>>;
}

export const NO_HOLDS: HoldsRecord = { offset: null, holds: {} };

/** Characters of an order's operator and of its reason. */
export const ORDER_TEXT_MAX = 2_000;
const TYPES_MAX = 100;
const text = z.string().min(1).max(ORDER_TEXT_MAX);
const instant = z.string().refine((given) => instantMs(given) !== null, 'is not ISO 8601 with a zone');
const what = { operator: text, reason: text, until: instant.nullable().default(null), at: instant };

/** Fields of a newer release are passed over: what it narrows a hold to is held altogether. */
export const holdOrder: z.ZodType<HoldOrder> = z.object({
  action: z.enum(['HOLD', 'RELEASE']),
  commandTypes: z.array(text).max(TYPES_MAX),
  ...what,
});

const offset = z.string().regex(/^\d{1,19}$/);
const holdsRecord: z.ZodType<HoldsRecord> = z.object({
  offset: offset.nullable(),
  holds: z.record(text, z.object({ offset, ...what })),
});

export function typesOf({ commandTypes }: Pick<HoldOrder, 'commandTypes'>): readonly string[] {
  return commandTypes.length === 0 ? COMMAND_TYPES : commandTypes;
}

export function withOrder({ holds }: HoldsRecord, order: HoldOrder, orderOffset: bigint): HoldsRecord {
  const types = typesOf(order);
  const others = Object.entries(holds).filter(([type]) => !types.includes(type));
  const { action, at, operator, reason, until } = order;
  const hold: Hold = { offset: String(orderOffset), operator, reason, until, at };
  const begun = action === 'HOLD' ? types.map((type): [string, Hold] => [type, hold]) : [];
  return { offset: String(orderOffset), holds: Object.fromEntries([...others, ...begun]) };
}

/** Whether the lane has the order that lies there in force, or a later one in its place. */
export function isCarriedOut({ holds, offset: last }: HoldsRecord, order: HoldOrder, orderOffset: bigint): boolean {
  const isThere = (offset: string | null | undefined): boolean => BigInt(offset ?? -1) >= orderOffset;
  return order.action === 'RELEASE' ? isThere(last) : typesOf(order).every((type) => isThere(holds[type]?.offset));
}

/** Whether it has not ended by itself. */
export function isInForce({ until }: Pick<Hold, 'until'>, nowMs: number): boolean {
  return until === null || nowMs < (instantMs(until) ?? Infinity);
}

/** Whether calls of the entry are held: of its type, of its next operation, and of the execution that a quote leads to. */
export function isHeld(
  { holds }: HoldsRecord,
  entry: Pick<Entry, 'commandType' | 'step' | 'immediate'>,
  nowMs: number,
): boolean {
  const types: CommandType[] = [entry.commandType, operationOf(entry)];
  if (entry.immediate) types.push('execute-quote');
  return types.some((type) => holds[type] !== undefined && isInForce(holds[type], nowMs));
}

export function encodeHolds(record: HoldsRecord): Buffer {
  return encode(record);
}

/** @throws LedgerFormatError for what is no such record */
export function decodeHolds(value: Buffer | undefined): HoldsRecord {
  if (value === undefined) return NO_HOLDS;
  const read = holdsRecord.safeParse(decode(value));
  if (read.success) return read.data;
  throw new LedgerFormatError(`the ledger record ${HOLD_KEY} cannot be read`);
}
