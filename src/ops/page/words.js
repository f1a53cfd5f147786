/** Numbers, ages and the processor's terms in plain words. Pure. */

/** A process keeps no more open dead letters than this (`dead-letter-watch.ts`): at the limit there may be more. */
export const LETTERS_MAX = 10_000;

/** @typedef {import('../lag.ts').NotAdmittedCause} NotAdmittedCause */
/** @typedef {import('../processor-state.ts').UnfinishedState['state']} UnfinishedName */
/** @typedef {import('../processor-state.ts').ProcessorState['service']['state']} ServiceState */
/** @typedef {import('../../api/breaker.ts').BreakerStage} BreakerStage */

const NUMBERS = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** @param {number} value */
export function count(value) {
  return NUMBERS.format(value);
}

/**
 * In the two largest units, as people say it.
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds === 0) return '0 s';
  if (seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 9.95) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return twoUnits(whole, 60, 'min', 's');
  const minutes = Math.floor(whole / 60);
  if (minutes < 24 * 60) return twoUnits(minutes, 60, 'h', 'min');
  return twoUnits(Math.floor(minutes / 60), 24, 'd', 'h');
}

/**
 * @param {number} amount of the small unit
 * @param {number} size of the large one
 * @param {string} large
 * @param {string} small
 */
function twoUnits(amount, size, large, small) {
  const rest = amount % size;
  return `${Math.floor(amount / size)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}

/**
 * @param {number} number
 * @param {string} one
 * @param {string} many
 */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** @param {Date} instant */
export function timeOfDay(instant) {
  return instant.toLocaleTimeString('en-GB');
}

/** @param {Date} instant */
export function instantInWords(instant) {
  return `${instant.toLocaleDateString('en-CA')} ${timeOfDay(instant)}`;
}

/**
 * Numbers in a row as a range: 0 to 3, 5.
 * @param {readonly number[]} numbers ascending
 */
export function ranges(numbers) {
  /** @type {{ first: number, last: number }[]} */
  const found = [];
  for (const number of numbers) {
    const range = found.at(-1);
    if (range !== undefined && number === range.last + 1) range.last = number;
    else found.push({ first: number, last: number });
  }
  if (found.length === 0) return 'none';
  return found.map(({ first, last }) => (first === last ? String(first) : `${first} to ${last}`)).join(', ');
}

/**
 * A name in the words of a table. A name that only another release knows stays as it is.
 * @param {Readonly<Record<string, string>>} table
 * @param {string} name
 */
export function inWords(table, name) {
  return Object.hasOwn(table, name) ? (table[name] ?? name) : name;
}

/** Why commands wait in Kafka. @type {Readonly<Record<NotAdmittedCause, string>>} */
export const CAUSES = {
  'catching-up': 'being processed',
  'no-slot': 'no free call slot',
  'rate-limit': 'at the rate limit, API_MAX_RPS',
  breaker: 'the breaker is open after faults of the payment service',
  held: 'the payment service is held',
  'lane-full': 'the lane is full of unfinished commands',
  registry: 'the schema registry cannot be used',
  failed: 'our own code failed on the message: a bug',
  'lane-not-open': 'the lane is not open',
  unconfirmed: 'group membership is not confirmed',
  'operator-hold': 'held by an operator',
  'holds-unread': "operators' holds are being read",
};

/** How a call ended, by the error code of Node or undici; other codes are shown as they are. @type {Readonly<Record<string, string>>} */
export const FAULTS = {
  ECONNREFUSED: 'connection refused by',
  ECONNRESET: 'connection reset by',
  EPIPE: 'connection reset by',
  UND_ERR_SOCKET: 'connection closed by',
  ETIMEDOUT: 'no connection in time to',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time to',
  ENOTFOUND: 'host name not found:',
  EAI_AGAIN: 'host name not found:',
  EHOSTUNREACH: 'no route to',
  ENETUNREACH: 'no route to',
};

/** @type {Readonly<Record<ServiceState, string>>} */
export const SERVICE = {
  serving: 'the service is serving',
  held: 'the service is held: no calls',
  unchecked: 'the service is not checked yet',
};

/** @type {Readonly<Record<UnfinishedName, string>>} */
export const UNFINISHED = {
  INTENT: 'called, or about to be',
  PARKED: 'to be tried later',
  DOUBTFUL: 'in doubt',
  QUOTED: 'quote made, to be executed',
};

/** Why a member's report is missing. @type {Readonly<Record<import('../group/ask-member.ts').MemberFault, string>>} */
export const MEMBER_FAULTS = {
  'no-address': 'it has no address in the group',
  unreachable: 'its address cannot be reached',
  'timed-out': 'no answer in time',
  'token-refused': 'its HTTP_AUTH_TOKEN differs, or the address that it announces is not its own',
  'not-a-report': 'another release, or no processor, answers at its address',
  'too-large': 'its answer is too large',
  'another-process': 'another process answers at its address',
};

/** @type {Readonly<Record<BreakerStage, string>>} */
export const BREAKERS = {
  closed: 'closed',
  open: 'open: no calls',
  checking: 'checking the service',
  trial: 'trial: one call',
  ramp: 'ramping up',
};

/**
 * Whether an operator should look at commands with this outcome.
 * @type {Record<import('payment-processor-contract/commands').Outcome, boolean>}
 */
export const OUTCOME_NEEDS_OPERATOR = {
  ACCEPTED: false,
  REFUSED: false,
  INVALID: false,
  EXPIRED: false,
  FAILED: true,
  CONFLICT: false,
  UNKNOWN: true,
};
