/** Waits for a promise to settle, but no longer than the limit. */
export async function settledWithin(ended: Promise<unknown>, waitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const waited = new Promise<void>((resolve) => (timer = setTimeout(resolve, waitMs)));
  await Promise.race([ended, waited]);
  clearTimeout(timer);
}
