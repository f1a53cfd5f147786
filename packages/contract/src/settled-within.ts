/**
 * Waits for a promise to settle, but no longer than the limit.
 * @returns false: the limit has passed
 * @throws the promise's error
 */
export async function settledWithin(ended: Promise<unknown>, waitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), waitMs)));
  try {
    return await Promise.race([ended.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
