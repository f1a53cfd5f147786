/**
 * Derives a payment's state from results and status events, by its command's key. Pure. Events may come in any order, and more
 * than once. What counts is the highest revision of the key's last command, and each transaction's last status in its
 * partition.
 */
import { FINGERPRINT_HEADER } from 'payment-processor-contract/cloud-events';
import { isFinalStatus, type FinalStatus } from 'payment-processor-contract/statuses';
import type {
  CommandResult as ResultRecord,
  Transaction,
  TransactionStatusChanged,
} from 'payment-processor-contract/types';
import type { CommandResult, PaymentEvent } from './events.ts';

export type PaymentState<Result extends ResultRecord = CommandResult> =
  /** Usual last statuses; COMPLETED may still become REFUNDED, FAILED or REJECTED. */
  | {
      kind: 'settled';
      status: FinalStatus;
      transactionId: string;
      failureReason: string | null;
      result: Result;
    }
  /** Accepted and in progress. Null: no known status or transaction. */
  | { kind: 'open'; status: string | null; transactionId: string | null; result: Result }
  /** REFUSED, INVALID, EXPIRED or FAILED. */
  | { kind: 'not-accepted'; result: Result }
  /** UNKNOWN: it may have been paid. An operator decides, and a later revision has the decision. */
  | { kind: 'unknown'; result: Result }
  /** No result, or an unreadable one. */
  | { kind: 'nothing-known' };

type UnsettledState<Result extends ResultRecord> = Extract<
  PaymentState<Result>,
  { kind: 'open' | 'unknown' | 'nothing-known' }
>;

/** The state if reading did not reach the end: a later revision or status may contradict it. */
export function withoutEnd<Result extends ResultRecord>(state: PaymentState<Result>): UnsettledState<Result> {
  switch (state.kind) {
    case 'settled':
      return { kind: 'open', status: state.status, transactionId: state.transactionId, result: state.result };
    case 'not-accepted':
      return { kind: 'nothing-known' };
    default:
      return state;
  }
}

/** How far the clocks of processor, brokers and caller may differ. */
export const CLOCK_SKEW_MS_MAX = 600_000;

const NOT_ACCEPTED = ['REFUSED', 'INVALID', 'EXPIRED', 'FAILED'];
/** Error codes of commands that may have been answered unread. */
const UNREAD_CODES = ['UNREADABLE_COMMAND', 'SET_ASIDE'];

/**
 * @param result the key's result that counts
 * @param changes the last change of each transaction that the command may concern; null: unreadable
 */
export function paymentState<Result extends ResultRecord>(
  result: Result | null,
  changes: ReadonlyMap<string, TransactionStatusChanged | null>,
): PaymentState<Result> {
  if (result === null) return { kind: 'nothing-known' };
  if (NOT_ACCEPTED.includes(result.outcome)) return { kind: 'not-accepted', result };
  if (result.outcome !== 'ACCEPTED') return { kind: 'unknown', result };
  const transactionId = transactionOf(result) ?? onlyTransaction(result, changes);
  if (transactionId === null) return { kind: 'open', status: null, transactionId, result };
  // Without an event, the answer itself is the latest observation.
  const change = changes.get(transactionId);
  const { failureReason = null, status = null } = (change === undefined ? result.transaction : change) ?? {};
  // An operator said that it was paid: an expired transaction is not the one, or not the last word.
  const isContradicted = isUnpaid({ failureReason, status }) && result.settledBy === 'OPERATOR';
  if (!isFinalStatus(status) || isContradicted) return { kind: 'open', status, transactionId, result };
  return { kind: 'settled', status, transactionId, failureReason, result };
}

/**
 * If the result names no transaction: the one that its command may concern. Earlier observations belong to an earlier command
 * of the key. An expired one was not paid, though the result says that something was: it is that of a replaced quote.
 */
function onlyTransaction(
  { commandTimestamp }: ResultRecord,
  changes: ReadonlyMap<string, TransactionStatusChanged | null>,
): string | null {
  const sinceMs = Number(commandTimestamp) - CLOCK_SKEW_MS_MAX;
  const [only, ...others] = [...changes].filter(
    ([, change]) => change === null || (Number(change.observedAt) >= sinceMs && !isUnpaid(change)),
  );
  return only === undefined || others.length > 0 ? null : only[0];
}

/** Its quote was never executed. */
function isUnpaid({ failureReason, status }: Pick<Transaction, 'failureReason' | 'status'>): boolean {
  return status === 'EXPIRED' || failureReason === 'QUOTE_EXPIRED';
}

/** A key's result in its lane. Without a value it is unreadable, and may be any result. */
export interface FoundResult {
  readonly offset: bigint;
  readonly value: ResultRecord | null;
}

/**
 * Chooses between two results of a key: the highest revision of the last command counts, because a forgotten key may name a
 * new command. A CONFLICT concerns one message, not the key.
 */
export function latestResult<Found extends FoundResult>(one: Found | null, other: Found): Found | null {
  if (other.value?.outcome === 'CONFLICT') return one;
  if (one === null) return other;
  return orderOf(one, other) < 0n ? other : one;
}

