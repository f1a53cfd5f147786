/** Checks invariant I4 for the events of a run: each change of a transaction or quote once, in order, never backwards. */
import type { QuoteEvent, TransactionEvent } from '../../test/support/journal.ts';

/** How far a payment of the sandbox is. The number rises with each event of a transaction. */
const PROGRESS: Readonly<Record<string, number>> = {
  CREATED: 0,
  PENDING: 1,
  PROCESSING: 2,
  SENT: 3,
  COMPLETED: 4,
  REJECTED: 4,
  FAILED: 4,
  EXPIRED: 4,
  REFUNDED: 5,
};

interface StatusEvent {
  id: string | null;
  key: string;
  previousStatus: string | null;
  status: string;
}

export function judgeStatusEvents(evidence: {
  transactionEvents: readonly TransactionEvent[];
  quoteEvents: readonly QuoteEvent[];
}): string[] {
  return [
    ...judgeChains(evidence.transactionEvents.map(plain), true),
    // A quote may be FAILED after COMPLETED, if its payment is returned, so progress is not checked.
    ...judgeChains(evidence.quoteEvents.map(plain), false),
  ];
}

function plain({ id, key, value }: TransactionEvent | QuoteEvent): StatusEvent {
  return { id, key, previousStatus: value.previousStatus, status: value.status };
}

function judgeChains(events: readonly StatusEvent[], isProgressKnown: boolean): string[] {
  const wrong: string[] = [];
  const ids = new Set<string | null>();
  const last = new Map<string, string>();
  for (const { id, key, previousStatus, status } of events) {
    const before = last.get(key) ?? null;
    if (id === null || ids.has(id)) wrong.push(`${key}: the event id ${id} comes twice`);
    ids.add(id);
    if (status === before) wrong.push(`${key}: ${status} comes twice in a row`);
    else if (previousStatus !== before)
      wrong.push(`${key}: ${status} after ${previousStatus}, but before it came ${before}`);
    else if (isProgressKnown && before !== null && (PROGRESS[status] ?? 0) <= (PROGRESS[before] ?? 0)) {
      wrong.push(`${key}: ${status} after ${before}, the wrong way round`);
    }
    last.set(key, status);
  }
  return wrong;
}
