/** Fault rules: decides which rule hits a call. The first rule that matches, has hits left and wins its draw applies. */
import { z } from 'zod';
import { OPERATIONS, type Operation } from './operations.ts';

const DELAY_MAX_MS = 600_000;
export const FAULT_RULES_MAX = 100;

/** Only header values that Node can send. */
const headerValue = z.string().regex(/^[\x20-\x7e]{1,200}$/, 'must be 1 to 200 printable ASCII characters');
const delayMs = z.number().min(0).max(DELAY_MAX_MS);

const COMMON = {
  operation: z.enum(['any', ...OPERATIONS] as ['any', ...Operation[]]).default('any'),
  /** Only calls with this Idempotency-Key. */
  key: z.string().optional(),
  /** Share of the matching calls, 0 to 1. */
  share: z.number().min(0).max(1).default(1),
  /** Maximum number of hits; default: unlimited. */
  count: z.number().int().min(0).optional(),
};

/** One rule of `POST /control/faults`. */
export const FAULT_RULE = z.discriminatedUnion('kind', [
  /** Waits before the effect, or after it and before the answer. */
  z.strictObject({ ...COMMON, kind: z.literal('delay'), delayMs, at: z.enum(['before', 'after']).default('before') }),
  /** Answers with that status after the delay, without effect. `body` is sent unchanged. */
  z.strictObject({
    ...COMMON,
    kind: z.literal('status'),
    httpStatus: z.number().int().min(200).max(599),
    retryAfter: z.union([headerValue, z.number().min(0).transform(String)]).optional(),
    body: z.string().optional(),
    contentType: headerValue.optional(),
    delayMs: delayMs.default(0),
  }),
  /** Cuts the connection after the delay, without effect. */
  z.strictObject({ ...COMMON, kind: z.literal('drop-before'), delayMs: delayMs.default(0) }),
  /** Takes effect, then cuts the connection after the delay. */
  z.strictObject({ ...COMMON, kind: z.literal('drop-after'), delayMs: delayMs.default(0) }),
  /** Takes effect; after the delay, sends a head with the full length and half of the body, and cuts the connection. */
  z.strictObject({ ...COMMON, kind: z.literal('cut-body'), delayMs: delayMs.default(0) }),
  /** Takes effect only after the delay; meanwhile the connection is cut, or held until the client gives up. */
  z.strictObject({ ...COMMON, kind: z.literal('apply-late'), delayMs, hold: z.boolean().default(false) }),
]);
export type FaultRule = z.infer<typeof FAULT_RULE>;

export class Faults {
  #rules: { rule: FaultRule; hits: number }[] = [];
  /** A number from 0 up to 1; the same draws for the same seed. */
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  get size(): number {
    return this.#rules.length;
  }

  add(rules: readonly FaultRule[]): void {
    this.#rules.push(...rules.map((rule) => ({ rule, hits: 0 })));
  }

  clear(): void {
    this.#rules = [];
  }

  /** The body of `GET /control/faults`. */
  report(): object {
    return { faults: this.#rules.map(({ rule, hits }) => ({ ...rule, hits })) };
  }

  choose(operation: Operation, key: string | null): FaultRule | null {
    for (const entry of this.#rules) {
      const { rule } = entry;
      if (rule.operation !== 'any' && rule.operation !== operation) continue;
      if (rule.key !== undefined && rule.key !== key) continue;
      if (rule.count !== undefined && entry.hits >= rule.count) continue;
      if (rule.share < 1 && this.#random() >= rule.share) continue;
      entry.hits += 1;
      return rule;
    }
    return null;
  }
}

/** A small generator of numbers from 0 up to 1 (mulberry32), so that a run with faults can be repeated. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
