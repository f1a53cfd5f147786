/**
 * Cursors: a position in the timeline, bound to its filters and signed. The service rejects a cursor that was invented, cut, or
 * used with other filters.
 */
import { createHmac, randomBytes } from 'node:crypto';

/** Lives as long as the process. A reset still invalidates cursors, because their transactions are gone. */
const SECRET = randomBytes(32);

/** The cursor after the transaction with that id. */
export function issueCursor(transactionId: string, filters: string): string {
  const text = Buffer.from(transactionId).toString('base64url');
  return `${text}.${signature(transactionId, filters)}`;
}

/** The transaction id in a cursor that was issued for these filters; null for any other text. */
export function readCursor(cursor: string, filters: string): string | null {
  const [text = '', signed, ...rest] = cursor.split('.');
  if (signed === undefined || rest.length > 0) return null;
  const transactionId = Buffer.from(text, 'base64url').toString();
  return issueCursor(transactionId, filters) === cursor ? transactionId : null;
}

function signature(transactionId: string, filters: string): string {
  return createHmac('sha256', SECRET).update(`${transactionId}\n${filters}`).digest('base64url').slice(0, 22);
}
