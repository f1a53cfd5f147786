/**
 * Settings: environment -> Config. One table holds each setting's name, default, meaning and parser; documentation and the
 * chart are generated from it. All problems are reported together; nothing starts with a wrong setting (exit code 78).
 */
import { instantMs } from './instants.ts';
import { isIPv6 } from 'node:net';
import { COMMAND_TYPES, isCommandType, type CommandType } from './commands.ts';
import { WatchedFile } from './watched-file.ts';

/** EX_CONFIG of sysexits: the configuration is wrong. */
export const EXIT_CODE_CONFIG = 78;
/** Upper bound of API_TIMEOUT_MS. */
export const API_TIMEOUT_MAX_MS = 300_000;
/** Upper bound of KAFKA_SESSION_TIMEOUT_MS. */
export const SESSION_TIMEOUT_MAX_MS = 300_000;

export type MaxAgeMs = Record<CommandType, number>;

interface Setting<Value> {
  /** Shown in the documentation; null: required; '': none. */
  default: string | null;
  secret?: true;
  meaning: string;
  parse: (text: string) => Value;
}

class SettingProblem extends Error {}

const DURATION_UNITS_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** A century: an instant so long ago is still a date. */
const DURATION_MS_MAX = 36_500 * 86_400_000;

function parseDurationMs(text: string): number {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  const unitMs = DURATION_UNITS_MS[match?.[2] ?? ''];
  if (match === null || unitMs === undefined)
    throw new SettingProblem('is not a duration such as 500ms, 30s, 15m, 24h or 7d');
  const durationMs = Number(match[1]) * unitMs;
  if (durationMs > DURATION_MS_MAX) throw new SettingProblem('is longer than 36500d');
  return durationMs;
}

function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) throw new SettingProblem(`is not a whole number from ${min} to ${max}`);
    return value;
  };
}

function optional<Value>(parse: (text: string) => Value): (text: string) => Value | null {
  return (text) => (text === '' ? null : parse(text));
}

function oneOf<Choice extends string>(...choices: Choice[]): (text: string) => Choice {
  return (text) => {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) throw new SettingProblem(`is not one of ${choices.join(', ')}`);
    return found;
  };
}

const text = (value: string): string => value;
const optionalText = optional(text);
const boolean = (value: string): boolean => oneOf('true', 'false')(value) === 'true';

function httpUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new SettingProblem('is not an http or https URL');
  if (url.username !== '' || url.password !== '')
    throw new SettingProblem('must not contain credentials; they have settings of their own');
  if (url.search !== '' || url.hash !== '') throw new SettingProblem('must not have a query or fragment');
  return value.replace(/\/+$/, '');
}

/**
 * `none`, a host, or an http or https URL of only host and port. Its length is limited, because the whole group receives it.
 */
function memberAddress(value: string): string {
  if (value === 'none') return value;
  if (value.length > 150) throw new SettingProblem('is longer than 150 characters');
  if (!value.includes('//')) {
    if (!isIPv6(value) && !/^[a-zA-Z0-9._-]+$/.test(value))
      throw new SettingProblem('is neither a host nor an http or https URL; a port requires the URL form');
    return value;
  }
  const url = new URL(httpUrl(value));
  if (url.pathname !== '/') throw new SettingProblem('must not have a path');
  return url.origin;
}

function brokerList(value: string): string[] {
  const brokers = value.split(',').map((broker) => broker.trim());
  if (!brokers.every((broker) => /^[^\s:]+:\d{1,5}$/.test(broker)))
    throw new SettingProblem('is not a list like host1:9092,host2:9092');
  return brokers;
}

function topicName(value: string): string {
  if (!/^[a-zA-Z0-9._-]{1,100}$/.test(value))
    throw new SettingProblem('is not 1 to 100 characters of letters, digits, ".", "_" and "-"');
  return value;
}

function operationList(value: string): CommandType[] {
  const names = value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return names.map(commandType);
}

function commandType(name: string): CommandType {
  if (isCommandType(name)) return name;
  throw new SettingProblem(`names ${JSON.stringify(name)}, which is not one of ${COMMAND_TYPES.join(', ')}`);
}

