/** Polls Prometheus for its alerts, and records when each fired and cleared. */
import { setTimeout as delay } from 'node:timers/promises';
import { Watch } from '../../test/support/watch.ts';
import type { ActiveAlert, Prometheus } from './prometheus.ts';

/** The report's times are accurate to about this plus the evaluation interval. */
const LOOK_MS = 400;

interface Course {
  state: 'pending' | 'firing' | 'inactive';
  /** performance.now() when it last began to fire. */
  firingMs: number;
}

export class AlertWatch {
  readonly #source: Pick<Prometheus, 'alerts'>;
  readonly #watch = new Watch();
  readonly #courses = new Map<string, Course>();
  readonly #looking: Promise<void>;
  #isClosed = false;

  constructor(source: Pick<Prometheus, 'alerts'>) {
    this.#source = source;
    this.#looking = this.#look();
  }

  /** Names of the alerts that are firing now, or have fired since the instant (performance.now()). */
  firedSince(sinceMs: number): string[] {
    return [...this.#courses]
      .filter(([, { state, firingMs }]) => state === 'firing' || firingMs >= sinceMs)
      .map(([name]) => name)
      .sort();
  }

  /** @returns when (performance.now()) it fired, at or after the instant; null: not within the limit */
  fired(name: string, sinceMs: number, limitMs: number): Promise<number | null> {
    const found = (): number | undefined => {
      const course = this.#courses.get(name);
      return course?.state === 'firing' && course.firingMs >= sinceMs ? course.firingMs : undefined;
    };
    return this.#until(found, limitMs, `${name} to fire`);
  }

  /** @returns when (performance.now()) it was neither pending nor firing; null: not within the limit */
  async cleared(name: string, limitMs: number): Promise<number | null> {
    const found = (): true | undefined =>
      (this.#courses.get(name)?.state ?? 'inactive') === 'inactive' ? true : undefined;
    return (await this.#until(found, limitMs, `${name} to clear`)) === null ? null : performance.now();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#looking;
  }

  async #until<Value>(find: () => Value | undefined, limitMs: number, what: string): Promise<Value | null> {
    await this.#watch
      .until(
        () => find() !== undefined,
        limitMs,
        () => what,
      )
      .catch(() => undefined);
    return find() ?? null;
  }

  async #look(): Promise<void> {
    while (!this.#isClosed) {
      // A busy Prometheus is asked again. If it has ended, the waits run into their limits.
      const alerts = await this.#source.alerts().catch(() => null);
      if (alerts !== null) this.#take(alerts);
      this.#watch.changed();
      await delay(LOOK_MS);
    }
  }

  #take(alerts: readonly ActiveAlert[]): void {
    const nowMs = performance.now();
    const states = new Map<string, 'pending' | 'firing'>();
    for (const { labels, state } of alerts) {
      const name = labels['alertname'] ?? '';
      if (states.get(name) !== 'firing') states.set(name, state);
    }
    for (const name of new Set([...this.#courses.keys(), ...states.keys()])) {
      const state = states.get(name) ?? 'inactive';
      const course = this.#courses.get(name) ?? { state: 'inactive', firingMs: 0 };
      if (course.state !== 'firing' && state === 'firing') course.firingMs = nowMs;
      course.state = state;
      this.#courses.set(name, course);
    }
  }
}
