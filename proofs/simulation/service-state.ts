/** The simulated payment service's state: the sandbox's state machine and books on virtual time, and a log of effects. */
import { booksReport } from 'payment-processor-sandbox/control';
import { perform } from 'payment-processor-sandbox/perform';
import { routeOf, VERSION_SEGMENT } from 'payment-processor-sandbox/operations';
import { DEFAULT_SETTINGS } from 'payment-processor-sandbox/settings';
import { createWorld, type World } from 'payment-processor-sandbox/state';
import type { HttpRequest } from '../../src/api/client.ts';
import type { Answer } from '../../src/api/types.ts';
import type { CommandType } from 'payment-processor-contract/commands';
import { SandboxControl, type BooksReport, type EffectsReport } from '../../test/support/sandbox-control.ts';
import type { ChaosCommand } from '../chaos/chaos-commands.ts';
import { commandKeyOf } from '../chaos/named-commands.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A change of the service's state. */
export interface Effect {
  /** The command's key. */
  readonly key: string;
  readonly operation: CommandType;
  readonly transactionId: string;
  /** When the call that made it was sent. */
  readonly sentMs: number;
  readonly atMs: number;
}

export class ServiceState {
  /** Effects in the order in which they happened. */
  readonly effectLog: Effect[] = [];
  readonly #time: VirtualTime;
  readonly #world: World;
  /** When the call that is being performed was sent. */
  #sentMs = 0;

  constructor(time: VirtualTime, honourKeys: readonly CommandType[]) {
    this.#time = time;
    this.#world = createWorld(
      { ...DEFAULT_SETTINGS, honourKeys: [...honourKeys], settleMs: 2_000 },
      {
        nowMs: () => Math.floor(time.nowMs),
        wakeAt: (instantMs, wake) => time.after(instantMs - time.nowMs, null, wake).cancel,
      },
    );
    const { effects } = this.#world;
    const countEffect = effects.countEffect.bind(effects);
    effects.countEffect = (operation, key, transactionId) => {
      countEffect(operation, key, transactionId);
      if (key === null || operation === 'list-transactions') return;
      const { nowMs } = time;
      this.effectLog.push({ key: commandKeyOf(key), operation, transactionId, sentMs: this.#sentMs, atMs: nowMs });
    };
  }

  /** Serves requests that a run's plan makes without the processor. */
  control(): SandboxControl {
    return new SandboxControl({ url: '', baseUrl: '' }, undefined, async ({ body = '', url }) => {
      if (url === '/control/settings') {
        Object.assign(this.#world.settings, JSON.parse(body));
        return { status: 200, text: '{}' };
      }
      const request = { method: 'POST' as const, path: url, body, headers: {}, maxBodyBytes: 1e6 };
      const answer = this.performed(request, this.#time.nowMs);
      return { status: answer.httpStatus, text: answer.body };
    });
  }

  effects(): EffectsReport {
    return this.#world.effects.report() as EffectsReport;
  }

  /** Effects of the command, in order. If the command asks for immediate execution, a quote alone is not an effect. */
  effectsOf({ commandType, key, type }: ChaosCommand): Effect[] {
    const operation = type === 'immediate-quote' ? 'execute-quote' : commandType;
    return this.effectLog.filter((effect) => effect.key === key && effect.operation === operation);
  }

  books(): BooksReport {
    return booksReport(this.#world) as BooksReport;
  }

  /** @param sentMs when the call was sent */
  performed({ body, headers, method, path }: HttpRequest, sentMs: number): Extract<Answer, { kind: 'response' }> {
    const [place = '', query = ''] = path.split('?');
    const route = routeOf(method, `/${VERSION_SEGMENT}${place}`);
    if (route.kind !== 'operation') throw new Error(`${method} ${path} is no call of the interface`);
    const idempotencyKey = headers['idempotency-key'] ?? null;
    this.#sentMs = sentMs;
    this.#world.effects.countCall(route.operation, idempotencyKey);
    const call = { ...route, query, bodyText: body ?? '', idempotencyKey, client: 'simulation' };
    const reply = perform(this.#world, call);
    return {
      kind: 'response',
      httpStatus: reply.status,
      retryAfter: null,
      location: null,
      body: reply.bodyText,
      cut: false,
    };
  }
}
