/** A call with the stages of the real client: never-sent if it was not written, lost if it got no answer. */
import type { CallHooks } from '../../src/api/client.ts';
import type { Answer } from '../../src/api/types.ts';

export class PendingCall {
  isSettled = false;
  readonly #hooks: CallHooks;
  readonly #onSettled: (answer: Answer) => void;
  readonly #deadline: NodeJS.Timeout;
  #isSent = false;

  constructor(timeoutMs: number, hooks: CallHooks, onSettled: (answer: Answer) => void) {
    this.#hooks = hooks;
    this.#onSettled = onSettled;
    const reason = `no complete answer within ${timeoutMs} ms`;
    this.#deadline = setTimeout(() => this.settle({ kind: this.#isSent ? 'lost' : 'never-sent', reason }), timeoutMs);
  }

  settle(answer: Answer): void {
    if (this.isSettled) return;
    this.isSettled = true;
    clearTimeout(this.#deadline);
    this.#onSettled(answer);
  }

  /** Called once it is connected. @returns whether its processor still wants to send it */
  mayBeSent(): boolean {
    if (this.isSettled) return false;
    const reason = this.#hooks.beforeSending?.() ?? null;
    if (reason !== null) this.settle({ kind: 'never-sent', reason });
    return reason === null;
  }

  sent(): void {
    this.#isSent = true;
    this.#hooks.onSent?.();
  }
}
