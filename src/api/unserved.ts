/** Whether the service serves this process, by what checks and changes have shown: since when it does not, and why. */
import type { HoldCause, Unserved } from './types.ts';

export class UnservedWatch {
  readonly #monotonicMs: () => number;
  #unserved: Unserved | null;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    const reason = 'the payment service has not been checked yet';
    this.#unserved = { isFromStart: true, isOfChanges: false, reason, setting: null, sinceMs: monotonicMs() };
  }

  now(): Unserved | null {
    return this.#unserved;
  }

  checkFailed(cause: HoldCause): void {
    // Settings that are known to be wrong stay so while the service cannot be asked.
    if (cause.setting !== null || this.#unserved === null || this.#unserved.setting === null) this.#note(cause, false);
  }

  checkSucceeded(): void {
    if (this.#unserved?.isOfChanges !== true) this.#unserved = null;
  }

  changeRefused(cause: HoldCause): void {
    this.#note(cause, true);
  }

  changeAnswered(): void {
    this.#unserved = null;
  }

  #note({ reason, setting }: HoldCause, isOfChanges: boolean): void {
    const known = this.#unserved;
    const isSame = known !== null && (known.setting === null) === (setting === null);
    const sinceMs = isSame ? known.sinceMs : this.#monotonicMs();
    this.#unserved = { isFromStart: known?.isFromStart ?? false, isOfChanges, reason, setting, sinceMs };
  }
}