const DEFAULT_MAX_AGES = {
  'create-quote': '15m',
  'execute-quote': '15m',
  'transfer-in': '24h',
  'reject-transaction': '24h',
  'simulate-uma-receive': '15m',
} as const satisfies Record<CommandType, string>;

/** The default as an operator would write it. The sandbox's command is left out: few enable it. */
const DEFAULT_MAX_AGE = Object.entries(DEFAULT_MAX_AGES)
  .filter(([type]) => type !== 'simulate-uma-receive')
  .map(([type, age]) => `${type}=${age}`)
  .join(',');

function maxAges(value: string): MaxAgeMs {
  const given = new Map(
    value.split(',').map((part) => {
      const [name = '', duration = ''] = part.trim().split('=');
      return [commandType(name), parseDurationMs(duration)];
    }),
  );
  const ages = COMMAND_TYPES.map((type) => [type, given.get(type) ?? parseDurationMs(DEFAULT_MAX_AGES[type])]);
  return Object.fromEntries(ages) as MaxAgeMs;
}

function instant(value: string): number {
  const ms = instantMs(value);
  if (ms === null) throw new SettingProblem('is not an ISO 8601 instant with a zone, such as 2026-01-31T00:00:00Z');
  return ms;
}

function setting<Value>(
  fallback: string | null,
  meaning: string,
  parse: (value: string) => Value,
  secret?: true,
): Setting<Value> {
  return { default: fallback, meaning, parse, ...(secret ? { secret } : {}) };
}

