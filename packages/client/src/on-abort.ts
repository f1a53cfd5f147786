/**
 * Calls back once the signal is aborted, or at once if it is. Not AbortSignal.any: Node before 24.21 keeps each such signal for as
 * long as its sources live.
 * @returns a function that stops listening; call it, or the listener stays for as long as the signal lives
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) act();
  else signal.addEventListener('abort', act, { once: true });
  return () => signal.removeEventListener('abort', act);
}
