/**
 * The log: one JSON object per line. `event` is a stable name for machines; some lines also have a `msg` for people. Each line
 * is redacted before it is written.
 */
import { hostname } from 'node:os';
import pino, { type Bindings, type ChildLoggerOptions, type DestinationStream, type Logger } from 'pino';
import type { Config } from 'payment-processor-contract/config';
import { basicCredentials, describeError, maskText, redactFields, secretRedactor } from './log-redaction.ts';

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

type MakeChild = (this: Logger, bindings: Bindings, options?: ChildLoggerOptions) => Logger;

/** Room for several rotations of every secret. */
const SECRETS_MAX = 50;
/** Lines that could not be written are kept for the next attempt. */
const UNWRITTEN_BYTES_MAX = 1024 * 1024;

/**
 * @param destination receives whole lines; default: standard output
 */
export function createLogger(settings: LogSettings, destination?: DestinationStream): Logger {
  const log = pino(
    {
      level: settings.LOG_LEVEL,
      base: { service: 'payment-processor', host: hostname(), pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // The hook has already described the errors; pino's own serializer would show all their fields.
      serializers: { err: (described: unknown) => described },
      hooks: {
        logMethod(parameters, method) {
          method.apply(this, parameters.map(redactParameter) as typeof parameters);
        },
        streamWrite: lineRedactor(settings),
      },
    },
    destination ?? standardOutput(),
  );
  // Children inherit this override: pino formats and serializes their bindings without calling the hook.
  const makeChild = Reflect.get(log, 'child') as unknown as MakeChild;
  const redactedChild: MakeChild = function (bindings, options) {
    return makeChild.call(this, redactFields(bindings), options);
  };
  return Object.assign(log, { child: redactedChild });
}

/** Written synchronously, so that the last lines of a stopping process are not lost. A full disk still loses lines. */
function standardOutput(): DestinationStream {
  const destination = pino.destination({ dest: 1, sync: true, maxLength: UNWRITTEN_BYTES_MAX });
  destination.on('error', () => undefined);
  return destination;
}

/** Not a formatter: pino copies an error's message into a line without `msg` before it calls formatters. */
function redactParameter(parameter: unknown): unknown {
  if (typeof parameter === 'string') return maskText(parameter);
  if (parameter instanceof Error) return { err: describeError(parameter) };
  return typeof parameter === 'object' && parameter !== null ? redactFields({ ...parameter }) : parameter;
}

/** After a secret changes at run time, we still redact the previous one: responses may still contain it. */
function lineRedactor(settings: LogSettings): (line: string) => string {
  let current: readonly string[] = [];
  let known: readonly string[] = [];
  let redact = secretRedactor(known);
  return (line) => {
    const secrets = secretsOf(settings);
    if (secrets.length !== current.length || secrets.some((secret, index) => secret !== current[index])) {
      current = secrets;
      known = [...new Set([...secrets, ...known])].slice(0, SECRETS_MAX);
      redact = secretRedactor(known);
    }
    return redact(line);
  };
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
