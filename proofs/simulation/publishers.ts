/** The publishers of a history: they publish commands and copies, and know which messages have been answered. */
import { laneOf } from 'payment-processor-contract/keys';
import { stringifyLossless } from 'payment-processor-contract/lossless-json';
import {
  makePlan,
  type ChaosCommand,
  type ChaosMessage,
  type Plan,
  type PlanOptions,
  isBroken,
} from '../chaos/chaos-commands.ts';
import type { Draws } from './draws.ts';
import { headerText, isForReaders, type StoredHeaders } from './simulated-log.ts';
import { correlationIdOf, createQuoteOf } from '../../test/support/commands.ts';
import { SETTLING_TIME_MS } from './simulated-process.ts';
import type { ServiceState } from './service-state.ts';
import type { Surroundings } from './world.ts';

export interface PublishersOptions extends Surroundings {
  readonly planDraws: Draws;
}

/** The length of a burst, as a share of the time from one to the next. */
const BURST_SHARE = 0.05;
const PUBLISHED_AGAIN_SHARE = 0.15;
const PUBLISHED_AGAIN_MS_MAX = 3_000;
/** The share of commands with an `expires-at`, in histories where operators order retries. */
const EXPIRY_SHARE = 0.3;
const EXPIRY_MS_MAX = 12_000;
const QUOTE_LIFETIME_MS = 20_000;
/** For commands that must be ACCEPTED: any doubt is settled well before. */
const LONG_QUOTE_LIFETIME_MS = 600_000;
const APPROVAL_MS = 1_000;
/** A copy of a command in doubt arrives at about the time of the look-up. */
const COPY_IN_DOUBT_SHARE = 0.5;
const COPY_IN_DOUBT_SPREAD_MS = 1_500;
const COPIES_IN_DOUBT_MAX = 4;
const ASKED_AGAIN_SHARE = 0.3;
/** Too many for one batch to take all their entries. */
const MASSES = 100;
const MASS_LENGTH = 50_000;
/** A publisher retries this often while its topic does not exist, or its partition has no leader. */
const AGAIN_MS = 200;

export class Publishers {
  readonly #options: PublishersOptions;
  #plan: Plan = { commands: [], messages: [] };
  readonly #messages: ChaosMessage[] = [];
  readonly #copiesInDoubt = new Map<string, number>();
  /** `ce_id` of messages that have an answer. */
  readonly #answered = new Set<string>();
  /** Next offset to look for answers at, by partition of the results. */
  readonly #looked: number[] = [];
  #published = 0;

  constructor(options: PublishersOptions) {
    this.#options = options;
  }

