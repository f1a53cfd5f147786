/**
 * Schedules tasks in one queue over one timer: a hundred thousand pending payments need only the earliest one's timer. Tasks
 * run in the order of their instants, ties in the order of scheduling. Each gets the instant at which it was due, so that a
 * late timer does not change any date in the service.
 *
 * Its creator owns it; `stop` drops the remaining tasks.
 */
import type { Clock } from './clock.ts';

interface Task {
  dueMs: number;
  sequence: number;
  run: (dueMs: number) => void;
}

export class Scheduler {
  readonly #clock: Clock;
  /** A binary heap; the earliest task is first. */
  #heap: Task[] = [];
  #sequence = 0;
  #armed: { dueMs: number; cancel: () => void } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** Runs the task at the instant, or as soon after as the clock wakes. */
  at(dueMs: number, run: (dueMs: number) => void): void {
    this.#push({ dueMs, sequence: this.#sequence++, run });
    this.#arm();
  }

  /** Runs all due tasks; called before every request, so that no answer lags behind the clock. */
  runDue(): void {
    const nowMs = this.#clock.nowMs();
    for (let task = this.#heap[0]; task !== undefined && task.dueMs <= nowMs; task = this.#heap[0]) {
      this.#pop();
      task.run(task.dueMs);
    }
    this.#arm();
  }

  stop(): void {
    this.#heap = [];
    this.#armed?.cancel();
    this.#armed = null;
  }

  #arm(): void {
    const next = this.#heap[0];
    if (next === undefined || (this.#armed !== null && this.#armed.dueMs <= next.dueMs)) return;
    this.#armed?.cancel();
    const cancel = this.#clock.wakeAt(next.dueMs, () => {
      this.#armed = null;
      this.runDue();
    });
    this.#armed = { dueMs: next.dueMs, cancel };
  }

  #push(task: Task): void {
    let index = this.#heap.length;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#heap[parentIndex];
      if (parent === undefined || isBefore(parent, task)) break;
      this.#heap[index] = parent;
      index = parentIndex;
    }
    this.#heap[index] = task;
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    let index = 0;
    for (;;) {
      const left = this.#heap[2 * index + 1];
      const right = this.#heap[2 * index + 2];
      const child = right !== undefined && left !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || isBefore(last, child)) break;
      this.#heap[index] = child;
      index = 2 * index + (child === right ? 2 : 1);
    }
    this.#heap[index] = last;
  }
}

function isBefore(left: Task, right: Task): boolean {
  return left.dueMs < right.dueMs || (left.dueMs === right.dueMs && left.sequence < right.sequence);
}
