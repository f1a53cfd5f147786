/** The book lines of a payment's movements. */
import { reversed, type BookLine } from './books.ts';
import type { Party, Transaction } from './state.ts';

/** Where the money goes: to the receiver, back to the sender from transit, or back to the sender from the receiver. */
export type Movement = 'deliver' | 'return' | 'take-back';

export function linesOf(movement: Movement, transaction: Transaction): BookLine[] {
  switch (movement) {
    case 'deliver':
      return deliverLines(transaction);
    case 'return':
      return reversed(takeLines(transaction));
    case 'take-back':
      return reversed([...takeLines(transaction), ...deliverLines(transaction)]);
  }
}

/** From the sender into transit, with separate fees. */
export function takeLines({ source, sent, price }: Transaction): BookLine[] {
  const fees = price?.fees ?? 0n;
  const currency = sent.currency.code;
  const lines: BookLine[] = [
    { account: bookAccountOf(source), currency, amount: -sent.amount },
    { account: 'transit', currency, amount: sent.amount - fees },
  ];
  if (fees !== 0n) lines.push({ account: 'fees', currency, amount: fees });
  return lines;
}

/** From transit to the receiver, through the exchange if a quote priced it. */
function deliverLines({ destination, sent, received, price }: Transaction): BookLine[] {
  const converted = sent.amount - (price?.fees ?? 0n);
  const receiverLine = {
    account: bookAccountOf(destination),
    currency: received.currency.code,
    amount: received.amount,
  };
  const transitLine = { account: 'transit', currency: sent.currency.code, amount: -converted };
  if (price === null) return [transitLine, receiverLine];
  return [
    transitLine,
    { account: 'exchange', currency: sent.currency.code, amount: converted },
    { account: 'exchange', currency: received.currency.code, amount: -received.amount },
    receiverLine,
  ];
}

function bookAccountOf(party: Party): string {
  return party.kind === 'ACCOUNT' ? party.account.id : 'uma-network';
}
