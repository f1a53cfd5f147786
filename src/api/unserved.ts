/** Since when and why the service does not serve this process, according to checks and to answers to POSTs. */
import type { HoldCause, Unserved } from './types.ts';

export class UnservedWatch {
  readonly #monotonicMs: () => number;
  #unserved: Unserved | null;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    const reason = 'the payment service has not been checked yet';
    this.#unserved = { isFromStart: true, isChangeRefused: false, reason, setting: null, sinceMs: monotonicMs() };
  }

  now(): Unserved | null {
    return this.#unserved;
  }

  checkFailed(cause: HoldCause): void {
    // While the service is unreachable, a setting known to be wrong stays the reason.
    if (cause.setting !== null || this.#unserved === null || this.#unserved.setting === null) this.#note(cause, false);
  }

  checkSucceeded(): void {
    // Once the service refused this process's POST, a check proves nothing: only the answer to another POST does.
    if (this.#unserved?.isChangeRefused !== true) this.#unserved = null;
  }

  changeRefused(cause: HoldCause): void {
    this.#note(cause, true);
  }

  changeAnswered(): void {
    this.#unserved = null;
  }

  #note({ reason, setting }: HoldCause, isChangeRefused: boolean): void {
    const before = this.#unserved;
    const isSame = before !== null && (before.setting === null) === (setting === null);
    const sinceMs = isSame ? before.sinceMs : this.#monotonicMs();
    this.#unserved = { isFromStart: before?.isFromStart ?? false, isChangeRefused, reason, setting, sinceMs };
  }
}
