/**
 * Which leader epochs a lane has read, by input topic. Each leader of a partition has an epoch, and each record carries
 * the epoch of the leader that wrote it. A topic may lose records: a new leader did not have them, or somebody restored
 * an older copy. New records then get the same offsets with another epoch, which shows even after the topic has grown
 * again.
 *
 *   read    an epoch is read further, or another one follows it
 *   held    the broker still has all that was read of the first epoch: its successor becomes the first
 */
import type { EpochSpan } from '../../ledger/ledger-records.ts';

/** What kafkajs reports for a record without a leader epoch. */
const NO_EPOCH = -1;

export class EpochTrails {
  /** By topic, in the order in which they were read. */
  #spans = new Map<string, readonly EpochSpan[]>();

  open(recorded: Readonly<Record<string, readonly EpochSpan[]>>): void {
    this.#spans = new Map(Object.entries(recorded));
  }

  /** @param epoch of the last record before `end` */
  read(topic: string, epoch: number, end: bigint): void {
    if (epoch === NO_EPOCH) return;
    const spans = this.#spans.get(topic) ?? [];
    const before = spans.at(-1)?.epoch === epoch ? spans.slice(0, -1) : spans;
    this.#spans.set(topic, [...before, { epoch, end }]);
  }

  /** The epoch to ask the broker about; undefined: nothing with an epoch was read. */
  first(topic: string): EpochSpan | undefined {
    return this.#spans.get(topic)?.[0];
  }

  /** @param held `first` as it was when the broker was asked */
  held(topic: string, held: EpochSpan): void {
    const [first, ...others] = this.#spans.get(topic) ?? [];
    if (others.length > 0 && first?.epoch === held.epoch && first.end === held.end) this.#spans.set(topic, others);
  }

  /** For the ledger, whose positions may be behind what was read. */
  upTo(positions: ReadonlyMap<string, bigint>): Record<string, EpochSpan[]> {
    return Object.fromEntries(
      [...this.#spans].map(([topic, spans]) => [topic, spansUpTo(spans, positions.get(topic) ?? 0n)]),
    );
  }
}

function spansUpTo(spans: readonly EpochSpan[], position: bigint): EpochSpan[] {
  const last = spans.findIndex(({ end }) => end >= position);
  if (last < 0) return [...spans];
  // All spans after `last` begin at the position or later.
  return spans.slice(0, last + 1).map(({ epoch, end }) => ({ epoch, end: end < position ? end : position }));
}
