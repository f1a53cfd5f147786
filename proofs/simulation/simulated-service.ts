/**
 * A simulation's payment service, behind a client whose calls can meet any trouble on the way. Late effects happen within
 * the settling time.
 */
import { routeOf, VERSION_SEGMENT } from 'payment-processor-sandbox/operations';
import type { CallHooks, HttpClient, HttpRequest } from '../../src/api/client.ts';
import type { Answer } from '../../src/api/types.ts';
import type { CommandType } from 'payment-processor-contract/commands';
import { isJsonObject, parseLossless, stringifyLossless } from 'payment-processor-contract/lossless-json';
import { commandKeyOf } from '../chaos/named-commands.ts';
import type { Draws } from './draws.ts';
import { PendingCall } from './pending-call.ts';
import { LATE_MS_MAX } from './simulated-process.ts';
import { ServiceState } from './service-state.ts';
import type { Disturber } from './simulated-network.ts';
import type { Owner, VirtualTime } from './virtual-time.ts';

/** The trouble of one call. */
export type CallTrouble =
  | { kind: 'none' }
  | { kind: 'slow'; thereMs: number }
  | { kind: 'never-sent' }
  | { kind: 'lost-before' }
  | { kind: 'lost-after' }
  /** The connection is lost after `lostMs`; the effect is delayed by `byMs`, and may come before or after the loss. */
  | { kind: 'late'; lostMs: number; byMs: number }
  | { kind: 'status'; httpStatus: number; takesEffect: boolean; retryAfterSeconds?: number };

/** A process, as the service's books of calls know it. */
export interface Caller extends Owner {
  /** How many calls are about to be sent. */
  dialling: number;
  processId: () => string;
}

export interface Sending {
  readonly key: string;
  /** The process id in the ledger. */
  readonly processId: string;
  readonly atMs: number;
}

export interface ServiceOptions {
  readonly time: VirtualTime;
  readonly draws: Draws;
  readonly disturber: Disturber;
  readonly honourKeys: readonly CommandType[];
  readonly troubleOf: (draws: Draws, isPage: boolean) => CallTrouble;
  readonly pageDelayMs: (draws: Draws) => number;
  /** Whether a list of transactions omits this one. */
  readonly isLeftOut: (draws: Draws) => boolean;
  /** The share of calls that need a new connection. */
  readonly dialShare: number;
  /** A call of the command was sent, and no answer will come. */
  readonly onLost: (key: string) => void;
  readonly log: (line: string) => void;
}

const ANSWERLESS: readonly CallTrouble['kind'][] = ['lost-before', 'lost-after', 'late'];
const PROXYS: readonly number[] = [403, 404];
const WAY_MS_MAX = 40;
const DIAL_MS_MAX = 1_500;
const RETRY_AFTER_SECONDS = 1;

