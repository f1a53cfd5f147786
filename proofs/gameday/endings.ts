/**
 * Ends everything that was started, last first: at the end, after a failure, and on Ctrl-C.
 *
 *   add ... -> endAll (once; a second call finds nothing left)
 */

const EXIT_CODE_INTERRUPTED = 130;

export class Endings {
  readonly #onProgress: (line: string) => void;
  readonly #ends: (() => Promise<unknown>)[] = [];

  /** From now on SIGINT and SIGTERM end everything added, then this process. */
  constructor(onProgress: (line: string) => void) {
    this.#onProgress = onProgress;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        onProgress(`${signal}: ending everything`);
        void this.endAll().then(() => process.exit(EXIT_CODE_INTERRUPTED));
      });
    }
  }

  add(end: () => Promise<unknown>): void {
    this.#ends.push(end);
  }

  async endAll(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) {
      await end().catch((error: unknown) => this.#onProgress(`could not be ended: ${String(error)}`));
    }
  }
}
