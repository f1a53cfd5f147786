/** How the plain contestants call the service: within the slots, with the command's key. */
import { Pool } from 'undici';

const CALL_TIMEOUT_MS = 10_000;

export class Calls {
  readonly #path: string;
  readonly #service: Pool;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(baseUrl: string, slots: number) {
    const base = new URL(baseUrl);
    this.#path = `${base.pathname.replace(/\/$/, '')}/transfer-in`;
    this.#service = new Pool(base.origin, { connections: slots });
    this.#free = slots;
  }

  /** @returns the answer, whatever it says */
  async transferIn(key: string, body: Buffer | null): Promise<{ statusCode: number; body: string }> {
    while (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#free -= 1;
    try {
      const answer = await this.#service.request({
        path: this.#path,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body,
        bodyTimeout: CALL_TIMEOUT_MS,
        headersTimeout: CALL_TIMEOUT_MS,
      });
      return { statusCode: answer.statusCode, body: await answer.body.text() };
    } finally {
      this.#free += 1;
      this.#waiting.shift()?.();
    }
  }
}
