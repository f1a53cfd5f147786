/** The payments of a status run: of every kind and scenario of the sandbox, drawn from the seed alone. */

export const PAYMENT_KINDS = [
  'transfer-in',
  'executed-quote',
  'immediate-quote',
  /** A quote that nobody executes. */
  'expiring-quote',
  'incoming-by-command',
  /** Made at the service by somebody else: no command names it. */
  'incoming-unannounced',
  'rejected-by-command',
  /** Rejected by command, but made by somebody else. */
  'rejected-unannounced',
] as const;
export type PaymentKind = (typeof PAYMENT_KINDS)[number];

export interface PlannedPayment {
  kind: PaymentKind;
  /** The name of its accounts and customers; ends with the digits that select the sandbox's scenario. */
  name: string;
  atMs: number;
  /** From its creation until its execution or rejection. */
  followsAfterMs: number;
}

const WEIGHTS: Readonly<Record<PaymentKind, number>> = {
  'transfer-in': 30,
  'executed-quote': 25,
  'immediate-quote': 10,
  'expiring-quote': 7,
  'incoming-by-command': 8,
  'incoming-unannounced': 10,
  'rejected-by-command': 5,
  'rejected-unannounced': 5,
};
const SCENARIOS = ['004', '005', '006', '007', '011', '012', '013', '014', '015', '016', '017', '018'];

export interface PlanOptions {
  count: number;
  perSecond: number;
  followsWithinMs: number;
  kinds: readonly PaymentKind[];
  /** 0 to 1: the share of payments that do not simply go through. */
  troubledShare: number;
  random: () => number;
}

export function planPayments({
  count,
  followsWithinMs,
  kinds,
  perSecond,
  random,
  troubledShare,
}: PlanOptions): PlannedPayment[] {
  return Array.from({ length: count }, (_, index) => ({
    kind: drawKind(kinds, random),
    name: `${index}-${drawDigits(troubledShare, random)}`,
    atMs: Math.floor((index / perSecond) * 1000),
    followsAfterMs: Math.floor(random() * followsWithinMs),
  }));
}

function drawKind(kinds: readonly PaymentKind[], random: () => number): PaymentKind {
  const total = kinds.reduce((sum, kind) => sum + WEIGHTS[kind], 0);
  let place = random() * total;
  for (const kind of kinds) {
    place -= WEIGHTS[kind];
    if (place < 0) return kind;
  }
  return 'transfer-in';
}

function drawDigits(troubledShare: number, random: () => number): string {
  if (random() >= troubledShare) return 'x';
  return SCENARIOS[Math.floor(random() * SCENARIOS.length)] ?? 'x';
}
