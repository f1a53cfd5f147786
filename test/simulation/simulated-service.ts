/**
 * The payment service of a simulation: the sandbox's state machine and books on virtual time, behind a client that knows
 * what can become of a call on its way. What takes effect late does so within the settling time.
 */
import { perform } from '../../dev/sandbox/perform.ts';
import { routeOf, VERSION_SEGMENT } from '../../dev/sandbox/operations.ts';
import { DEFAULT_SETTINGS } from '../../dev/sandbox/settings.ts';
import { createWorld, type World } from '../../dev/sandbox/state.ts';
import type { CallHooks, HttpClient, HttpRequest } from '../../src/api/client.ts';
import type { Answer } from '../../src/api/types.ts';
import type { CommandType } from '../../src/records/commands.ts';
import { EXECUTE_SUFFIX } from '../../src/records/keys.ts';
import type {
  BooksReport,
  EffectsReport,
  SandboxControl,
  SandboxQuote,
  SandboxTransaction,
} from '../support/sandbox-control.ts';
import type { Draws } from './draws.ts';
import type { Disturber } from './simulated-network.ts';
import type { Owner, VirtualTime } from './virtual-time.ts';

/** What becomes of one call. */
export type CallTrouble =
  | { kind: 'none' }
  | { kind: 'never-sent' }
  | { kind: 'lost-before' }
  | { kind: 'lost-after' }
  | { kind: 'late'; byMs: number }
  | { kind: 'status'; httpStatus: number; takesEffect: boolean };

/** A process, as the service's books of calls know it. */
export interface Caller extends Owner {
  processId: () => string;
}

export interface Sending {
  readonly key: string;
  /** As the ledger names it. */
  readonly processId: string;
  readonly atMs: number;
}

export interface ServiceOptions {
  readonly time: VirtualTime;
  readonly draws: Draws;
  readonly disturber: Disturber;
  readonly honourKeys: readonly CommandType[];
  readonly troubleOf: (draws: Draws) => CallTrouble;
  readonly log: (line: string) => void;
}

const WAY_MS_MAX = 40;
/** A connection has to be made first, now and then. */
const DIAL_SHARE = 0.05;
const DIAL_MS_MAX = 1_500;
const RETRY_AFTER_SECONDS = 1;
const QUOTE_AMOUNT = 1_000;
const PAYMENT_AMOUNT = 700;

export class SimulatedService {
  readonly world: World;
  /** Keys with a call of which no whole answer came back. */
  readonly unclearKeys = new Set<string>();
  /** Calls that were sent, by whom, in order. */
  readonly sendings: Sending[] = [];
  /** Calls that were sent while an earlier one of their key was on its way, although a repetition could do harm. */
  readonly overlaps: string[] = [];
  calls = 0;
  readonly #options: ServiceOptions;
  /** Calls that have been sent and have not arrived, by key. */
  readonly #onTheirWay = new Map<string, number>();

  constructor(options: ServiceOptions) {
    this.#options = options;
    const { time } = options;
    this.world = createWorld(
      { ...DEFAULT_SETTINGS, honourKeys: [...options.honourKeys], settleMs: 2_000 },
      {
        nowMs: () => Math.floor(time.nowMs),
        wakeAt: (instantMs, wake) => time.after(instantMs - time.nowMs, null, wake).cancel,
      },
    );
  }

  client(owner: Caller): HttpClient {
    return {
      call: (request, timeoutMs, hooks = {}) => this.#call(owner, request, timeoutMs, hooks),
      close: async () => undefined,
    };
  }

