/** A limit of time for a part of the reading. */

export type Boxed<Value> =
  | { readonly kind: 'read'; readonly value: Value }
  /** The time was up; the sentence says of what. */
  | { readonly kind: 'cut'; readonly sentence: string };

/** The reading goes on behind the caller's back when its time is up: for processes that end soon. */
export async function within<Value>(forMs: number, what: string, reading: Promise<Value>): Promise<Boxed<Value>> {
  const up = Promise.withResolvers<Boxed<Value>>();
  const sentence = `${what}: not read to their end within ${forMs} ms (--read-for); what follows is not shown`;
  const timer = setTimeout(() => up.resolve({ kind: 'cut', sentence }), forMs);
  try {
    return await Promise.race([reading.then((value): Boxed<Value> => ({ kind: 'read', value })), up.promise]);
  } finally {
    clearTimeout(timer);
  }
}
