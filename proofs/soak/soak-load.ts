/**
 * Commands of all kinds at a constant rate, a small share of them twice, until it is paused. The mixture is the same in
 * each hundred commands; accounts are few, so that the sandbox's own memory does not grow with them.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { accountOf, createQuoteOf, transferInOf } from '../../test/support/commands.ts';
import type { CommandType } from 'payment-processor-contract/commands';
import type { Stack } from '../../test/support/stack.ts';
import type { ChaosType } from '../chaos/chaos-commands.ts';

export const KINDS = [
  'transfer-in',
  'create-quote',
  'immediate-quote',
  'execute-quote',
  'reject-transaction',
] as const satisfies readonly ChaosType[];
export type Kind = (typeof KINDS)[number];

/** What a command is about, for the judgement of its effects: a quote or a transaction that was there before. */
export interface SoakCommand {
  type: Kind;
  subject: string;
}

const CUSTOMERS = 500;
const TICK_MS = 20;
/** One command of so many is published once more, with the same id. */
const COPY_EVERY = 40;
const COPY_AFTER_MS = 15_000;
/** A publisher that is so far behind its plan leaves the rest out, and says so: the rate is no longer constant. */
const BEHIND_MAX = 2_000;

/** Of each twenty commands: thirteen transfers in, three quotes, two that execute at once, one execution, one rejection. */
export function kindOf(index: number): Kind {
  const place = index % 20;
  if (place < 13) return 'transfer-in';
  if (place < 16) return 'create-quote';
  if (place < 18) return 'immediate-quote';
  return place === 18 ? 'execute-quote' : 'reject-transaction';
}

export class SoakLoad {
  readonly commands = new Map<string, SoakCommand>();
  /** Keys that were published a second time. */
  readonly copied = new Set<string>();
  /** What could not be prepared or published, in words. */
  readonly failures: string[] = [];
  /** Commands of the plan that were left out because the publisher was too far behind. */
  leftOut = 0;
  published = 0;
  readonly #stack: Stack;
  readonly #perSecond: number;
  readonly #underWay = new Set<Promise<void>>();
  readonly #pausing = new AbortController();
  #timer: NodeJS.Timeout | null = null;
  #beganMs = 0;
  #index = 0;

  constructor(stack: Stack, perSecond: number) {
    this.#stack = stack;
    this.#perSecond = perSecond;
  }

  begin(): void {
    this.#beganMs = performance.now();
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
  }

  /** @returns once everything that was begun is published */
  async pause(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#pausing.abort();
    await Promise.all(this.#underWay);
  }

  #tick(): void {
    const planned = Math.floor(((performance.now() - this.#beganMs) / 1_000) * this.#perSecond) - this.leftOut;
    if (planned - this.#index > BEHIND_MAX || this.#underWay.size > BEHIND_MAX) {
      this.leftOut += planned - this.#index;
      return;
    }
    for (; this.#index < planned; this.#index += 1) this.#start(this.#index);
  }

  #start(index: number): void {
    const key = `soak-${index}`;
    const work = this.#publish(key, index).catch(
      (error: unknown) => void this.failures.push(`${key}: ${error instanceof Error ? error.message : String(error)}`),
    );
    this.#underWay.add(work);
    void work.then(() => this.#underWay.delete(work));
  }

  async #publish(key: string, index: number): Promise<void> {
    const kind = kindOf(index);
    const { type, fields, subject } = await this.#made(kind, `customer-${index % CUSTOMERS}`);
    const { commandId } = await this.#stack.publisher.publishUntyped(type, key, fields);
    this.commands.set(key, { type: kind, subject });
    this.published += 1;
    if (index % COPY_EVERY !== 0) return;
    // Cut short by the end, when the copy is published at once.
    await delay(COPY_AFTER_MS, undefined, { signal: this.#pausing.signal }).catch(() => undefined);
    await this.#stack.publisher.publishUntyped(type, key, fields, { commandId });
    this.copied.add(key);
  }

  async #made(kind: Kind, customer: string): Promise<{ type: CommandType; fields: object; subject: string }> {
    const { service } = this.#stack;
    switch (kind) {
      case 'transfer-in': {
        const fields = { ...transferInOf(customer), destination: { accountId: accountOf(customer) } };
        return { type: kind, fields, subject: '' };
      }
      case 'create-quote':
        return { type: kind, fields: createQuoteOf(customer), subject: '' };
      case 'immediate-quote': {
        const fields = { ...createQuoteOf(customer), immediatelyExecute: true };
        return { type: 'create-quote', fields, subject: '' };
      }
      case 'execute-quote': {
        const { id, transactionId } = await service.createQuote(accountOf(customer));
        return { type: kind, fields: { quoteId: id, transactionId }, subject: id };
      }
      case 'reject-transaction': {
        const { id } = await service.simulateUmaReceive(`Customer:${customer}-x`);
        return { type: kind, fields: { transactionId: id, reason: 'not expected' }, subject: id };
      }
    }
  }
}
