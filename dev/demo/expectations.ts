/**
 * What must have come of the story, as a list of checks: each compares one text that is expected with one that was
 * seen. Pure: everything is handed in.
 */
import { KEYS, UNREADABLE_BYTES } from './commands.ts';
import type { Arrival } from './journal.ts';
import { amountsInTransit, type KeyEffects, type ServiceBooks, type ServiceEffects } from './sandbox-control.ts';
import type { Answer, Story } from './story.ts';

export interface Check {
  readonly title: string;
  readonly expected: string;
  readonly seen: string;
}

export interface Observations {
  readonly story: Story;
  readonly arrivals: readonly Arrival[];
  readonly books: ServiceBooks;
  readonly effects: ServiceEffects;
}

export function isOk(check: Check): boolean {
  return check.seen === check.expected;
}

export function checksOf(observations: Observations): Check[] {
  return [
    ...answerChecks(observations.story),
    ...statusChecks(observations),
    ...deadLetterChecks(observations.story),
    ...serviceChecks(observations),
    ...overallChecks(observations.arrivals),
  ];
}

function answerChecks(story: Story): Check[] {
  const { transferIn, copy } = story;
  const first = transferIn.kind === 'seen' ? transferIn.value.id : null;
  return [
    { title: 'the quote', expected: 'ACCEPTED', seen: outcomeOf(story.quote) },
    { title: 'its execution', expected: 'ACCEPTED', seen: outcomeOf(story.execution) },
    { title: 'the immediate quote', expected: 'ACCEPTED', seen: outcomeOf(story.immediate) },
    { title: 'the transfer-in', expected: 'ACCEPTED', seen: outcomeOf(transferIn) },
    {
      title: 'the copy of the transfer-in gets the same event again',
      expected: `ACCEPTED, event ${first ?? 'of the transfer-in'}, replayed`,
      seen:
        copy.kind === 'missing'
          ? copy.reason
          : `${outcomeOf(copy)}, event ${copy.value.id ?? 'without id'}${copy.value.headers['replayed'] === 'true' ? ', replayed' : ''}`,
    },
    {
      title: 'another amount under the key of the transfer-in',
      expected: 'CONFLICT (KEY_REUSED)',
      seen: outcomeOf(story.otherAmount),
    },
    { title: 'the incoming UMA payment', expected: 'ACCEPTED', seen: outcomeOf(story.payment) },
    { title: 'its rejection', expected: 'ACCEPTED', seen: outcomeOf(story.rejection) },
    { title: 'the quote that expires', expected: 'ACCEPTED', seen: outcomeOf(story.shortQuote) },
    {
      title: 'its execution after the expiry',
      expected: 'REFUSED (QUOTE_EXPIRED)',
      seen: outcomeOf(story.lateExecution),
    },
    { title: 'the unreadable message', expected: 'INVALID (UNREADABLE_COMMAND)', seen: outcomeOf(story.unreadable) },
  ];
}

/** The outcome, with the error's code if there is one; the reason where there is no result. */
function outcomeOf(answer: Answer): string {
  if (answer.kind === 'missing') return answer.reason;
  const { outcome, error } = answer.value.value;
  return error === null ? outcome : `${outcome} (${error.code})`;
}

function statusChecks({ story, arrivals }: Observations): Check[] {
  const quoteId = story.quote.kind === 'seen' ? story.quote.value.value.quote?.id : undefined;
  const paymentId = story.payment.kind === 'seen' ? story.payment.value.value.transaction?.id : undefined;
  const quotePath = arrivals.flatMap((arrival) =>
    arrival.kind === 'quote-status' && arrival.value.quoteId === quoteId ? [arrival.value] : [],
  );
  const paymentPath = arrivals.flatMap((arrival) =>
    arrival.kind === 'transaction-status' && arrival.value.transactionId === paymentId ? [arrival.value] : [],
  );
  return [
    {
      title: 'status changes of the quote, until it is executed',
      expected: 'new -> PENDING, PENDING -> PROCESSING',
      // It goes on to COMPLETED, sooner or later.
      seen: pathText(quotePath.slice(0, 2)),
    },
    {
      title: 'status changes of the incoming payment',
      expected: 'new -> PENDING, PENDING -> REJECTED',
      seen: pathText(paymentPath),
    },
  ];
}

function pathText(changes: readonly { previousStatus: string | null; status: string }[]): string {
  if (changes.length === 0) return 'none';
  return changes.map(({ previousStatus, status }) => `${previousStatus ?? 'new'} -> ${status}`).join(', ');
}