export class SimulatedService {
  readonly state: ServiceState;
  /** Keys with a call that got no complete answer. */
  readonly unclearKeys = new Set<string>();
  /** The calls that were sent, and by which process, in order. */
  readonly sendings: Sending[] = [];
  /** Calls that could do harm, because they were sent while an earlier one with the same key was in flight. */
  readonly overlaps: string[] = [];
  calls = 0;
  readonly #options: ServiceOptions;
  /** How many calls are in flight, by key. */
  readonly #onTheirWay = new Map<string, number>();

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.state = new ServiceState(options.time, options.honourKeys);
  }

  client(owner: Caller): HttpClient {
    return {
      call: (request, timeoutMs, hooks = {}) => this.#call(owner, request, timeoutMs, hooks),
      close: async () => undefined,
    };
  }

  #call(owner: Caller, request: HttpRequest, timeoutMs: number, hooks: CallHooks): Promise<Answer> {
    const { dialShare, disturber, draws, log, time, troubleOf } = this.#options;
    const key = request.headers['idempotency-key'] ?? null;
    const isPage = request.method === 'GET';
    return new Promise((resolve) => {
      this.calls += 1;
      const callNumber = this.calls;
      const deadlineMs = time.nowMs + timeoutMs;
      const call = new PendingCall(timeoutMs, hooks, (answer) => {
        // A proxy's answer says nothing certain: a refusal after its 401 or 429 stays in doubt.
        const isClear = answer.kind === 'response' && trouble.kind !== 'status';
        if (key !== null && isClear) this.unclearKeys.delete(`${key} ${callNumber}`);
        resolve(answer);
      });
      const dialMs = draws.between(0, draws.chance(dialShare) ? DIAL_MS_MAX : 1);
      const trouble = troubleOf(draws, isPage);
      if (disturber.troubleAt(owner, 'dial').kind === 'freeze') disturber.freeze(owner, 'before a call is sent');
      owner.dialling += 1;
      time.after(dialMs, owner, () => {
        owner.dialling -= 1;
        if (trouble.kind === 'never-sent') call.settle({ kind: 'never-sent', reason: 'ECONNREFUSED' });
        if (!call.mayBeSent()) return;
        const point = disturber.troubleAt(owner, `call ${request.path.split(/[?/]/)[1] ?? ''}`);
        if (point.kind === 'crash' && point.when === 'before') {
          disturber.kill(owner, 'before a call');
          return;
        }
        if (key !== null) {
          this.unclearKeys.add(`${key} ${callNumber}`);
          this.sendings.push({ key: commandKeyOf(key), processId: owner.processId(), atMs: time.nowMs });
          if (this.#isHarmful(request) && this.#onTheirWay.has(key)) this.overlaps.push(commandKeyOf(key));
          this.#onTheirWay.set(key, (this.#onTheirWay.get(key) ?? 0) + 1);
        }
        call.sent();
        log(`${owner.name} calls ${request.path.split('?')[0] ?? ''} ${key ?? ''} ${trouble.kind}`);
        // If a process that just woke sends a call, the deadline may already be over.
        const lateMsMax = Math.max(0, deadlineMs - time.nowMs) + LATE_MS_MAX;
        const drawnMs = trouble.kind === 'late' ? trouble.byMs : trouble.kind === 'slow' ? trouble.thereMs : 0;
        const lateMs = Math.min(drawnMs, lateMsMax);
        const thereMs = draws.between(0.5, WAY_MS_MAX) + lateMs;
        const backMs = draws.between(0.5, WAY_MS_MAX) + (isPage ? this.#options.pageDelayMs(draws) : 0);
        const sentMs = time.nowMs;
        if (key !== null && ANSWERLESS.includes(trouble.kind)) this.#options.onLost(commandKeyOf(key));
        time.after(thereMs, null, () => {
          if (key !== null) this.#arrived(key);
          const answer = this.#answered(request, trouble, sentMs);
          log(`${key ?? request.path.split('?')[0] ?? ''} ${answer === null ? 'is lost' : answer.httpStatus}`);
          time.after(backMs, owner, () => call.settle(answer ?? { kind: 'lost', reason: 'ECONNRESET' }));
        });
        if (trouble.kind === 'late')
          time.after(trouble.lostMs, owner, () => call.settle({ kind: 'lost', reason: 'ECONNRESET' }));
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

  /** Whether a second call does harm: the service does not honour its key, and repeats the effect. */
  #isHarmful({ method, path }: HttpRequest): boolean {
    const route = routeOf(method, `/${VERSION_SEGMENT}${path}`);
    if (route.kind !== 'operation') return false;
    const { operation } = route;
    const isOneShot =
      operation === 'execute-quote' || operation === 'reject-transaction' || operation === 'transfer-in';
    return isOneShot && !this.#options.honourKeys.includes(operation);
  }

  /** Null: no answer comes back. */
  #answered(request: HttpRequest, trouble: CallTrouble, sentMs: number): Extract<Answer, { kind: 'response' }> | null {
    switch (trouble.kind) {
      case 'never-sent':
      case 'lost-before':
        return null;
      case 'none':
      case 'slow':
        return this.#withoutLeftOut(request, this.state.performed(request, sentMs));
      case 'lost-after':
      case 'late':
        this.state.performed(request, sentMs);
        return null;
      case 'status': {
        const { httpStatus, retryAfterSeconds = RETRY_AFTER_SECONDS, takesEffect } = trouble;
        if (takesEffect) this.state.performed(request, sentMs);
        // A proxy's page has no error code of the service.
        const code = PROXYS.includes(httpStatus) ? {} : { code: 'TROUBLE' };
        const body = JSON.stringify({ status: httpStatus, ...code, message: 'of the simulation' });
        const retryAfter = httpStatus === 429 ? String(retryAfterSeconds) : null;
        return { kind: 'response', httpStatus, retryAfter, location: null, body, cut: false };
      }
    }
  }

  #withoutLeftOut(
    { method }: HttpRequest,
    answer: Extract<Answer, { kind: 'response' }>,
  ): Extract<Answer, { kind: 'response' }> {
    const { draws, isLeftOut } = this.#options;
    if (method !== 'GET') return answer;
    const page = parseLossless(answer.body);
    if (!isJsonObject(page) || !Array.isArray(page['data'])) return answer;
    const data = page['data'].filter(() => !isLeftOut(draws));
    return { ...answer, body: stringifyLossless({ ...page, data }) };
  }

  /** The keys of the commands whose calls are unclear. */
  unclearCommandKeys(): Set<string> {
    const keys = [...this.unclearKeys].map((named) => named.slice(0, named.lastIndexOf(' ')));
    return new Set(keys.map(commandKeyOf));
  }
}
