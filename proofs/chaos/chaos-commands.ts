/** The plan of a chaos run: its commands, and when each message is published. The seed decides everything. */
import { randomUUID } from 'node:crypto';
import type { CommandType, Outcome } from 'payment-processor-contract/commands';
import type { SandboxControl } from '../../test/support/sandbox-control.ts';
import { isDrawn, MAKERS, otherFields } from './chaos-makers.ts';

/** A command type, with immediate execution as a type of its own: it moves money, a plain quote does not. */
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
  /** The allowed outcomes, besides UNKNOWN. */
  readonly allowed: readonly Outcome[];
  /** The quote or incoming payment that it is about; else its key. */
  readonly subject: string;
  /** The account whose balance shows how often it took effect; null if the payment may be reversed later. */
  readonly account: string | null;
  /** What one effect adds to that account; smallest unit. */
  readonly effectAmount: bigint;
  /** Its value is unreadable, so it must get a dead letter. */
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
  /** Time from publication to expiry; null: it has no expiry. */
  readonly expiresAfterMs: number | null;
  /** Published to another partition than its key's. */
  readonly isMisrouted: boolean;
}

export interface Plan {
  readonly commands: readonly ChaosCommand[];
  /** Sorted by time. */
  readonly messages: readonly ChaosMessage[];
}

export interface PlanOptions {
  durationMs: number;
  commandsPerSecond: number;
  types: readonly ChaosType[];
  honourKeys: readonly CommandType[];
  random: () => number;
  service: SandboxControl;
  /** The prefix of every key. */
  prefix: string;
  /** True: no copies, conflicts, or broken, refused, expiring or racing commands. Each command must be ACCEPTED. */
  isPlain: boolean;
  /** The share of payments that go wrong after their acceptance; undefined: a few, or none in a plain plan. */
  laterShare?: number;
  /** How long prepared quotes and payments wait for their command; undefined: longer than any run. */
  preparedForMs?: number;
}

/** Relative frequencies; only the types that are asked for count. */
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
    // A copy might reach the lane before the moved command does.
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

export function isBroken({ allowed }: ChaosCommand): boolean {
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
