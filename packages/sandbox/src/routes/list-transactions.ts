/**
 * GET /transactions: twelve parameters, pages by cursor. A cursor is the id of a page's last transaction, signed
 * together with the filters. The service rejects one that was invented, cut, or used with other filters.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { readQuery } from '../query.ts';
import { invalidInput, jsonReply, unchanged, type Outcome } from '../replies.ts';
import type { Transaction, World } from '../state.ts';
import { check } from '../validation.ts';
import { transactionView } from '../views.ts';

/** Filters except the dates, each with the values of a transaction that it matches. */
const FILTERS = {
  customerId: ({ customerId }) => [customerId],
  platformCustomerId: ({ platformCustomerId }) => [platformCustomerId],
  senderAccountIdentifier: ({ senderIdentifiers }) => senderIdentifiers,
  receiverAccountIdentifier: ({ receiverIdentifiers }) => receiverIdentifiers,
  status: ({ status }) => [status],
  type: ({ type }) => [type],
  // A CREATED transaction does not show its reference yet, so the filter must not find it.
  reference: ({ reference, status }) => (status === 'CREATED' ? [] : [reference]),
} satisfies Record<string, (transaction: Transaction) => readonly string[]>;

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;
const text = z.string().optional();
const instant = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 date-time with its zone, such as 2026-01-31T00:00:00Z' })
  .transform((date) => Date.parse(date))
  .optional();
const QUERY = z.object({
  customerId: text,
  platformCustomerId: text,
  senderAccountIdentifier: text,
  receiverAccountIdentifier: text,
  status: z
    .enum(['CREATED', 'PENDING', 'PROCESSING', 'SENT', 'COMPLETED', 'REJECTED', 'FAILED', 'REFUNDED', 'EXPIRED'])
    .optional(),
  type: z.enum(['INCOMING', 'OUTGOING']).optional(),
  reference: text,
  startDate: instant,
  endDate: instant,
  limit: z
    .string()
    .refine(
      (limit) => /^[1-9]\d{0,2}$/.test(limit) && Number(limit) <= LIMIT_MAX,
      `must be a whole number from 1 to ${LIMIT_MAX}`,
    )
    .transform(Number)
    .default(LIMIT_DEFAULT),
  cursor: text,
  sortOrder: z.enum(['asc', 'desc']).default('desc'),
});
type Parameters = z.infer<typeof QUERY>;

/** Lives as long as the process. A reset still invalidates cursors, because their transactions are gone. */
const SECRET = randomBytes(32);

/** Answers one page. `query` is the text after `?`, as received. */
export function listTransactions(world: World, query: string): Outcome {
  const read = readQuery(query, Object.keys(QUERY.shape));
  if (!read.ok) return unchanged(invalidInput(...read.problems));
  const checked = check(QUERY, Object.fromEntries(read.parameters));
  if (!checked.ok) return unchanged(invalidInput(...checked.problems));

  const parameters = checked.value;
  const filters = filtersText(parameters);
  const after = parameters.cursor === undefined ? null : readCursor(parameters.cursor, filters);
  const last = after === null ? undefined : world.transactions.get(after);
  if (parameters.cursor !== undefined && last === undefined) {
    return unchanged(invalidInput({ path: 'cursor', message: 'was not issued by this service for these filters' }));
  }

  const { data, totalCount, hasMore } = pageOf(world, parameters, last?.position ?? null);
  const lastOfPage = data.at(-1);
  return unchanged(
    jsonReply(200, {
      data: data.map(transactionView),
      hasMore,
      ...(hasMore && lastOfPage !== undefined ? { nextCursor: issueCursor(lastOfPage.id, filters) } : {}),
      totalCount,
    }),
  );
}

/** One page of the timeline after the position `after`, in sort direction. */
function pageOf(
  world: World,
  parameters: Parameters,
  after: number | null,
): { data: Transaction[]; totalCount: number; hasMore: boolean } {
  const { timeline } = world;
  const { endDate: endMs, limit, startDate: startMs } = parameters;
  const from = startMs === undefined ? 0 : firstIndex(timeline, ({ createdAtMs }) => createdAtMs >= startMs);
  const until = endMs === undefined ? timeline.length : firstIndex(timeline, ({ createdAtMs }) => createdAtMs > endMs);
  const matches = predicateOf(parameters);
  const ascending = parameters.sortOrder === 'asc';
  const data: Transaction[] = [];
  let hasMore = false;
  let totalCount = 0;
  for (let step = 0; step < until - from; step++) {
    const transaction = timeline[ascending ? from + step : until - 1 - step];
    if (transaction === undefined || !(matches === null || matches(transaction))) continue;
    totalCount += 1;
    if (after !== null && (ascending ? transaction.position <= after : transaction.position >= after)) continue;
    if (data.length < limit) data.push(transaction);
    else {
      hasMore = true;
      // Without a predicate the whole range matches, so counting needs no scan.
      if (matches === null) break;
    }
  }
  return { data, totalCount: matches === null ? Math.max(until - from, 0) : totalCount, hasMore };
}

/** Null without filters other than the dates. */
function predicateOf(parameters: Parameters): ((transaction: Transaction) => boolean) | null {
  const tests = Object.entries(FILTERS).flatMap(([name, namesOf]) => {
    const asked = parameters[name as keyof typeof FILTERS];
    return asked === undefined ? [] : [(transaction: Transaction) => namesOf(transaction).includes(asked)];
  });
  return tests.length === 0 ? null : (transaction) => tests.every((test) => test(transaction));
}

/** What a cursor is bound to: every parameter except `limit` and `cursor`. */
function filtersText(parameters: Parameters): string {
  return JSON.stringify({ ...parameters, cursor: undefined, limit: undefined });
}

/** The cursor after the transaction with that id. */
function issueCursor(transactionId: string, filters: string): string {
  const text = Buffer.from(transactionId).toString('base64url');
  return `${text}.${signature(transactionId, filters)}`;
}

/** The transaction id in a cursor that was issued for these filters; null for any other text. */
function readCursor(cursor: string, filters: string): string | null {
  const [text = '', signed, ...rest] = cursor.split('.');
  if (signed === undefined || rest.length > 0) return null;
  const transactionId = Buffer.from(text, 'base64url').toString();
  return issueCursor(transactionId, filters) === cursor ? transactionId : null;
}

function signature(transactionId: string, filters: string): string {
  return createHmac('sha256', SECRET).update(`${transactionId}\n${filters}`).digest('base64url').slice(0, 22);
}

/** The index of the first transaction that passes a test, or the end. */
function firstIndex(timeline: readonly Transaction[], passes: (transaction: Transaction) => boolean): number {
  const index = timeline.findIndex(passes);
  return index === -1 ? timeline.length : index;
}