function deadLetterChecks({ deadLetter }: Story): Check[] {
  const letter = deadLetter.kind === 'seen' ? deadLetter.value : null;
  const missing = deadLetter.kind === 'missing' ? deadLetter.reason : '';
  return [
    {
      title: 'the dead letter of the unreadable message',
      expected: 'UNREADABLE',
      seen: letter === null ? missing : (letter.headers['dlq-reason'] ?? 'no reason'),
    },
    {
      title: 'its bytes',
      expected: UNREADABLE_BYTES.toString('hex'),
      seen: letter === null ? missing : (letter.value?.toString('hex') ?? 'none'),
    },
  ];
}

/** Keys that must have taken effect, as the service counts: once each, and no other key at all. */
const EFFECTS_EXPECTED: Readonly<Record<string, readonly string[]>> = {
  'create-quote': [KEYS.quote, KEYS.immediate, KEYS.shortQuote],
  'execute-quote': [KEYS.execution, `${KEYS.immediate}.execute`],
  'transfer-in': [KEYS.transferIn],
  'simulate-uma-receive': [KEYS.payment],
  'reject-transaction': [KEYS.rejection],
};

function serviceChecks({ books, effects }: Observations): Check[] {
  const made = effects.operations['create-quote']?.[KEYS.immediate]?.effects ?? 0;
  const executed = effects.operations['execute-quote']?.[`${KEYS.immediate}.execute`]?.effects ?? 0;
  const executions = Object.values(effects.quotes).map((quote) => quote.executions);
  const open = Object.entries(books.totals).filter(([, total]) => total !== '0');
  return [
    {
      title: 'effects of the immediate quote',
      expected: 'made 1, executed 1',
      seen: `made ${made}, executed ${executed}`,
    },
    {
      title: 'executions of all quotes: two, each once, and none of the expired one',
      expected: '1, 1, 0',
      seen: executions.toSorted((left, right) => right - left).join(', ') || 'none',
    },
    {
      title: 'effects of the transfer-in key, published three times',
      expected: '1',
      seen: String(effects.operations['transfer-in']?.[KEYS.transferIn]?.effects ?? 0),
    },
    {
      title: 'effects of all keys',
      expected: 'each exactly as often as it must be',
      seen: effectDifferences(effects).join('; ') || 'each exactly as often as it must be',
    },
    {
      title: "the service's books",
      expected: 'balanced in every currency',
      seen:
        books.balanced && open.length === 0
          ? 'balanced in every currency'
          : `out by ${open.map(([currency, total]) => `${total} ${currency}`).join(', ')}`,
    },
    { title: 'money still under way', expected: 'none', seen: amountsInTransit(books).join(', ') || 'none' },
  ];
}

function effectDifferences(effects: ServiceEffects): string[] {
  const differences: string[] = [];
  for (const [operation, keys] of Object.entries(EFFECTS_EXPECTED)) {
    for (const key of keys) {
      const seen = effects.operations[operation]?.[key]?.effects ?? 0;
      if (seen !== 1) differences.push(`${operation} ${key}: ${seen} instead of 1`);
    }
  }
  for (const { operation, key, effects: count } of keyedEffects(effects)) {
    if (count > 0 && EFFECTS_EXPECTED[operation]?.includes(key) !== true)
      differences.push(`${operation} ${key}: ${count} instead of 0`);
  }
  for (const [operation, tally] of Object.entries(effects.unkeyed)) {
    if (tally.effects > 0) differences.push(`${operation} without a key: ${tally.effects} instead of 0`);
  }
  return differences;
}

/** One line per operation and key that the service was called with. */
export function keyedEffects(effects: ServiceEffects): ({ operation: string; key: string } & KeyEffects)[] {
  return Object.entries(effects.operations).flatMap(([operation, keys]) =>
    Object.entries(keys).map(([key, tally]) => ({ operation, key, ...tally })),
  );
}

function overallChecks(arrivals: readonly Arrival[]): Check[] {
  const idsByKey = new Map<string, Set<string>>();
  for (const arrival of arrivals) {
    if (arrival.kind !== 'result' || arrival.value.outcome === 'CONFLICT') continue;
    const ids = idsByKey.get(arrival.key) ?? new Set();
    idsByKey.set(arrival.key, ids.add(arrival.id ?? ''));
  }
  const several = [...idsByKey].filter(([, ids]) => ids.size > 1).map(([key, ids]) => `${key}: ${ids.size}`);
  const unreadable = arrivals.flatMap((arrival) => (arrival.kind === 'unreadable' ? [arrival.problem] : []));
  return [
    { title: 'keys with more than one result', expected: 'none', seen: several.join('; ') || 'none' },
    { title: 'results and events that could not be read', expected: 'none', seen: unreadable.join('; ') || 'none' },
  ];
}