  /** What the plan of a run asks beside the processor. */
  control(): Pick<SandboxControl, 'createQuote' | 'simulateUmaReceive' | 'set'> {
    const ask = (path: string, body: object): unknown => {
      const request = { method: 'POST' as const, path, body: JSON.stringify(body), headers: {}, maxBodyBytes: 1e6 };
      return JSON.parse(this.#performed(request).body);
    };
    return {
      createQuote: async (accountId, amount) =>
        ask('/quotes', {
          source: { sourceType: 'ACCOUNT', accountId },
          destination: { destinationType: 'ACCOUNT', accountId: 'ExternalAccount:payee-x' },
          lockedCurrencySide: 'SENDING',
          lockedCurrencyAmount: amount ?? QUOTE_AMOUNT,
        }) as SandboxQuote,
      simulateUmaReceive: async (customerId, amount) =>
        ask('/sandbox/uma/receive', {
          senderUmaAddress: '$sender@example.com',
          receivingCurrencyCode: 'USD',
          receivingCurrencyAmount: amount ?? PAYMENT_AMOUNT,
          customerId,
        }) as SandboxTransaction,
      set: async (settings) => void Object.assign(this.world.settings, settings),
    };
  }

  effects(): EffectsReport {
    return this.world.effects.report() as EffectsReport;
  }

  books(): BooksReport {
    const totals = [...this.world.books.totals()];
    return {
      balanced: totals.every(([, total]) => total === 0n),
      entries: this.world.books.entries,
      totals: Object.fromEntries(totals.map(([currency, total]) => [currency, String(total)])),
      balances: this.world.books.balances().map((line) => ({ ...line, balance: String(line.balance) })),
      transactions: this.world.transactions.size,
      scheduledSteps: this.world.scheduler.size,
    };
  }

  #call(owner: Caller, request: HttpRequest, timeoutMs: number, hooks: CallHooks): Promise<Answer> {
    const { disturber, draws, log, time, troubleOf } = this.#options;
    const key = request.headers['idempotency-key'] ?? null;
    return new Promise((resolve) => {
      let isSent = false;
      let isSettled = false;
      const settle = (answer: Answer): void => {
        if (isSettled) return;
        isSettled = true;
        clearTimeout(deadline);
        if (key !== null && answer.kind === 'response' && answer.httpStatus < 500)
          this.unclearKeys.delete(`${key} ${callNumber}`);
        resolve(answer);
      };
      this.calls += 1;
      const callNumber = this.calls;
      const deadline = setTimeout(
        () => settle({ kind: isSent ? 'lost' : 'never-sent', reason: `no answer within ${timeoutMs} ms` }),
        timeoutMs,
      );
      const dialMs = draws.between(0, draws.chance(DIAL_SHARE) ? DIAL_MS_MAX : 1);
      const trouble = troubleOf(draws);
      if (disturber.troubleAt(owner, 'dial').kind === 'freeze') disturber.freeze(owner, 'before a call is sent');
      time.after(dialMs, owner, () => {
        if (isSettled) return;
        if (trouble.kind === 'never-sent') {
          settle({ kind: 'never-sent', reason: 'ECONNREFUSED' });
          return;
        }
        const objection = hooks.beforeSending?.() ?? null;
        if (objection !== null) {
          settle({ kind: 'never-sent', reason: objection });
          return;
        }
        const point = disturber.troubleAt(owner, `call ${request.path.split(/[?/]/)[1] ?? ''}`);
        if (point.kind === 'crash' && point.when === 'before') {
          disturber.kill(owner, 'before a call');
          return;
        }
        isSent = true;
        if (key !== null) {
          this.unclearKeys.add(`${key} ${callNumber}`);
          this.sendings.push({ key: commandKeyOf(key), processId: owner.processId(), atMs: time.nowMs });
          if (this.#isHarmful(request) && this.#onTheirWay.has(key)) this.overlaps.push(commandKeyOf(key));
          this.#onTheirWay.set(key, (this.#onTheirWay.get(key) ?? 0) + 1);
        }
        hooks.onSent?.();
        log(`${owner.name} calls ${request.path.split('?')[0] ?? ''} ${key ?? ''} ${trouble.kind}`);
        const thereMs = draws.between(0.5, WAY_MS_MAX) + (trouble.kind === 'late' ? trouble.byMs : 0);
        const backMs = draws.between(0.5, WAY_MS_MAX);
        time.after(thereMs, null, () => {
          if (key !== null) this.#arrived(key);
          const answer = this.#answered(request, trouble);
          log(`${key ?? request.path.split('?')[0] ?? ''} ${answer === null ? 'is lost' : answer.httpStatus}`);
          time.after(backMs, owner, () => settle(answer ?? { kind: 'lost', reason: 'ECONNRESET' }));
        });
        if (trouble.kind === 'late')
          time.after(draws.between(1, timeoutMs), owner, () => settle({ kind: 'lost', reason: 'ECONNRESET' }));
        if (point.kind === 'crash') disturber.kill(owner, 'after sending a call');
        if (point.kind === 'freeze') disturber.freeze(owner, 'after sending a call');
      });
    });
  }

  #arrived(key: string): void {
    const count = this.#onTheirWay.get(key) ?? 0;
    if (count > 1) this.#onTheirWay.set(key, count - 1);
    else this.#onTheirWay.delete(key);
  }

  /** Its key is not honoured, and a second effect is not the same as one. */
  #isHarmful({ method, path }: HttpRequest): boolean {
    const route = routeOf(method, `/${VERSION_SEGMENT}${path}`);
    if (route.kind !== 'operation') return false;
    const { operation } = route;
    const isOneShot =
      operation === 'execute-quote' || operation === 'reject-transaction' || operation === 'transfer-in';
    return isOneShot && !this.#options.honourKeys.includes(operation);
  }

  /** Null: no answer comes back. */
  #answered(request: HttpRequest, trouble: CallTrouble): Extract<Answer, { kind: 'response' }> | null {
    switch (trouble.kind) {
      case 'never-sent':
      case 'lost-before':
        return null;
      case 'none':
        return this.#performed(request);
      case 'lost-after':
      case 'late':
        this.#performed(request);
        return null;
      case 'status': {
        const { httpStatus, takesEffect } = trouble;
        if (takesEffect) this.#performed(request);
        const body = JSON.stringify({ status: httpStatus, code: 'TROUBLE', message: 'of the simulation' });
        const retryAfter = httpStatus === 429 ? String(RETRY_AFTER_SECONDS) : null;
        return { kind: 'response', httpStatus, retryAfter, location: null, body, cut: false };
      }
    }
  }

  #performed({ body, headers, method, path }: HttpRequest): Extract<Answer, { kind: 'response' }> {
    const [place = '', query = ''] = path.split('?');
    const route = routeOf(method, `/${VERSION_SEGMENT}${place}`);
    if (route.kind !== 'operation') throw new Error(`${method} ${path} is no call of the interface`);
    const idempotencyKey = headers['idempotency-key'] ?? null;
    this.world.effects.countCall(route.operation, idempotencyKey);
    const call = { ...route, query, bodyText: body ?? '', idempotencyKey, client: 'simulation' };
    const reply = perform(this.world, call);
    return {
      kind: 'response',
      httpStatus: reply.status,
      retryAfter: null,
      location: null,
      body: reply.bodyText,
      cut: false,
    };
  }

  /** Keys of commands, whatever their calls were named. */
  unclearCommandKeys(): Set<string> {
    const keys = [...this.unclearKeys].map((named) => named.slice(0, named.lastIndexOf(' ')));
    return new Set(keys.map(commandKeyOf));
  }
}

function commandKeyOf(key: string): string {
  return key.endsWith(EXECUTE_SUFFIX) ? key.slice(0, -EXECUTE_SUFFIX.length) : key;
}