  /** Everything that was or will be published. */
  plan(): Plan {
    return { commands: this.#plan.commands, messages: this.#messages };
  }

  command(key: string): ChaosCommand | undefined {
    return this.#plan.commands.find((command) => command.key === key);
  }

  async start(service: ServiceState): Promise<void> {
    const { draws, time } = this.#options;
    const { commandsPerSecond, durationMs } = this.#options.scenario;
    this.#plan = await this.#made(service, { commandsPerSecond, durationMs, isPlain: false });
    for (const message of this.#plan.messages) {
      this.#later(message, message.atMs);
      // A publisher that missed the confirmation. Not for broken messages: each copy would get its own answer and burial.
      const isAgain = draws.chance(PUBLISHED_AGAIN_SHARE) && !message.isMisrouted && message.kind !== 'conflict';
      if (!isAgain || isBroken(message.command)) continue;
      const again = { ...message, expiresAfterMs: null };
      time.after(message.atMs + draws.between(1, PUBLISHED_AGAIN_MS_MAX), null, () => this.#publish(again));
    }
  }

  /** Publishes many commands that are almost too large. */
  publishMasses(): void {
    const commands = Array.from({ length: MASSES }, (_, index): ChaosCommand => {
      const key = `mass-${index}`;
      const fields = { ...createQuoteOf(key, 5n), immediatelyExecute: false, description: 'x'.repeat(MASS_LENGTH) };
      const type = 'create-quote';
      const books = { subject: key, account: null, effectAmount: 0n };
      const allowed = ['ACCEPTED', 'EXPIRED'] as const;
      return { type, commandType: type, key, fields, allowed, ...books, isUnreadable: false, hasExpiry: true };
    });
    this.#plan = { ...this.#plan, commands: [...this.#plan.commands, ...commands] };
    for (const { key } of commands) this.copy(key, 1);
  }

  /** Publishes commands at a constant rate, each once, that must all be ACCEPTED. */
  async publishMore(service: ServiceState, rate: Pick<PlanOptions, 'commandsPerSecond' | 'durationMs'>): Promise<void> {
    const { commands, messages } = await this.#made(service, { ...rate, isPlain: true });
    this.#plan = { commands: [...this.#plan.commands, ...commands], messages: [...this.#plan.messages, ...messages] };
    for (const message of messages) this.#later(message, message.atMs);
  }

  /** Reports that a call of the command gets no answer. */
  callLost(key: string): void {
    const { draws, scenario } = this.#options;
    if (!scenario.disturbed.has('look-ups') || !draws.chance(COPY_IN_DOUBT_SHARE)) return;
    this.copy(key, SETTLING_TIME_MS + draws.between(0, COPY_IN_DOUBT_SPREAD_MS));
  }

  /** Publishes a copy of a command that was published already. */
  copy(key: string, inMs: number): void {
    const command = this.command(key);
    const count = this.#copiesInDoubt.get(key) ?? 0;
    if (command === undefined || isBroken(command) || count >= COPIES_IN_DOUBT_MAX) return;
    this.#copiesInDoubt.set(key, count + 1);
    const message = {
      atMs: 0,
      command,
      kind: 'copy' as const,
      id: `${key}-copy-${count}`,
      fields: command.fields,
      contentType: 'json' as const,
      expiresAfterMs: null,
      isMisrouted: false,
    };
    this.#later(message, inMs);
  }

  /** Publishes copies of some commands, long afterwards. */
  copySome(): void {
    const { draws } = this.#options;
    for (const { key } of this.#plan.commands) if (draws.chance(ASKED_AGAIN_SHARE)) this.copy(key, 1);
  }

  /** Messages without an answer, those of later included. */
  unanswered(): ChaosMessage[] {
    this.#look();
    return this.#messages.filter(({ id }) => !this.#answered.has(id));
  }

  /** How many messages wait for their answers. */
  waiting(): number {
    this.#look();
    return this.#published - this.#answered.size;
  }

  #look(): void {
    const { broker, topics } = this.#options;
    for (const [partition, log] of broker.logs(topics.results).entries()) {
      const end = log.lastStableOffset();
      for (const record of log.all.slice(this.#looked[partition] ?? 0, end))
        if (isForReaders(record)) this.#answered.add(headerText(record, 'in-reply-to') ?? '');
      this.#looked[partition] = end;
    }
  }

  /** @returns the offset, or null while the topic does not exist or its partition has no leader */
  append(topic: string, lane: number, key: string | null, value: Buffer, headers: StoredHeaders): number | null {
    const { broker, time } = this.#options;
    if (!broker.isWritable(topic, lane)) return null;
    const record = { key: key === null ? null : Buffer.from(key), value, headers, timestampMs: time.nowMs };
    return broker.append(topic, lane, record);
  }

  #later(message: ChaosMessage, inMs: number): void {
    this.#messages.push(message);
    this.#options.time.after(inMs, null, () => this.#publish(message));
  }

  #publish(message: ChaosMessage): void {
    const { log, scenario, time, topics } = this.#options;
    const { command, expiresAfterMs, fields, id } = message;
    const { commandType, isUnreadable, key } = command;
    const expiry = expiresAfterMs === null ? null : new Date(time.nowMs + expiresAfterMs).toISOString();
    const [lane = 0] = lanesOf(message, scenario.laneCount);
    const value = isUnreadable ? '{"this is not' : stringifyLossless(fields);
    const headers = {
      ce_id: id,
      'correlation-id': correlationIdOf(key),
      ...(expiry === null ? {} : { 'expires-at': expiry }),
    };
    log(`published ${id} ${key}`);
    const offset = this.append(topics.commands[commandType], lane, key, Buffer.from(value), jsonHeaders(headers));
    if (offset === null) time.after(AGAIN_MS, null, () => this.#publish(message));
    else this.#published += 1;
  }

  async #made(
    service: ServiceState,
    given: Pick<PlanOptions, 'commandsPerSecond' | 'durationMs' | 'isPlain'>,
  ): Promise<Plan> {
    const { draws, planDraws, scenario } = this.#options;
    const { burstMs, honourKeys, types } = scenario;
    const control = service.control();
    const before = this.#plan.commands.length;
    const plan = await makePlan({
      ...given,
      types,
      honourKeys,
      random: planDraws.random,
      service: control,
      prefix: before > 0 ? `later-${before}-` : '',
    });
    // For the quotes and payments that the commands make.
    const quoteLifetimeMs = given.isPlain ? LONG_QUOTE_LIFETIME_MS : QUOTE_LIFETIME_MS;
    await control.set({ quoteLifetimeMs, approvalMs: APPROVAL_MS });
    // Keeps the order.
    const inBurst = (atMs: number): number => (burstMs === 0 ? atMs : atMs - (atMs % burstMs) * (1 - BURST_SHARE));
    return withMoreExpiries(
      { ...plan, messages: plan.messages.map((message) => ({ ...message, atMs: inBurst(message.atMs) })) },
      scenario.disturbed.has('operators') && !given.isPlain
        ? () => (draws.chance(EXPIRY_SHARE) ? draws.between(0, EXPIRY_MS_MAX) : null)
        : () => null,
    );
  }
}

/** Adds expiries, because an operator's retry must not outlive the publisher's `expires-at`. */
function withMoreExpiries({ commands, messages }: Plan, drawExpiry: () => number | null): Plan {
  const expiries = new Map(
    commands
      .filter((command) => !isBroken(command))
      .map((command): [string, number | null] => [command.key, drawExpiry()]),
  );
  const expiring = (command: ChaosCommand): ChaosCommand =>
    (expiries.get(command.key) ?? null) === null || command.hasExpiry
      ? command
      : { ...command, hasExpiry: true, allowed: [...command.allowed, 'EXPIRED'] };
  const changed = new Map(commands.map((command) => [command, expiring(command)]));
  return {
    commands: [...changed.values()],
    messages: messages.map((message) => ({
      ...message,
      command: changed.get(message.command) ?? message.command,
      expiresAfterMs:
        message.kind === 'first' ? (message.expiresAfterMs ?? expiries.get(message.command.key) ?? null) : null,
    })),
  };
}

/** The lane to which a message is published and, if another, the lane of its key. */
export function lanesOf(
  { command, isMisrouted }: Pick<ChaosMessage, 'command' | 'isMisrouted'>,
  laneCount: number,
): number[] {
  const lane = laneOf(command.key, laneCount);
  return isMisrouted ? [(lane + 1) % laneCount, lane] : [lane];
}

export function jsonHeaders(texts: Readonly<Record<string, string>>): StoredHeaders {
  return Object.entries({ 'content-type': 'application/json', ...texts }).map(([name, text]) => [
    name,
    Buffer.from(text),
  ]);
}
