/** The commands of a chaos run and when each message of them is published: a plan drawn from the seed alone. */
import { randomUUID } from 'node:crypto';
import type { CommandType, Outcome } from '../../src/records/commands.ts';
import { accountOf, createQuoteOf, transferInOf } from '../support/commands.ts';
import type { SandboxControl } from '../support/sandbox-control.ts';

/** A command type, with immediate execution told apart: it moves money, a plain quote does not. */
export const CHAOS_TYPES = [
  'transfer-in',
  'execute-quote',
  'reject-transaction',
  'create-quote',
  'immediate-quote',
  'simulate-uma-receive',
] as const;
export type ChaosType = (typeof CHAOS_TYPES)[number];

export interface ChaosCommand {
  readonly type: ChaosType;
  readonly commandType: CommandType;
  readonly key: string;
  readonly fields: object;
  /** What its result may be, UNKNOWN apart. */
  readonly allowed: readonly Outcome[];
  /** The quote or incoming payment that it is about; else its key. */
  readonly subject: string;
  /** The account whose balance tells how often it took effect; null where payments are not left alone afterwards. */
  readonly account: string | null;
  /** What one effect adds to that account; smallest unit. */
  readonly effectAmount: bigint;
  /** Its value cannot be read: a dead letter is due. */
  readonly isUnreadable: boolean;
  readonly hasExpiry: boolean;
}

export type MessageKind = 'first' | 'copy' | 'conflict';

export interface ChaosMessage {
  readonly atMs: number;
  readonly command: ChaosCommand;
  readonly kind: MessageKind;
  /** Its `ce_id`. */
  readonly id: string;
  readonly fields: object;
  readonly contentType: 'avro' | 'json';
  /** After publication; null: none. */
  readonly expiresAfterMs: number | null;
  /** Put on another lane's partition than its key's. */
  readonly isMisrouted: boolean;
}

export interface Plan {
  readonly commands: readonly ChaosCommand[];
  /** By time. */
  readonly messages: readonly ChaosMessage[];
}

export interface PlanOptions {
  durationMs: number;
  commandsPerSecond: number;
  types: readonly ChaosType[];
  honourKeys: readonly CommandType[];
  random: () => number;
  service: SandboxControl;
  /** Begins every key. */
  prefix: string;
  /** True: no copies, conflicts, broken, refused, expiring or racing commands: each is to be ACCEPTED. */
  isPlain: boolean;
}

/** Whether something special happens to a command; never in a plain plan. */
function isDrawn({ isPlain, random }: PlanOptions, share: number): boolean {
  return !isPlain && random() < share;
}

/** Shares of the stream, relative to those of the types asked for. */
const WEIGHTS: Readonly<Record<ChaosType, number>> = {
  'transfer-in': 35,
  'execute-quote': 20,
  'reject-transaction': 15,
  'create-quote': 8,
  'immediate-quote': 17,
  'simulate-uma-receive': 5,
};
const COPY_SHARE = 0.12;
const CONFLICT_SHARE = 0.04;
const EXPIRY_SHARE = 0.05;
const INVALID_SHARE = 0.01;
const UNREADABLE_SHARE = 0.01;
const MISROUTED_SHARE = 0.02;
const JSON_SHARE = 0.3;
/** The account's scenario makes the service refuse the call. */
const REFUSED_SHARE = 0.03;
/** Accepted payments that go wrong later: rejected, refunded after completion, failed. */
const LATER_SHARE = 0.06;
const LATER_SCENARIOS = ['004', '006', '011', '015'];
/** Prepared quotes and payments that end by themselves about when their command arrives. */
const RACE_SHARE = 0.08;
const RACE_SPREAD_MS = 6_000;
const LONG_MS = 6 * 3_600_000;
const COPY_DELAY_MS_MAX = 25_000;
const EXPIRY_MS_MAX = 15_000;

