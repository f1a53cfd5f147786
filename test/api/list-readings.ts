/** What asking for a list of transactions comes to. */
import type { ListFailure, ListReading } from '../../src/api/types.ts';

type Page = Extract<ListReading, { kind: 'page' }>;
type Failed = Extract<ListReading, { kind: 'failed' }>;

/** The last page, without transactions. */
export function aPage(changes: Partial<Page> = {}): Page {
  const isLast = { hasMore: false, nextCursor: null, totalCount: null };
  return { kind: 'page', data: [], ...isLast, isIncomplete: false, warnings: [], ...changes };
}

export function aFailure(cause: ListFailure, changes: Partial<Failed> = {}): Failed {
  const said = { httpStatus: null, retryAfterMs: null, serviceSays: null };
  return { kind: 'failed', cause, reason: 'of a test', ...said, ...changes };
}
