/**
 * Answers kept by Idempotency-Key. A key belongs to one operation of one client. Look-up, execution and storing happen in one
 * turn of the event loop, so two requests with one key can never both take effect.
 */
import {
  int64ValueOf,
  isJsonObject,
  parseLossless,
  stringifyLossless,
  type JsonValue,
} from 'payment-processor-contract/lossless-json';
import type { Reply } from './replies.ts';

interface StoredReply {
  /** The request's path id, query and body, as received. */
  request: string;
  reply: Reply;
  storedAtMs: number;
}

export type Recall = { kind: 'new' } | { kind: 'stored'; reply: Reply } | { kind: 'other-request'; reply: Reply };

export class IdempotencyStore {
  /** Oldest first, in the order of storing. */
  readonly #stored = new Map<string, StoredReply>();

  recall(key: string, request: string, nowMs: number, retentionMs: number): Recall {
    for (const [oldKey, old] of this.#stored) {
      if (nowMs - old.storedAtMs < retentionMs) break;
      this.#stored.delete(oldKey);
    }
    const stored = this.#stored.get(key);
    if (stored === undefined) return { kind: 'new' };
    return { kind: isSameRequest(stored.request, request) ? 'stored' : 'other-request', reply: stored.reply };
  }

  /** Keeps 2xx and 4xx answers, but no 5xx. */
  store(key: string, request: string, reply: Reply, nowMs: number): void {
    if (reply.status < 500) this.#stored.set(key, { request, reply, storedAtMs: nowMs });
  }
}

/** The same text, or the same JSON except for field order, blanks and integer notation. */
function isSameRequest(left: string, right: string): boolean {
  if (left === right) return true;
  try {
    return canonicalText(left) === canonicalText(right);
  } catch {
    return false;
  }
}

function canonicalText(request: string): string {
  const bodyAt = request.indexOf('\n') + 1;
  return request.slice(0, bodyAt) + stringifyLossless(sorted(parseLossless(request.slice(bodyAt))));
}

function sorted(value: JsonValue): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return int64ValueOf(value) ?? value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name] ?? null)]));
}