function orderOf(one: FoundResult, other: FoundResult): bigint {
  const byOffset = one.offset - other.offset;
  if (one.value === null || other.value === null) return byOffset;
  const byValue = isOfSameCommand(one.value, other.value)
    ? one.value.revision - other.value.revision
    : one.value.completedAt - other.value.completedAt;
  return byValue === 0 || byValue === 0n ? byOffset : BigInt(byValue);
}

/** Revisions of one result. */
export function isOfSameCommand(one: ResultRecord, other: ResultRecord): boolean {
  const [left, right] = [one.source, other.source];
  return left.topic === right.topic && left.partition === right.partition && left.offset === right.offset;
}

/** The command's transaction, as its result names it. */
export function transactionOf({ quote, transaction }: Pick<ResultRecord, 'quote' | 'transaction'>): string | null {
  return transaction?.id ?? quote?.transactionId ?? null;
}

type FoundEvent =
  Extract<PaymentEvent, { kind: 'result' }> | (Extract<PaymentEvent, { kind: 'unreadable' }> & { value: null });

/**
 * Events of one key, each at its first place. A mirror may copy an event again after later ones, and may have failed to read
 * it at first.
 */
export class FirstPlaces<Event extends Pick<PaymentEvent, 'uniqueId' | 'offset'>> {
  readonly #events = new Map<string, Event>();

  take(event: Event): void {
    const name = event.uniqueId ?? String(event.offset);
    const known = this.#events.get(name) ?? event;
    const offset = event.offset < known.offset ? event.offset : known.offset;
    this.#events.set(name, { ...(isReadable(known) ? known : event), offset });
  }

  all(): Event[] {
    return [...this.#events.values()];
  }
}

function isReadable(event: object): boolean {
  return 'value' in event && event.value !== null;
}

/** The results of one key, in any order. */
export class KeyResults {
  readonly #found = new FirstPlaces<FoundEvent>();

  take(event: PaymentEvent): void {
    if (event.kind === 'unreadable') this.#found.take({ ...event, value: null });
    // CONFLICTs never count, and there may be one per message.
    else if (event.kind === 'result' && event.value.outcome !== 'CONFLICT') this.#found.take(event);
  }

  /** The result that counts. */
  get latest(): FoundEvent | null {
    return this.#found.all().reduce<FoundEvent | null>(latestResult, null);
  }
}

export function problemOf(event: Extract<PaymentEvent, { kind: 'unreadable' }>): string {
  return `${event.topic}/${event.partition}/${event.offset}: ${event.problem}`;
}

/** The events read so far of one key. */
export class KnownPayment {
  readonly #key: string;
  /** Null: any fields. */
  readonly #fingerprint: string | null;
  readonly #results = new KeyResults();
  /** By transaction. */
  readonly #changes = new Map<string, FirstPlaces<PaymentEvent>>();

  constructor(key: string, fingerprint: string | null) {
    this.#key = key;
    this.#fingerprint = fingerprint;
  }

  /** Null also if it is unreadable. */
  get result(): CommandResult | null {
    return this.#results.latest?.value ?? null;
  }

  /** The event with the result that counts. */
  get latestResult(): PaymentEvent | null {
    return this.#results.latest;
  }

  lastChange(transactionId: string | null): PaymentEvent | null {
    return (transactionId === null ? null : this.#lastChanges().get(transactionId)) ?? null;
  }

  /** Why the result or status that counts is unreadable. */
  get problem(): string | null {
    const change = this.lastChange(this.result === null ? null : transactionOf(this.result));
    for (const event of [this.latestResult, change]) if (event?.kind === 'unreadable') return problemOf(event);
    return null;
  }

  takeResult(event: PaymentEvent): void {
    if (event.key !== this.#key) return;
    // Older releases did not write this header.
    const answered = event.headers[FINGERPRINT_HEADER] ?? null;
    if (this.#fingerprint !== null && answered !== null && answered !== this.#fingerprint) return;
    // The fields of a command that nobody could read are unknown, so the result may not be ours.
    const isOfUnread = event.kind === 'result' && UNREAD_CODES.includes(event.value.error?.code ?? '');
    if (this.#fingerprint !== null && answered === null && isOfUnread) return;
    this.#results.take(event);
  }

  takeChange(event: PaymentEvent): void {
    const isNamed = event.kind === 'transaction-status' && event.value.commandKeys.includes(this.#key);
    const isOfResult = this.result !== null && transactionOf(this.result) === event.key;
    // Later changes of a transaction that once named the key: they may no longer name it, or be unreadable.
    if (!isNamed && !isOfResult && !this.#changes.has(event.key)) return;
    const known = this.#changes.get(event.key) ?? new FirstPlaces();
    known.take(event);
    this.#changes.set(event.key, known);
  }

  hasChange(transactionId: string | null): boolean {
    return transactionId === null ? this.#changes.size > 0 : this.#changes.has(transactionId);
  }

  state(): PaymentState {
    const changes = [...this.#lastChanges()].map(
      ([id, event]) => [id, event.kind === 'transaction-status' ? event.value : null] as const,
    );
    return paymentState(this.result, new Map(changes));
  }

  #lastChanges(): Map<string, PaymentEvent> {
    const last = (events: readonly PaymentEvent[]): PaymentEvent =>
      events.reduce((one, other) => (other.offset > one.offset ? other : one));
    return new Map([...this.#changes].map(([id, events]) => [id, last(events.all())]));
  }
}
