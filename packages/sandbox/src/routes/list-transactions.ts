/** GET /transactions: twelve parameters, pages by cursor. */
import { issueCursor, readCursor } from '../cursors.ts';
import { instantOf, readQuery } from '../query.ts';
import { invalidInput, jsonReply, unchanged, type Outcome, type Problem } from '../replies.ts';
import type { Transaction, World } from '../state.ts';
import { transactionView } from '../views.ts';

const STATUSES = ['CREATED', 'PENDING', 'PROCESSING', 'SENT', 'COMPLETED', 'REJECTED', 'FAILED', 'REFUNDED', 'EXPIRED'];
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  status: STATUSES,
  type: ['INCOMING', 'OUTGOING'],
  sortOrder: ['asc', 'desc'],
};
/** Filters except the dates, each with the values of a transaction that it matches. */
const FILTERS: Readonly<Record<string, (transaction: Transaction) => readonly string[]>> = {
  customerId: ({ customerId }) => [customerId],
  platformCustomerId: ({ platformCustomerId }) => [platformCustomerId],
  senderAccountIdentifier: ({ senderIdentifiers }) => senderIdentifiers,
  receiverAccountIdentifier: ({ receiverIdentifiers }) => receiverIdentifiers,
  status: ({ status }) => [status],
  type: ({ type }) => [type],
  // A CREATED transaction does not show its reference yet, so the filter must not find it.
  reference: ({ reference, status }) => (status === 'CREATED' ? [] : [reference]),
};
const PARAMETERS = [...Object.keys(FILTERS), 'startDate', 'endDate', 'limit', 'cursor', 'sortOrder'];
type Parameters = Readonly<Partial<Record<string, string>>>;

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;

/** Answers one page. `query` is the text after `?`, as received. */
export function listTransactions(world: World, query: string): Outcome {
  const read = readQuery(query, PARAMETERS);
  if (!read.ok) return unchanged(invalidInput(...read.problems));
  const parameters: Parameters = Object.fromEntries(read.parameters);
  const problems = problemsOf(parameters);
  if (problems.length > 0) return unchanged(invalidInput(...problems));

  const filters = filtersText(read.parameters);
  const after = parameters.cursor === undefined ? null : readCursor(parameters.cursor, filters);
  const last = after === null ? undefined : world.transactions.get(after);
  if (parameters.cursor !== undefined && last === undefined) {
    return unchanged(invalidInput({ path: 'cursor', message: 'was not issued by this service for these filters' }));
  }

  const limit = parameters.limit === undefined ? LIMIT_DEFAULT : Number(parameters.limit);
  const { data, totalCount, hasMore } = pageOf(world, parameters, limit, last?.position ?? null);
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

function problemsOf(parameters: Parameters): Problem[] {
  const problems: Problem[] = [];
  for (const [path, choices] of Object.entries(CHOICES)) {
    const value = parameters[path];
    if (value !== undefined && !choices.includes(value))
      problems.push({ path, message: `must be one of ${choices.join(', ')}` });
  }
  for (const path of ['startDate', 'endDate']) {
    const value = parameters[path];
    if (value !== undefined && instantOf(value) === null) {
      problems.push({ path, message: 'must be an ISO 8601 date-time with its zone, such as 2026-01-31T00:00:00Z' });
    }
  }
  const { limit } = parameters;
  if (limit !== undefined && !(/^[1-9]\d{0,2}$/.test(limit) && Number(limit) <= LIMIT_MAX)) {
    problems.push({ path: 'limit', message: `must be a whole number from 1 to ${LIMIT_MAX}` });
  }
  return problems;
}

/** One page of the timeline after the position `after`, in sort direction. */
function pageOf(
  world: World,
  parameters: Parameters,
  limit: number,
  after: number | null,
): { data: Transaction[]; totalCount: number; hasMore: boolean } {
  const { timeline } = world;
  const [startMs, endMs] = [parameters.startDate, parameters.endDate].map((text = '') => instantOf(text));
  const from = startMs == null ? 0 : firstIndex(timeline, ({ createdAtMs }) => createdAtMs >= startMs);
  const until = endMs == null ? timeline.length : firstIndex(timeline, ({ createdAtMs }) => createdAtMs > endMs);
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
    const asked = parameters[name];
    return asked === undefined ? [] : [(transaction: Transaction) => namesOf(transaction).includes(asked)];
  });
  return tests.length === 0 ? null : (transaction) => tests.every((test) => test(transaction));
}

/** What a cursor is bound to: every parameter except `limit` and `cursor`, in a fixed order. */
function filtersText(parameters: ReadonlyMap<string, string>): string {
  const filters = { ...Object.fromEntries(parameters), sortOrder: parameters.get('sortOrder') ?? 'desc' };
  return JSON.stringify(
    Object.entries(filters)
      .filter(([name]) => name !== 'limit' && name !== 'cursor')
      .sort(),
  );
}

/** The index of the first transaction that passes a test, or the end. */
function firstIndex(timeline: readonly Transaction[], passes: (transaction: Transaction) => boolean): number {
  const index = timeline.findIndex(passes);
  return index === -1 ? timeline.length : index;
}