export async function makePlan(options: PlanOptions): Promise<Plan> {
  const { random, durationMs } = options;
  const commands: ChaosCommand[] = [];
  const messages: ChaosMessage[] = [];
  const count = Math.round((durationMs / 1000) * options.commandsPerSecond);
  const preparedAtMs = performance.now();
  for (let index = 0; index < count; index += 1) {
    const atMs = Math.floor((index / count) * durationMs);
    const type = drawType(options.types, random);
    const hasExpiry = isDrawn(options, EXPIRY_SHARE);
    const command = await makeCommand(
      options,
      `${options.prefix}${type}-${index}`,
      type,
      hasExpiry,
      atMs,
      preparedAtMs,
    );
    commands.push(command);
    const isMisrouted = isDrawn(options, MISROUTED_SHARE) && !command.isUnreadable;
    const contentType = isMisrouted || isBroken(command) || random() < JSON_SHARE ? 'json' : 'avro';
    const message = (kind: MessageKind, delayMs: number, fields: object): ChaosMessage => ({
      atMs: atMs + delayMs,
      command,
      kind,
      id: randomUUID(),
      fields,
      contentType,
      expiresAfterMs: hasExpiry && kind === 'first' ? Math.floor(random() * EXPIRY_MS_MAX) : null,
      isMisrouted: isMisrouted && kind === 'first',
    });
    messages.push(message('first', 0, command.fields));
    // Until a moved command has arrived in its lane, its copy might be the first there.
    if (isMisrouted || isBroken(command)) continue;
    if (isDrawn(options, COPY_SHARE))
      messages.push(message('copy', Math.floor(random() ** 2 * COPY_DELAY_MS_MAX), command.fields));
    if (isDrawn(options, CONFLICT_SHARE)) {
      messages.push(message('conflict', Math.floor(random() ** 2 * COPY_DELAY_MS_MAX), otherFields(command)));
    }
  }
  messages.sort((left, right) => left.atMs - right.atMs);
  return { commands, messages };
}

function drawType(types: readonly ChaosType[], random: () => number): ChaosType {
  const total = types.reduce((sum, type) => sum + WEIGHTS[type], 0);
  let place = random() * total;
  for (const type of types) {
    place -= WEIGHTS[type];
    if (place < 0) return type;
  }
  return types[0] ?? 'transfer-in';
}

function isBroken({ allowed }: ChaosCommand): boolean {
  return allowed.includes('INVALID');
}

async function makeCommand(
  options: PlanOptions,
  key: string,
  type: ChaosType,
  hasExpiry: boolean,
  atMs: number,
  preparedAtMs: number,
): Promise<ChaosCommand> {
  const base = {
    type,
    commandType: type === 'immediate-quote' ? ('create-quote' as const) : type,
    key,
    subject: key,
    account: null,
    effectAmount: 0n,
    isUnreadable: false,
    hasExpiry: false,
  };
  if (isDrawn(options, INVALID_SHARE)) {
    return { ...base, fields: { notAField: true }, allowed: ['INVALID'] };
  }
  if (isDrawn(options, UNREADABLE_SHARE)) {
    return { ...base, fields: {}, allowed: ['INVALID'], isUnreadable: true };
  }
  const made = await MAKERS[type](options, key, atMs, preparedAtMs);
  const allowed = hasExpiry ? [...made.allowed, 'EXPIRED' as const] : made.allowed;
  return { ...base, ...made, hasExpiry, allowed };
}

type Made = Pick<ChaosCommand, 'fields' | 'allowed'> &
  Partial<Pick<ChaosCommand, 'subject' | 'account' | 'effectAmount'>>;
type Maker = (options: PlanOptions, key: string, atMs: number, preparedAtMs: number) => Promise<Made> | Made;

