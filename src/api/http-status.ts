/** What an HTTP status says, in one table for all answers: to a change, and to a question. */

export type StatusClass =
  | 'success'
  /** Names another place for the same request. */
  | 'redirect'
  /**
   * Says nothing of whether the request took effect: what nothing here asks for (1xx, 3xx that lead nowhere), failures of
   * the service, and what proxies say when they gave up waiting.
   */
  | 'says-nothing'
  /** The service does not accept our credentials. */
  | 'unauthorized'
  | 'told-to-wait'
  /** The service's refusal, or the word of a proxy that leads nowhere: only the body tells. */
  | 'not-here'
  | 'conflict'
  | 'refusal';

/** From 400 on; what is not in it is a refusal. */
const NAMED: ReadonlyMap<number, StatusClass> = new Map([
  [401, 'unauthorized'],
  [403, 'not-here'],
  [404, 'not-here'],
  [405, 'not-here'],
  // Of whoever waited for the request.
  [408, 'says-nothing'],
  [409, 'conflict'],
  [425, 'told-to-wait'],
  [429, 'told-to-wait'],
  // Of proxies whose client had hung up.
  [460, 'says-nothing'],
  [499, 'says-nothing'],
  // It does say something: the service does not know the operation.
  [501, 'refusal'],
]);
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Total: also of numbers that are no status. */
export function statusClass(httpStatus: number): StatusClass {
  if (httpStatus >= 200 && httpStatus <= 299) return 'success';
  if (REDIRECTS.has(httpStatus)) return 'redirect';
  return NAMED.get(httpStatus) ?? (httpStatus >= 400 && httpStatus <= 499 ? 'refusal' : 'says-nothing');
}
