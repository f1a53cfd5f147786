/**
 * Operators' holds: which command types may begin no call, from when until when, who ordered that and why. Pure.
 *
 * An order goes to every partition of its topic, as JSON, so that it needs no registry. The last order on a type
 * counts. Each lane keeps the holds of its partition in one record of its ledger.
 */
import { z } from 'zod';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { instantMs } from 'payment-processor-contract/instants';
import { operationOf } from './settlement.ts';
import type { Entry } from './entry.ts';
import { InternalRecord } from './ledger-value.ts';

export interface HoldOrder {
  readonly action: 'HOLD' | 'RELEASE';
  /** Empty: all types. A HOLD may name only types that this version knows: invented ones could fill a ledger. */
  readonly commandTypes: readonly string[];
  readonly operator: string;
  readonly reason: string;
  /** When the hold ends by itself; null: only a RELEASE ends it. */
  readonly until: string | null;
  /** By the operator's clock. */
  readonly at: string;
}

/** The hold of one command type. */
export interface Hold {
  /** Offset of its order in the lane's partition. */
  readonly offset: string;
  readonly operator: string;
  readonly reason: string;
  readonly until: string | null;
  readonly at: string;
}

export interface HoldsRecord {
  /** Offset of the last order that was carried out; null: there was none. */
  readonly offset: string | null;
  readonly holds: Readonly<Record<string, Hold>>;
}

export const NO_HOLDS: HoldsRecord = { offset: null, holds: {} };

/** Longest operator and reason of an order, in characters. */
export const ORDER_TEXT_MAX = 2_000;
const TYPES_MAX = 100;
const text = z.string().min(1).max(ORDER_TEXT_MAX);
const instant = z.string().refine((given) => instantMs(given) !== null, 'is not ISO 8601 with a zone');
const common = { operator: text, reason: text, until: instant.nullable().default(null), at: instant };

/** Ignores fields of newer versions. If such a field narrows a hold, we hold more than was meant, which is safe. */
export const holdOrder: z.ZodType<HoldOrder> = z.discriminatedUnion('action', [
  z.object({ action: z.literal('HOLD'), commandTypes: z.array(z.enum(COMMAND_TYPES)).max(TYPES_MAX), ...common }),
  z.object({ action: z.literal('RELEASE'), commandTypes: z.array(text).max(TYPES_MAX), ...common }),
]);

export const holdRecords = new InternalRecord<HoldsRecord>('LaneHolds');

export function typesOf({ commandTypes }: Pick<HoldOrder, 'commandTypes'>): readonly string[] {
  return commandTypes.length === 0 ? COMMAND_TYPES : commandTypes;
}

/** An order on all types also covers recorded types that only another version knows. */
export function covers({ commandTypes }: HoldOrder, type: string): boolean {
  return commandTypes.length === 0 || commandTypes.includes(type);
}

export function withOrder({ holds }: HoldsRecord, order: HoldOrder, orderOffset: bigint): HoldsRecord {
  const types = typesOf(order);
  const others = Object.entries(holds).filter(([type]) => !covers(order, type));
  const { action, at, operator, reason, until } = order;
  const hold: Hold = { offset: String(orderOffset), operator, reason, until, at };
  const added = action === 'HOLD' ? types.map((type): [string, Hold] => [type, hold]) : [];
  return { offset: String(orderOffset), holds: Object.fromEntries([...others, ...added]) };
}

/** Whether the lane has carried out the order at this offset, or a later one with at least the same effect. */
export function isCarriedOut({ holds, offset: last }: HoldsRecord, order: HoldOrder, orderOffset: bigint): boolean {
  const isReached = (offset: string | null | undefined): boolean => BigInt(offset ?? -1) >= orderOffset;
  return order.action === 'RELEASE'
    ? isReached(last) && !Object.keys(holds).some((type) => covers(order, type))
    : typesOf(order).every((type) => isReached(holds[type]?.offset) && endMs(holds[type]) >= endMs(order));
}

/** Infinity if the hold has no end. */
export function endMs(hold: Pick<Hold, 'until'> | undefined): number {
  return instantMs(hold?.until ?? '') ?? Infinity;
}

/** Whether the hold has not expired. */
export function isInForce({ until }: Pick<Hold, 'until'>, nowMs: number): boolean {
  return nowMs < endMs({ until });
}

/** A hold on any of these types holds the entry: its own, its next operation's, and execute-quote if that follows. */
export function heldBy({ immediate, ...entry }: Pick<Entry, 'commandType' | 'step' | 'immediate'>): CommandType[] {
  return [entry.commandType, operationOf(entry), ...(immediate ? (['execute-quote'] as const) : [])];
}

export function isHeld({ holds }: HoldsRecord, entry: Parameters<typeof heldBy>[0], nowMs: number): boolean {
  return heldBy(entry).some((type) => holds[type] !== undefined && isInForce(holds[type], nowMs));
}

/** @throws LedgerFormatError for any other record */
export function decodeHolds(value: Buffer | undefined): HoldsRecord {
  return value === undefined ? NO_HOLDS : holdRecords.decode(value);
}
