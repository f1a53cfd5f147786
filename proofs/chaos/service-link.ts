/**
 * The wire between the processors and the payment service: it can be cut or stopped, and it sees which calls went
 * unanswered. What a client cannot know about its own call, this side knows.
 *
 *   up -> (cut) down: connections are broken, new ones refused -> (restore) up -> (halt) halted: nothing passes ->
 *   (resume) up -> (close) down for good
 *
 * HTTP/1.1 without pipelining, as the processor's client speaks it: on each connection one call after the other.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { LOOPBACK } from 'payment-processor-local-kafka/ports';

/** An answer that took this share of the client's deadline may have come too late for the client. */
const LATE_SHARE = 0.7;
const HEAD_END = '\r\n\r\n';

interface Call {
  /** Null: a call that changes nothing. */
  key: string | null;
  beganMs: number;
  answer: Buffer;
}

interface Pair {
  upstream: Socket;
  call: Call | null;
  /** What the client sent while the link was halted. */
  held: Buffer[];
}

/** Around a cut, a client may have sent a call whose key never arrived here. */
const CUT_BLINDNESS_MS = 1_000;

export class ServiceLink {
  /** Keys with a call whose answer did not arrive whole, was a 5xx or 408, or came late: its effect was in doubt. */
  readonly unclearKeys = new Set<string>();
  /** Calls that went unanswered in that sense, all keys. */
  unclearCalls = 0;
  readonly #targetPort: number;
  readonly #lateMs: number;
  readonly #pairs = new Map<Socket, Pair>();
  readonly #cutsMs: number[] = [];
  #server: Server | null = null;
  #port = 0;
  #isHalted = false;

  private constructor(targetPort: number, clientTimeoutMs: number) {
    this.#targetPort = targetPort;
    this.#lateMs = clientTimeoutMs * LATE_SHARE;
  }

  static async open(targetPort: number, clientTimeoutMs: number): Promise<ServiceLink> {
    const link = new ServiceLink(targetPort, clientTimeoutMs);
    await link.restore();
    return link;
  }

  get port(): number {
    return this.#port;
  }

  /** Whether a call that changes something is in flight. */
  hasChange(): boolean {
    return [...this.#pairs.values()].some(({ call }) => (call?.key ?? null) !== null);
  }

  /** Marks every call in flight as unclear: its client may never see the answer. */
  doubtCallsUnderWay(): void {
    for (const { call } of this.#pairs.values()) if (call !== null) this.#markUnclear(call);
  }

  /** Whether a call that ended at this instant (wall clock) may have been lost by a cut without a trace here. */
  wasCutAround(wallMs: number): boolean {
    return this.#cutsMs.some((cutMs) => Math.abs(wallMs - cutMs) <= CUT_BLINDNESS_MS);
  }

  async cut(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    this.#cutsMs.push(Date.now());
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const client of this.#pairs.keys()) client.destroy();
    await closed;
  }

  async restore(): Promise<void> {
    if (this.#server !== null) return;
    const server = createServer((client) => this.#join(client));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, LOOPBACK, resolve);
    });
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Still records calls, but holds them and their answers until the link is resumed. */
  halt(): void {
    this.#isHalted = true;
    for (const { upstream } of this.#pairs.values()) upstream.pause();
  }

  resume(): void {
    this.#isHalted = false;
    for (const { upstream, held } of this.#pairs.values()) {
      for (const chunk of held.splice(0)) upstream.write(chunk);
      upstream.resume();
    }
  }

  async close(): Promise<void> {
    this.resume();
    await this.cut();
  }

  #join(client: Socket): void {
    const upstream = connect(this.#targetPort, LOOPBACK);
    const pair: Pair = { upstream, call: null, held: [] };
    if (this.#isHalted) upstream.pause();
    this.#pairs.set(client, pair);
    client.on('data', (chunk) => {
      pair.call ??= { key: null, beganMs: performance.now(), answer: Buffer.alloc(0) };
      pair.call.key ??= keyIn(chunk);
      if (this.#isHalted) pair.held.push(chunk);
      else upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (pair.call !== null) {
        pair.call.answer = Buffer.concat([pair.call.answer, chunk]);
        if (isWhole(pair.call.answer)) {
          this.#answered(pair.call);
          pair.call = null;
        }
      }
      client.write(chunk);
    });
    const end = (): void => {
      if (pair.call !== null) this.#markUnclear(pair.call);
      pair.call = null;
      this.#pairs.delete(client);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      socket.on('error', end);
      socket.on('close', end);
    }
  }

  #answered(call: Call): void {
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(call.answer.toString('latin1', 0, 16))?.[1]);
    const tookMs = performance.now() - call.beganMs;
    if (status >= 500 || status === 408 || tookMs >= this.#lateMs) this.#markUnclear(call);
  }

  #markUnclear({ key }: Call): void {
    if (key === null) return;
    this.unclearCalls += 1;
    this.unclearKeys.add(key);
  }
}

function keyIn(chunk: Buffer): string | null {
  return /\r\nidempotency-key: ([^\r\n]+)\r\n/i.exec(chunk.toString('latin1'))?.[1] ?? null;
}

/** Every answer of the sandbox has a Content-Length. */
function isWhole(answer: Buffer): boolean {
  const headEnd = answer.indexOf(HEAD_END);
  if (headEnd < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(answer.toString('latin1', 0, headEnd))?.[1] ?? '0';
  return answer.length >= headEnd + HEAD_END.length + Number(length);
}
