/**
 * Recent changes in the group: what members told of themselves, which outlives them here, and when this process saw them come,
 * leave or fall silent. In memory, bounded.
 */
import { EVENTS_AGE_MAX_MS, EVENTS_MAX, type TimelineEvent } from '../timeline.ts';
import type { MemberEvent } from './member-report.ts';

export interface GroupEvent {
  /** The name of the process that it is about. */
  readonly process: string;
  /** By the clock of whoever told it. */
  readonly at: string;
  readonly kind: string;
  readonly text: string;
}

export class GroupTimeline {
  readonly #nowMs: () => number;
  /** By process and number, so that what is told twice is kept once. */
  readonly #told = new Map<string, GroupEvent>();
  #lastSeen = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** What a member told of itself. */
  told(process: string, events: readonly MemberEvent[]): void {
    for (const { at, kind, number, text } of events) this.#keep(`${process} ${number}`, { process, at, kind, text });
  }

  /** What this process saw of a member. */
  saw(process: string, text: string): void {
    this.#lastSeen += 1;
    const at = new Date(this.#nowMs()).toISOString();
    this.#keep(`seen ${this.#lastSeen}`, { process, at, kind: 'member', text });
  }

  /** @param own of this process @returns youngest first */
  events(process: string, own: readonly TimelineEvent[]): GroupEvent[] {
    const fromMs = this.#nowMs() - EVENTS_AGE_MAX_MS;
    const ofOwn = own.map(({ at, kind, text }) => ({ process, at, kind, text }));
    return [...this.#told.values(), ...ofOwn]
      .filter(({ at }) => Date.parse(at) >= fromMs)
      .sort((left, right) => Date.parse(right.at) - Date.parse(left.at))
      .slice(0, EVENTS_MAX);
  }

  #keep(name: string, event: GroupEvent): void {
    this.#told.set(name, event);
    if (this.#told.size <= EVENTS_MAX) return;
    const oldest = [...this.#told].reduce((first, each) => (each[1].at < first[1].at ? each : first));
    this.#told.delete(oldest[0]);
  }
}