/** The settings table. Order is the order of the documentation. */
export const SETTINGS = {
  KAFKA_BROKERS: setting(null, 'Bootstrap brokers, host:port, comma-separated.', brokerList),
  SCHEMA_REGISTRY_URL: setting(null, 'Base URL of a Confluent-compatible schema registry.', httpUrl),
  API_BASE_URL: setting(
    null,
    "The payment service's base URL, with its version segment. The account at the service is fixed for the life of a prefix.",
    httpUrl,
  ),
  API_TOKEN_ID: setting(null, 'API token id.', text, true),
  API_CLIENT_SECRET: setting(null, 'API client secret.', text, true),
  KAFKA_SSL: setting('false', 'TLS to the brokers.', boolean),
  KAFKA_SSL_CA_FILE: setting('', 'File with the CA certificates, PEM.', optionalText),
  KAFKA_SSL_CERT_FILE: setting('', 'File with the client certificate, PEM.', optionalText),
  KAFKA_SSL_KEY_FILE: setting('', 'File with the client key, PEM.', optionalText),
  KAFKA_SASL_MECHANISM: setting(
    '',
    'plain, scram-sha-256 or scram-sha-512.',
    optional(oneOf('plain', 'scram-sha-256', 'scram-sha-512')),
  ),
  KAFKA_SASL_USERNAME: setting('', 'SASL user.', optionalText),
  KAFKA_SASL_PASSWORD: setting('', 'SASL password.', optionalText, true),
  SCHEMA_REGISTRY_USERNAME: setting('', 'Registry user (Basic).', optionalText),
  SCHEMA_REGISTRY_PASSWORD: setting('', 'Registry password.', optionalText, true),
  KAFKA_GROUP_ID: setting('payment-commands', 'Consumer group; also the prefix of transactional ids.', topicName),
  TOPIC_PREFIX: setting('payments', 'First part of every topic name.', topicName),
  LANES: setting('6', 'Partitions of every topic; fixed for the life of a prefix.', integer(1, 1000)),
  STATE_DIR: setting('./state', 'Directory of the local store; each process locks a folder of its own in it.', text),
  API_TIMEOUT_MS: setting('10000', 'Overall deadline of one call.', integer(100, API_TIMEOUT_MAX_MS)),
  SETTLING_TIME_MS: setting(
    '10000',
    "How long after a call's deadline (its start plus API_TIMEOUT_MS) its effect may still appear: by then an executed payment shows PROCESSING or a later status.",
    integer(0, 3_600_000),
  ),
  API_MAX_CONCURRENCY: setting('100', 'Concurrent calls, per process.', integer(1, 1000)),
  API_MAX_RPS: setting(
    '',
    'Calls per second, whole group; each member gets a share in proportion to its lanes. A member whose calls begin late, or that was idle for a moment, catches up by 50 ms at most. Below one call a second per member, calls of several members may fall together.',
    optional(integer(1, 100_000)),
  ),
  API_IDEMPOTENT_OPERATIONS: setting(
    'transfer-in',
    'Operations whose Idempotency-Key the service is known to honour; may be empty. A change also applies to earlier calls that are not settled. With execute-quote, a two-step quote that expires while its execution is repeated ends REFUSED and is not made anew.',
    operationList,
  ),
  API_IDEMPOTENCY_RETENTION: setting(
    '24h',
    'How long the service remembers a key after its first call. We stop relying on it earlier, by API_TIMEOUT_MS plus SETTLING_TIME_MS. A change also applies to earlier calls that are not settled.',
    parseDurationMs,
  ),
  IMMEDIATE_EXECUTION: setting(
    'two-step',
    "two-step (create, record, execute) or native (the service's own flag).",
    oneOf('two-step', 'native'),
  ),
  LEDGER_RETENTION: setting(
    '7d',
    'How long a key is remembered after its result. If you raise it, the longer time applies only to keys that are still remembered. Subscribers must remember handled events for this time and the retention of their topic together. SqliteSeenEvents does for 60 days: raise its keepMs if this is longer than 30.',
    parseDurationMs,
  ),
  COMMAND_MAX_AGE: setting(DEFAULT_MAX_AGE, 'Age per type after which an unsent command is EXPIRED.', maxAges),
  MAX_UNFINISHED_PER_LANE: setting(
    '2000',
    'How many admitted commands without a result a lane may hold; at the limit it admits no command. Of the room that other types leave, PARKED and DOUBTFUL commands of a type fill half.',
    integer(1, 100_000),
  ),
  KAFKA_SESSION_TIMEOUT_MS: setting('6000', 'Group session timeout.', integer(1000, SESSION_TIMEOUT_MAX_MS)),
  // A member learns of a rebalance at its heartbeat, and the group waits 10 s for it.
  KAFKA_HEARTBEAT_INTERVAL_MS: setting(
    '1000',
    'Heartbeat interval. Members learn of a rebalance at their heartbeats, so lanes that move wait for one.',
    integer(100, 5_000),
  ),
  BREAKER_ERROR_PERCENT: setting('50', 'Share of infrastructure faults that opens the breaker.', integer(1, 100)),
  BREAKER_RESET_MS: setting(
    '5000',
    'How long an open breaker waits before it checks the service; if the check succeeds, a trial call follows.',
    integer(100, 600_000),
  ),
  POLL_INTERVAL_MS: setting(
    '5000',
    'Interval of the status poller. If it is longer than 8 minutes, disable the alert PaymentsPollerFailing.',
    integer(100, 3_600_000),
  ),
  POLL_START: setting(
    '',
    'The poller finds transactions that we did not create only if they were created at this time or later. Default: when this TOPIC_PREFIX was first polled.',
    optional(instant),
  ),
  POLL_TERMINAL_FOR: setting('72h', 'How long a terminal transaction is still watched.', parseDurationMs),
  POLL_MAX_CALLS_PER_MINUTE: setting('120', "The poller's call budget, whole group.", integer(1, 100_000)),
  SANDBOX_COMMANDS: setting(
    'false',
    'Serve simulate-uma-receive commands; while it is off, they are not read.',
    boolean,
  ),
  HTTP_HOST: setting('127.0.0.1', 'Address of the HTTP endpoints.', text),
  HTTP_PORT: setting('8080', 'Port of the HTTP endpoints; 0 takes a free one.', integer(0, 65_535)),
  HTTP_ADVERTISED_ADDRESS: setting(
    '',
    'Address at which the other members of the group reach this process, to show it on their pages: a host, or http(s)://host:port. Default: HTTP_HOST and HTTP_PORT; if HTTP_HOST is a wildcard, the first address that is not loopback. none: the others do not ask this process.',
    optional(memberAddress),
  ),
  HTTP_AUTH_TOKEN: setting(
    '',
    'Bearer token that state and metrics require, if set. The page itself has no data and asks for it.',
    optionalText,
    true,
  ),
  LOG_LEVEL: setting(
    'info',
    'trace, debug, info, warn, error or fatal.',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal'),
  ),
};

