/** The meaning of each HTTP status, in one table for all answers: to a POST and to a GET. */

export type StatusClass =
  | 'success'
  /** Names another place for the same request. */
  | 'redirect'
  /**
   * Says nothing about whether the request took effect: statuses that we never ask for (1xx, 3xx other than redirects), failures
   * of the service, and a proxy that gave up waiting.
   */
  | 'says-nothing'
  /** The service does not accept our credentials. */
  | 'unauthorized'
  | 'deferral'
  /** The service refuses, or a proxy has no route to it: only the body shows which. */
  | 'not-here'
  | 'conflict'
  | 'refusal';

/** Exceptions from 400 on. Any other 4xx is a refusal; any other status says nothing. */
const NAMED: ReadonlyMap<number, StatusClass> = new Map([
  [401, 'unauthorized'],
  [403, 'not-here'],
  [404, 'not-here'],
  [405, 'not-here'],
  // The server or a proxy gave up waiting for the request.
  [408, 'says-nothing'],
  [409, 'conflict'],
  [425, 'deferral'],
  [429, 'deferral'],
  // A proxy's client had hung up.
  [460, 'says-nothing'],
  [499, 'says-nothing'],
  // Unlike other 5xx this settles it: the service does not know the operation.
  [501, 'refusal'],
]);
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Total: classifies invalid statuses too. */
export function statusClass(httpStatus: number): StatusClass {
  if (httpStatus >= 200 && httpStatus <= 299) return 'success';
  if (REDIRECTS.has(httpStatus)) return 'redirect';
  return NAMED.get(httpStatus) ?? (httpStatus >= 400 && httpStatus <= 499 ? 'refusal' : 'says-nothing');
}
