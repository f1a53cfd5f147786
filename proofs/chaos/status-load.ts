/** Makes the payments of a status run at their times: by commands, or at the service as another client. */
import { setTimeout as delay } from 'node:timers/promises';
import type { CommandType } from 'payment-processor-contract/commands';
import type { ResultEvent } from '../../test/support/journal.ts';
import type { Stack } from '../../test/support/stack.ts';
import type { PlannedPayment } from './status-payments.ts';

const AMOUNT = 1_000n;
const UMA_SENDER = '$sender@example.com';

export class StatusLoad {
  /** Keys of the commands published. */
  readonly keys = new Set<string>();
  /** Transactions that no command made. */
  readonly unannounced = new Set<string>();
  readonly #stack: Stack;
  readonly #onResult = new Map<string, (event: ResultEvent) => void>();
  readonly #answered = new Map<string, ResultEvent>();

  constructor(stack: Stack) {
    this.#stack = stack;
  }

  /** Commands without a result. */
  unanswered(): number {
    return this.#onResult.size;
  }

  /** Takes the first result of a key. */
  takeResult(event: ResultEvent): void {
    const waiting = this.#onResult.get(event.key);
    if (waiting === undefined) this.#answered.set(event.key, event);
    else waiting(event);
    this.#onResult.delete(event.key);
  }

  /** @returns once every command is published and answered. @throws when a payment cannot be made at the service */
  async run(payments: readonly PlannedPayment[]): Promise<void> {
    const beganMs = performance.now();
    const underWay: Promise<void>[] = [];
    for (const payment of payments) {
      const waitMs = payment.atMs - (performance.now() - beganMs);
      if (waitMs > 0) await delay(waitMs);
      const made = this.#make(payment);
      // Awaited together below; until then a failure must not be an unhandled rejection.
      made.catch(() => undefined);
      underWay.push(made);
    }
    await Promise.all(underWay);
  }

  async #make({ followsAfterMs, kind, name }: PlannedPayment): Promise<void> {
    const source = { sourceType: 'ACCOUNT', accountId: `InternalAccount:${name}` };
    const destination = { destinationType: 'ACCOUNT', accountId: 'ExternalAccount:payee-x' };
    const quote = { source, destination, lockedCurrencySide: 'SENDING', lockedCurrencyAmount: AMOUNT };
    switch (kind) {
      case 'transfer-in':
        await this.#command('transfer-in', `${name}-transfer`, {
          source: { accountId: 'ExternalAccount:payer-x' },
          destination: { accountId: source.accountId },
          amount: AMOUNT,
        });
        return;
      case 'immediate-quote':
        await this.#command('create-quote', `${name}-quote`, { ...quote, immediatelyExecute: true });
        return;
      case 'expiring-quote':
        await this.#command('create-quote', `${name}-quote`, quote);
        return;
      case 'executed-quote': {
        const { value } = await this.#command('create-quote', `${name}-quote`, quote);
        if (value.quote === null) return;
        await delay(followsAfterMs);
        const { id: quoteId, transactionId } = value.quote;
        await this.#command('execute-quote', `${name}-execute`, { quoteId, transactionId });
        return;
      }
      case 'incoming-by-command':
        await this.#receiveByCommand(name);
        return;
      case 'incoming-unannounced':
        await this.#receiveUnannounced(name);
        return;
      case 'rejected-by-command': {
        const transactionId = await this.#receiveByCommand(name);
        if (transactionId !== null) await this.#reject(name, transactionId, followsAfterMs);
        return;
      }
      case 'rejected-unannounced':
        await this.#reject(name, await this.#receiveUnannounced(name), followsAfterMs);
        return;
    }
  }

  async #receiveByCommand(name: string): Promise<string | null> {
    const { value } = await this.#command('simulate-uma-receive', `${name}-receive`, {
      senderUmaAddress: UMA_SENDER,
      receivingCurrencyCode: 'USD',
      receivingCurrencyAmount: AMOUNT,
      customerId: `Customer:${name}`,
    });
    return value.transaction?.id ?? null;
  }

  async #receiveUnannounced(name: string): Promise<string> {
    const { id } = await this.#stack.service.simulateUmaReceive(`Customer:${name}`);
    this.unannounced.add(id);
    return id;
  }

  async #reject(name: string, transactionId: string, afterMs: number): Promise<void> {
    await delay(afterMs);
    await this.#command('reject-transaction', `${name}-reject`, { transactionId });
  }

  /** @returns its result, without a timeout */
  async #command(type: CommandType, key: string, fields: object): Promise<ResultEvent> {
    this.keys.add(key);
    await this.#stack.publisher.publishUntyped(type, key, fields);
    const known = this.#answered.get(key);
    this.#answered.delete(key);
    return known ?? new Promise((resolve) => this.#onResult.set(key, resolve));
  }
}
