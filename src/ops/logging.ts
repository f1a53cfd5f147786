/**
 * The log: one JSON object per line. `event` is a stable name for machines, `msg` is for people; what must not be
 * logged is taken out before a line is written.
 */
import { createHash } from 'node:crypto';
import pino, { type DestinationStream, type Logger } from 'pino';
import type { Config } from '../config.ts';
import { basicCredentials, describeError, redactFields, secretStriker } from './log-redaction.ts';

export type LogSettings = Pick<
  Config,
  | 'LOG_LEVEL'
  | 'API_TOKEN_ID'
  | 'API_CLIENT_SECRET'
  | 'KAFKA_SASL_USERNAME'
  | 'KAFKA_SASL_PASSWORD'
  | 'SCHEMA_REGISTRY_USERNAME'
  | 'SCHEMA_REGISTRY_PASSWORD'
  | 'HTTP_AUTH_TOKEN'
>;

/** Characters of a key's hash: 64 bits, so that no two keys of a log are alike. */
const KEY_HASH_CHARACTERS = 16;

/**
 * @param destination takes whole lines; standard output if not given, written synchronously so that the last words of a
 * process that ends are not lost
 */
export function createLogger(settings: LogSettings, destination?: DestinationStream): Logger {
  const strike = secretStriker(secretsOf(settings));
  return pino(
    {
      level: settings.LOG_LEVEL,
      base: { service: 'payment-processor', pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        bindings: redactFields,
        log: redactFields,
      },
      // Formatters run first and have described every error by then.
      serializers: { err: (described: unknown) => (described instanceof Error ? describeError(described) : described) },
      hooks: {
        logMethod(parameters, method) {
          const [first, ...rest] = parameters as unknown[];
          // An error alone would be logged with its message as the line's, past the masks.
          if (first instanceof Error)
            method.apply(this, [{ err: first }, ...(rest.length > 0 ? rest : [first.name])] as never);
          else method.apply(this, parameters);
        },
        streamWrite: strike,
      },
    },
    destination ?? pino.destination({ dest: 1, sync: true }),
  );
}

/** Tells entries of the log apart without telling their keys, which may hold personal data. */
export function keyHash(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, KEY_HASH_CHARACTERS);
}

function secretsOf(settings: LogSettings): string[] {
  const pairs: [string | null, string | null][] = [
    [settings.API_TOKEN_ID, settings.API_CLIENT_SECRET],
    [settings.KAFKA_SASL_USERNAME, settings.KAFKA_SASL_PASSWORD],
    [settings.SCHEMA_REGISTRY_USERNAME, settings.SCHEMA_REGISTRY_PASSWORD],
  ];
  const secrets = [settings.API_TOKEN_ID, settings.HTTP_AUTH_TOKEN, ...pairs.map(([, password]) => password)];
  const basic = pairs.map(([user, password]) =>
    user === null || password === null ? null : basicCredentials(user, password),
  );
  return [...secrets, ...basic].filter((secret) => secret !== null && secret !== '') as string[];
}
