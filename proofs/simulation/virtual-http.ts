/**
 * HTTP in virtual time: after a delay, a client's request reaches a node:http listener as if from a server, and the answer
 * goes back. So the real sandbox answers, with its faults and control endpoints.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { CallHooks, HttpClient, HttpClientOptions, HttpRequest } from '../../src/api/client.ts';
import type { Answer } from '../../src/api/types.ts';
import type { Draws } from './draws.ts';
import { PendingCall } from './pending-call.ts';
import type { Owner, VirtualTime } from './virtual-time.ts';

const WAY_MS_MAX = 2;

export interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export class VirtualHttp {
  readonly #time: VirtualTime;
  readonly #draws: Draws;
  readonly #listeners = new Map<string, RequestListener>();

  constructor(time: VirtualTime, draws: Draws) {
    this.#time = time;
    this.#draws = draws;
  }

  /** @returns the origin at which the listener answers from now on */
  serve(listener: RequestListener): string {
    const origin = `http://virtual-${this.#listeners.size + 1}`;
    this.#listeners.set(origin, listener);
    return origin;
  }

  /** An exchange without delay, for requests of the test itself. */
  exchange({ body, headers, method, url }: Exchange): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const { origin, pathname, search } = new URL(url);
      this.#ask(origin, { method, path: pathname + search, headers, body: body ?? null }, (answer) => {
        if (answer.kind === 'response') resolve({ status: answer.httpStatus, text: answer.body });
        else reject(new Error(`${method} ${url}: ${answer.reason}`));
      });
    });
  }

  client(owner: Owner, { baseUrl, credentials }: HttpClientOptions): HttpClient {
    const { origin, pathname } = new URL(baseUrl);
    const authorized = (request: HttpRequest): HttpRequest => {
      const { clientSecret, tokenId } = credentials();
      const authorization = `Basic ${Buffer.from(`${tokenId}:${clientSecret}`).toString('base64')}`;
      const headers = { 'content-type': 'application/json', authorization, ...request.headers };
      return { ...request, path: pathname + request.path, headers };
    };
    return {
      call: (request, timeoutMs, hooks = {}) => this.#call(owner, origin, authorized(request), timeoutMs, hooks),
      close: async () => undefined,
    };
  }

  #call(owner: Owner, origin: string, request: HttpRequest, timeoutMs: number, hooks: CallHooks): Promise<Answer> {
    return new Promise((resolve) => {
      const call = new PendingCall(timeoutMs, hooks, resolve);
      this.#time.after(this.#wayMs(), owner, () => {
        if (!call.mayBeSent()) return;
        call.sent();
        this.#time.after(this.#wayMs(), null, () => {
          this.#ask(origin, request, (answer) => {
            this.#time.after(this.#wayMs(), owner, () => call.settle(bounded(answer, request.maxBodyBytes)));
          });
        });
      });
    });
  }

  #ask(
    origin: string,
    { body, headers, method, path }: Omit<HttpRequest, 'method' | 'maxBodyBytes'> & { method: string },
    settle: (answer: Answer) => void,
  ): void {
    const listener = this.#listeners.get(origin);
    if (listener === undefined) {
      settle({ kind: 'lost', reason: 'ECONNREFUSED' });
      return;
    }
    const request = Object.assign(Readable.from(body === null ? [] : [Buffer.from(body)]), {
      method,
      headers,
      url: path,
    });
    const response = new VirtualResponse(settle);
    listener(request as unknown as IncomingMessage, response as unknown as ServerResponse);
  }

  #wayMs(): number {
    return this.#draws.between(0.1, WAY_MS_MAX);
  }
}

/** As much of a ServerResponse as the sandbox and tests use. */
class VirtualResponse {
  headersSent = false;
  readonly socket = { destroy: () => this.#cut() };
  readonly #settle: (answer: Answer) => void;
  #head = { httpStatus: 200, retryAfter: null as string | null, location: null as string | null };
  readonly #chunks: Buffer[] = [];

  constructor(settle: (answer: Answer) => void) {
    this.#settle = settle;
  }

  writeHead(httpStatus: number, headers: Readonly<Record<string, string>> = {}): this {
    this.headersSent = true;
    this.#head = { httpStatus, retryAfter: headers['retry-after'] ?? null, location: headers['location'] ?? null };
    return this;
  }

  write(bytes: Buffer | string, whenWritten: () => void): void {
    this.#chunks.push(Buffer.from(bytes));
    queueMicrotask(whenWritten);
  }

  end(bytes: Buffer | string = ''): void {
    this.#chunks.push(Buffer.from(bytes));
    this.#settle({ kind: 'response', ...this.#head, body: Buffer.concat(this.#chunks).toString(), cut: false });
  }

  #cut(): void {
    if (!this.headersSent) this.#settle({ kind: 'lost', reason: 'ECONNRESET' });
    else this.#settle({ kind: 'response', ...this.#head, body: Buffer.concat(this.#chunks).toString(), cut: true });
  }
}

function bounded(answer: Answer, bytesMax: number): Answer {
  if (answer.kind !== 'response' || Buffer.byteLength(answer.body) <= bytesMax) return answer;
  return { ...answer, body: Buffer.from(answer.body).subarray(0, bytesMax).toString(), cut: true, isTooLong: true };
}
