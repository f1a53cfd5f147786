/** Checks of what arrived. Each compares an expected text with the actual one. */
import { UNREADABLE_BYTES } from './commands.ts';
import type { Journal } from './journal.ts';

export interface Check {
  readonly title: string;
  readonly isOk: boolean;
  readonly text: string;
}

export function check(title: string, expected: string, seen: string): Check {
  const isOk = seen === expected;
  const text = isOk ? `  ok      ${title}: ${seen}` : `  NOT OK  ${title}: expected ${expected}; seen: ${seen}`;
  return { title, isOk, text };
}

export function listed(parts: readonly string[], separator = ', '): string {
  return parts.join(separator) || 'none';
}

/** As `PENDING -> PROCESSING`. */
export function changeText({ previousStatus, status }: { previousStatus: string | null; status: string }): string {
  return `${previousStatus ?? 'new'} -> ${status}`;
}

export function eventChecks(journal: Journal): Check[] {
  const resultOf = (ownKey: string) => journal.ofKind('result').find(({ key }) => key === ownKey)?.value;
  const quoteId = resultOf('quote-1')?.quote?.id;
  const paymentId = resultOf('uma-payment-1')?.transaction?.id;
  const quoteChanges = journal.ofKind('quote-status').filter(({ key }) => key === quoteId);
  const paymentChanges = journal.ofKind('transaction-status').filter(({ key }) => key === paymentId);
  // Sooner or later it continues to COMPLETED.
  const quotePath = listed(quoteChanges.slice(0, 2).map(({ value }) => changeText(value)));
  const paymentPath = listed(paymentChanges.map(({ value }) => changeText(value)));
  const letter = journal.ofKind('dead-letter').find(({ key }) => key === 'unreadable-1');
  return [
    check('status changes of the quote, until it is executed', 'new -> PENDING, PENDING -> PROCESSING', quotePath),
    check('status changes of the incoming payment', 'new -> PENDING, PENDING -> REJECTED', paymentPath),
    check('the dead letter of the unreadable message', 'UNREADABLE', letter?.headers['dlq-reason'] ?? 'none'),
    check('its bytes', UNREADABLE_BYTES.toString('hex'), letter?.value?.toString('hex') ?? 'none'),
  ];
}

export function overallChecks(journal: Journal): Check[] {
  const results = journal.ofKind('result').filter(({ value }) => value.outcome !== 'CONFLICT');
  const several = [...Map.groupBy(results, ({ key }) => key)].flatMap(([key, ofKey]) => {
    const ids = new Set(ofKey.map(({ id }) => id));
    return ids.size > 1 ? [`${key}: ${ids.size}`] : [];
  });
  const problems = journal.ofKind('unreadable').map(({ problem }) => problem);
  return [
    check('keys with more than one result', 'none', listed(several, '; ')),
    check('results and events that could not be read', 'none', listed(problems, '; ')),
  ];
}