const MAKERS: Readonly<Record<ChaosType, Maker>> = {
  'transfer-in': (options, key) => {
    const scenario = drawScenario(options);
    const amount = amountOf(options.random);
    const fields = transferInOf(key, amount);
    if (scenario === null) {
      return { fields, allowed: ['ACCEPTED'], account: accountOf(key), effectAmount: amount };
    }
    const destination = { accountId: `InternalAccount:${key}-${scenario}` };
    return { fields: { ...fields, destination }, allowed: outcomesOf(scenario) };
  },
  'execute-quote': async (options, key, atMs, preparedAtMs) => {
    const { random, service } = options;
    const amount = amountOf(random);
    const { isRace, lifetimeMs } = drawLifetime(options, atMs, preparedAtMs);
    await service.set({ quoteLifetimeMs: lifetimeMs });
    const quote = await service.createQuote(accountOf(key), Number(amount));
    // The service shows the quote's id on its transaction, so that its doubt can be settled without the other id.
    const withId = random() < 0.8 ? { transactionId: quote.transactionId } : {};
    return {
      fields: { quoteId: quote.id, ...withId },
      allowed: isRace ? ['ACCEPTED', 'REFUSED'] : ['ACCEPTED'],
      subject: quote.id,
      account: accountOf(key),
      effectAmount: -amount,
    };
  },
  'reject-transaction': async (options, key, atMs, preparedAtMs) => {
    const { service } = options;
    const { isRace, lifetimeMs } = drawLifetime(options, atMs, preparedAtMs);
    await service.set({ approvalMs: lifetimeMs });
    const transaction = await service.simulateUmaReceive(`Customer:${key}-x`);
    return {
      fields: { transactionId: transaction.id, reason: 'not expected' },
      allowed: isRace ? ['ACCEPTED', 'REFUSED'] : ['ACCEPTED'],
      subject: transaction.id,
    };
  },
  'create-quote': (options, key) => quoteOf(options, key, false),
  'immediate-quote': (options, key) => {
    const made = quoteOf(options, key, true);
    if (options.isPlain) return made;
    // The quote may expire before its execution; where the service then repeats it for the key, the command expires.
    const besides: Outcome[] = options.honourKeys.includes('create-quote') ? ['REFUSED', 'EXPIRED'] : ['REFUSED'];
    return { ...made, allowed: [...made.allowed, ...besides] };
  },
  'simulate-uma-receive': ({ random }, key) => {
    const amount = amountOf(random);
    return {
      fields: {
        senderUmaAddress: '$sender@example.com',
        receivingCurrencyCode: 'USD',
        receivingCurrencyAmount: amount,
        customerId: `Customer:${key}-x`,
      },
      allowed: ['ACCEPTED'],
      account: `InternalAccount:${key}-x-USD`,
      effectAmount: amount,
    };
  },
};

function quoteOf(options: PlanOptions, key: string, immediatelyExecute: boolean): Made {
  const scenario = drawScenario(options);
  const amount = amountOf(options.random);
  const fields = { ...createQuoteOf(key, amount), immediatelyExecute };
  if (scenario === null) {
    const effectAmount = immediatelyExecute ? -amount : 0n;
    return { fields, allowed: ['ACCEPTED'], account: accountOf(key), effectAmount };
  }
  const source = { sourceType: 'ACCOUNT', accountId: `InternalAccount:${key}-${scenario}` };
  return { fields: { ...fields, source }, allowed: outcomesOf(scenario) };
}

/** Null: the payment goes through and stays. */
function drawScenario(options: PlanOptions): string | null {
  const { random } = options;
  if (isDrawn(options, REFUSED_SHARE)) return random() < 0.5 ? '002' : '003';
  if (isDrawn(options, LATER_SHARE)) return LATER_SCENARIOS[Math.floor(random() * LATER_SCENARIOS.length)] ?? null;
  return null;
}

function outcomesOf(scenario: string): Outcome[] {
  return scenario === '002' || scenario === '003' ? ['REFUSED'] : ['ACCEPTED'];
}

function drawLifetime(
  options: PlanOptions,
  atMs: number,
  preparedAtMs: number,
): { isRace: boolean; lifetimeMs: number } {
  if (!isDrawn(options, RACE_SHARE)) return { isRace: false, lifetimeMs: LONG_MS };
  const untilPublishedMs = atMs - (performance.now() - preparedAtMs);
  return { isRace: true, lifetimeMs: Math.max(1, Math.floor(untilPublishedMs + options.random() * RACE_SPREAD_MS)) };
}

function amountOf(random: () => number): bigint {
  return 100n + BigInt(Math.floor(random() * 900_000));
}

/** Fields of another command of the same type. */
function otherFields({ fields, type }: ChaosCommand): object {
  switch (type) {
    case 'transfer-in':
      return { ...fields, amount: 1n };
    case 'execute-quote':
      return { ...fields, quoteId: 'Quote:of-another-command' };
    case 'reject-transaction':
      return { ...fields, reason: 'another reason' };
    case 'create-quote':
    case 'immediate-quote':
      return { ...fields, lockedCurrencyAmount: 1n };
    case 'simulate-uma-receive':
      return { ...fields, receivingCurrencyAmount: 1n };
  }
}