export type SettingName = keyof typeof SETTINGS;
export type Config = { readonly [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['parse']> };
export type ConfigResult = { ok: true; config: Config } | { ok: false; problems: string[] };
export type Environment = Record<string, string | undefined>;

/**
 * Reads and checks all settings.
 * @param environment such as `process.env`. A secret may also come from the file that `<NAME>_FILE` names; the configuration
 * then returns the file's current content
 * @returns the configuration, or every problem. Each names its setting, never a secret's value
 */
export function readConfig(environment: Environment): ConfigResult {
  const names = Object.keys(SETTINGS) as SettingName[];
  const { values, problems } = readSettings(environment, names);
  if (problems.length === 0) problems.push(...crossChecks(values as Config));
  return problems.length > 0 ? { ok: false, problems } : { ok: true, config: values as Config };
}

/** Like readConfig, but only for the settings that a tool needs. */
export function readSomeSettings<Name extends SettingName>(
  environment: Environment,
  names: readonly Name[],
): { ok: true; config: Pick<Config, Name> } | { ok: false; problems: string[] } {
  const { values, problems } = readSettings(environment, names);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, config: values as Pick<Config, Name> };
}

function readSettings(
  environment: Environment,
  names: readonly SettingName[],
): { values: Partial<Config>; problems: string[] } {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const name of names) {
    const definition: Setting<unknown> = SETTINGS[name];
    try {
      const file = secretFile(environment, name, definition);
      values[name] = valueOf(name, definition, file === null ? environment[name] : secretIn(file));
      if (file !== null) Object.defineProperty(values, name, { get: () => valueOf(name, definition, secretIn(file)) });
    } catch (error) {
      if (!(error instanceof SettingProblem)) throw error;
      problems.push(`${name} ${error.message} (${definition.meaning})`);
    }
  }
  return { values, problems };
}

function valueOf(name: SettingName, definition: Setting<unknown>, given: string | undefined): unknown {
  // An empty list setting means no elements; any other empty text means the default.
  const unset = given === undefined || (given === '' && name !== 'API_IDEMPOTENT_OPERATIONS');
  if (unset && definition.default === null) throw new SettingProblem('is required and not set');
  return definition.parse(unset ? (definition.default ?? '') : given);
}

function secretFile(environment: Environment, name: string, definition: Setting<unknown>): WatchedFile | null {
  const path = definition.secret ? environment[`${name}_FILE`] : undefined;
  if (path === undefined || path === '') return null;
  if (environment[name] !== undefined && environment[name] !== '')
    throw new SettingProblem(`and ${name}_FILE are both set; set one`);
  try {
    return new WatchedFile(path);
  } catch (error) {
    throw new SettingProblem(
      `cannot be read from the file that ${name}_FILE names: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`,
    );
  }
}

function secretIn(file: WatchedFile): string {
  return file.text().replace(/\r?\n$/, '');
}

function crossChecks(config: Config): string[] {
  const problems: string[] = [];
  if (config.KAFKA_HEARTBEAT_INTERVAL_MS * 2 >= config.KAFKA_SESSION_TIMEOUT_MS) {
    problems.push('KAFKA_HEARTBEAT_INTERVAL_MS must be less than half of KAFKA_SESSION_TIMEOUT_MS');
  }
  const longestMaxAgeMs = Math.max(...Object.values(config.COMMAND_MAX_AGE));
  if (longestMaxAgeMs >= config.LEDGER_RETENTION)
    problems.push('LEDGER_RETENTION must be longer than the longest COMMAND_MAX_AGE');
  if (config.API_IDEMPOTENCY_RETENTION > config.LEDGER_RETENTION) {
    problems.push('API_IDEMPOTENCY_RETENTION must not be longer than LEDGER_RETENTION');
  }
  if (
    config.KAFKA_SASL_MECHANISM !== null &&
    (config.KAFKA_SASL_USERNAME === null || config.KAFKA_SASL_PASSWORD === null)
  ) {
    problems.push('KAFKA_SASL_MECHANISM needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD');
  }
  return problems;
}
