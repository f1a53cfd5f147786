/**
 * Answers kept by Idempotency-Key. A key belongs to one operation of one client. Looking up, performing and storing
 * happen in one turn of the event loop, so that two requests with one key can never both take effect.
 */
import { isJsonObject, parseLossless, stringifyLossless, type JsonValue } from '../../src/records/lossless-json.ts';
import type { Reply } from './replies.ts';

interface StoredReply {
  /** What the request asked for: its path id and its body as received. */
  request: string;
  reply: Reply;
  storedAtMs: number;
}

export type Recall = { kind: 'new' } | { kind: 'stored'; reply: Reply } | { kind: 'other-request' };

export class IdempotencyStore {
  /** In the order of storing, so that the oldest is first to go. */
  readonly #stored = new Map<string, StoredReply>();

  recall(key: string, request: string, nowMs: number, retentionMs: number): Recall {
    for (const [oldKey, old] of this.#stored) {
      if (nowMs - old.storedAtMs < retentionMs) break;
      this.#stored.delete(oldKey);
    }
    const stored = this.#stored.get(key);
    if (stored === undefined) return { kind: 'new' };
    return isSameRequest(stored.request, request) ? { kind: 'stored', reply: stored.reply } : { kind: 'other-request' };
  }

  /** Keeps 2xx and 4xx answers; a 5xx is no answer to keep. */
  store(key: string, request: string, reply: Reply, nowMs: number): void {
    if (reply.status < 500) this.#stored.set(key, { request, reply, storedAtMs: nowMs });
  }
}

/** The same text, or the same JSON but for the order of fields and blanks. */
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

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name] ?? null)]));
}
