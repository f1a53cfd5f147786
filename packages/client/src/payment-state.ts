/**
 * What results and status events let one say of a payment, by its command's key. Pure: events may come in any order, and
 * more than once. The highest revision of the key's last command counts, and of each transaction the last status in its partition.
 */
import { FINGERPRINT_HEADER } from 'payment-processor-contract/cloud-events';
import { isFinalStatus, type FinalStatus } from 'payment-processor-contract/statuses';
import type { CommandResult as ResultRecord, TransactionStatusChanged } from 'payment-processor-contract/types';
import type { CommandResult, PaymentEvent } from './events.ts';

export type PaymentState<Result extends ResultRecord = CommandResult> =
  /** Where a payment usually stays; COMPLETED may still become REFUNDED, FAILED or REJECTED. */
  | {
      kind: 'settled';
      status: FinalStatus;
      transactionId: string;
      failureReason: string | null;
      result: Result;
    }
  /** Accepted, and under way. Null: no status, or no transaction, is known. */
  | { kind: 'open'; status: string | null; transactionId: string | null; result: Result }
  /** REFUSED, INVALID, EXPIRED or FAILED. */
  | { kind: 'not-accepted'; result: Result }
  /** UNKNOWN: it may have been paid. An operator decides, and a later revision says what. */
  | { kind: 'unknown'; result: Result }
  /** No result, or one that cannot be read. */
  | { kind: 'nothing-known' };

type UnsettledState<Result extends ResultRecord> = Extract<
  PaymentState<Result>,
  { kind: 'open' | 'unknown' | 'nothing-known' }
>;

/** Of what was not read to its end: a later revision or status may contradict. */
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

/** Clocks of the processor, of the brokers and of the caller may differ by this. */
export const CLOCKS_APART_MS = 600_000;

const NOT_ACCEPTED = ['REFUSED', 'INVALID', 'EXPIRED', 'FAILED'];

/**
 * @param result the one of the key that counts
 * @param changes by transaction the last change of those that the command may be about; null: it cannot be read
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
  // Without an event the answer itself is what was seen last.
  const change = changes.get(transactionId);
  const { failureReason = null, status = null } = (change === undefined ? result.transaction : change) ?? {};
  if (!isFinalStatus(status)) return { kind: 'open', status, transactionId, result };
  return { kind: 'settled', status, transactionId, failureReason, result };
}

/** Of a result that names none the one that its command may be about. What was seen before it is of an earlier command of the key. */
function onlyTransaction(
  { commandTimestamp }: ResultRecord,
  changes: ReadonlyMap<string, TransactionStatusChanged | null>,
): string | null {
  const sinceMs = Number(commandTimestamp) - CLOCKS_APART_MS;
  const [only, ...others] = [...changes].filter(
    ([, change]) => change === null || Number(change.observedAt) >= sinceMs,
  );
  return only === undefined || others.length > 0 ? null : only[0];
}

/** A result of a key as its lane has it. Without a value it cannot be read, and may say anything. */
export interface FoundResult {
  readonly offset: bigint;
  readonly value: ResultRecord | null;
}

/**
 * Of two results of a key the one that counts: the highest revision of its last command, for a key that was forgotten may
 * name a new one. A CONFLICT is about a message, and says nothing of its key.
 */
export function countingResult<Found extends FoundResult>(one: Found | null, other: Found): Found | null {
  if (other.value?.outcome === 'CONFLICT') return one;
  if (one === null) return other;
  return orderOf(one, other) < 0n ? other : one;
}

function orderOf(one: FoundResult, other: FoundResult): bigint {
  const places = one.offset - other.offset;
  if (one.value === null || other.value === null) return places;
  const [left, right] = [one.value.source, other.value.source];
  const isSame = left.topic === right.topic && left.partition === right.partition && left.offset === right.offset;
  const values = isSame ? one.value.revision - other.value.revision : one.value.completedAt - other.value.completedAt;
  return values === 0 || values === 0n ? places : BigInt(values);
}

/** The transaction that counts, of several that may name the key. */
export function transactionOf({ quote, transaction }: Pick<ResultRecord, 'quote' | 'transaction'>): string | null {
  return transaction?.id ?? quote?.transactionId ?? null;
}

type FoundEvent =
  Extract<PaymentEvent, { kind: 'result' }> | (Extract<PaymentEvent, { kind: 'unreadable' }> & { value: null });

/**
 * Events of one key, each at its first place: a mirror may copy one again after those that followed it, and may have been
 * unable to read it at first.
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
    // A CONFLICT never counts, and there may be one for each message.
    else if (event.kind === 'result' && event.value.outcome !== 'CONFLICT') this.#found.take(event);
  }

  /** The one that counts. */
  get counting(): FoundEvent | null {
    return this.#found.all().reduce<FoundEvent | null>(countingResult, null);
  }
}

export function problemOf(event: Extract<PaymentEvent, { kind: 'unreadable' }>): string {
  return `${event.topic}/${event.partition}/${event.offset}: ${event.problem}`;
}

/** What was read of one key so far. */
export class KnownPayment {
  readonly #key: string;
  /** Null: of whatever fields the key's command has. */
  readonly #fingerprint: string | null;
  readonly #results = new KeyResults();
  /** By transaction. */
  readonly #changes = new Map<string, FirstPlaces<PaymentEvent>>();

  constructor(key: string, fingerprint: string | null) {
    this.#key = key;
    this.#fingerprint = fingerprint;
  }

  /** Null, too, where it cannot be read. */
  get result(): CommandResult | null {
    return this.#results.counting?.value ?? null;
  }

  /** Of the result or of the status that counts: why it cannot be read. */
  get problem(): string | null {
    const change = this.#lastChanges().get(this.result === null ? '' : (transactionOf(this.result) ?? ''));
    for (const event of [this.#results.counting, change]) if (event?.kind === 'unreadable') return problemOf(event);
    return null;
  }

  takeResult(event: PaymentEvent): void {
    if (event.key !== this.#key) return;
    // Releases before the header wrote none.
    const carried = event.headers[FINGERPRINT_HEADER] ?? null;
    if (this.#fingerprint !== null && carried !== null && carried !== this.#fingerprint) return;
    // Its fields, and so its fingerprint, are not known.
    const isOfUnread = event.kind === 'result' && event.value.error?.code === 'UNREADABLE_COMMAND';
    if (this.#fingerprint !== null && isOfUnread) return;
    this.#results.take(event);
  }

  takeChange(event: PaymentEvent): void {
    const isNamed = event.kind === 'transaction-status' && event.value.commandKeys.includes(this.#key);
    const isOfResult = this.result !== null && transactionOf(this.result) === event.key;
    // What follows on a change that named it: it may name the key no more, or not be readable.
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
