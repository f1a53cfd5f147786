/**
 * Recent changes in the group: events that members reported, which stay here after they leave, and joins, departures and
 * silences that this process saw. In memory, bounded.
 */
import { EVENTS_AGE_MAX_MS, EVENTS_MAX, type TimelineEvent } from '../timeline.ts';
import type { MemberEvent } from './member-report.ts';

export interface GroupEvent {
  /** The name of the process concerned. */
  readonly process: string;
  /** By the reporting process's clock. */
  readonly at: string;
  readonly kind: string;
  readonly text: string;
}

export class GroupTimeline {
  readonly #nowMs: () => number;
  /** By process and number: an event may be reported twice. */
  readonly #kept = new Map<string, GroupEvent>();
  #lastSeen = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Adds events that a member reported about itself. */
  reported(process: string, events: readonly MemberEvent[]): void {
    for (const { at, kind, number, text } of events) this.#keep(`${process} ${number}`, { process, at, kind, text });
  }

  /** Adds a change that this process saw in a member. */
  saw(process: string, text: string): void {
    this.#lastSeen += 1;
    const at = new Date(this.#nowMs()).toISOString();
    this.#keep(`seen ${this.#lastSeen}`, { process, at, kind: 'member', text });
  }

  /** @param own events of this process @returns newest first */
  events(process: string, own: readonly TimelineEvent[]): GroupEvent[] {
    const fromMs = this.#nowMs() - EVENTS_AGE_MAX_MS;
    const ofOwn = own.map(({ at, kind, text }) => ({ process, at, kind, text }));
    return [...this.#kept.values(), ...ofOwn]
      .filter(({ at }) => Date.parse(at) >= fromMs)
      .sort((left, right) => Date.parse(right.at) - Date.parse(left.at))
      .slice(0, EVENTS_MAX);
  }

  #keep(name: string, event: GroupEvent): void {
    this.#kept.set(name, event);
    if (this.#kept.size <= EVENTS_MAX) return;
    const oldest = [...this.#kept].reduce((first, each) => (each[1].at < first[1].at ? each : first));
    this.#kept.delete(oldest[0]);
  }
}
