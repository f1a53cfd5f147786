/** The command line of the sandbox: `npm run sandbox -- --port 8790`. */
import { parseArgs } from 'node:util';
import { COMMAND_TYPES, isCommandType, type CommandType } from 'payment-processor-contract/commands';
import { startSandbox, type SandboxStartOptions } from './start.ts';

const EXIT_CODE_FAILED = 1;
const EXIT_CODE_USAGE = 2;

const HELP = `The payment service's sandbox, on 127.0.0.1.

  --port P                      port to listen on (default: any free one)
  --token-id ID                 the only API token id accepted (default: any)
  --client-secret SECRET        the only API client secret accepted (default: any)
  --honour-keys LIST            operations whose Idempotency-Key is honoured, comma-separated (default: transfer-in);
                                of ${COMMAND_TYPES.join(', ')};
                                '' for none
  --refuse-reused-keys          answer 409 to a known key with another request (default: repeat the first answer)
  --quote-lifetime-ms MS        until a quote expires (default: 60000)
  --settle-ms MS                from execution to COMPLETED (default: 5000)
  --approval-ms MS              how long a simulated incoming payment waits PENDING (default: 5000)
  --rate-limit-per-second N     answer 429 above this rate (default: no limit)
  --idempotency-retention-ms MS how long a key is remembered (default: 86400000)
  --random-seed N               random seed for fault rules (default: 1)
  --log                         print a line per answer
  --help                        print this

docs/sandbox.md documents the control endpoints and what it does beyond the interface.
`;

class UsageError extends Error {}

async function main(): Promise<void> {
  const options = readOptions();
  if (options === null) {
    process.stdout.write(HELP);
    return;
  }
  const sandbox = await startSandbox(options);
  const stop = (): void => {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
    void sandbox.stop();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  process.stdout.write(`sandbox ready\n  base URL  ${sandbox.baseUrl}\n  control   ${sandbox.url}/control/effects\n`);
}

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const DURATIONS = {
  'quote-lifetime-ms': text,
  'settle-ms': text,
  'approval-ms': text,
  'idempotency-retention-ms': text,
};
const NUMBERS = { ...DURATIONS, port: text, 'rate-limit-per-second': text, 'random-seed': text };
const TEXTS = { 'token-id': text, 'client-secret': text, 'honour-keys': text };
const FLAGS = { 'refuse-reused-keys': flag, log: flag, help: flag };

/** The options of the command line; null: help was requested. */
function readOptions(): SandboxStartOptions | null {
  const values = parsedFlags();
  if (values.help === true) return null;
  const duration = (name: keyof typeof DURATIONS) => wholeNumber(name, values[name], 1e12);
  const options = {
    port: wholeNumber('port', values.port, 65_535),
    quoteLifetimeMs: duration('quote-lifetime-ms'),
    settleMs: duration('settle-ms'),
    approvalMs: duration('approval-ms'),
    rateLimitPerSecond: wholeNumber('rate-limit-per-second', values['rate-limit-per-second'], 1e9, 1),
    idempotencyRetentionMs: duration('idempotency-retention-ms'),
    randomSeed: wholeNumber('random-seed', values['random-seed'], 2 ** 32 - 1),
    tokenId: notEmpty('token-id', values['token-id']),
    clientSecret: notEmpty('client-secret', values['client-secret']),
    honourKeys: values['honour-keys'] === undefined ? undefined : operations(values['honour-keys']),
    refuseReusedKeys: values['refuse-reused-keys'],
    log: values.log === true ? (line: string) => process.stdout.write(`${line}\n`) : undefined,
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function parsedFlags() {
  try {
    return parseArgs({ allowPositionals: false, options: { ...NUMBERS, ...TEXTS, ...FLAGS } }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function wholeNumber(name: string, text: string | undefined, max: number, min = 0): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (!(value >= min && value <= max))
    throw new UsageError(`--${name} must be a whole number from ${min} to ${max}, not '${text}'`);
  return value;
}

function notEmpty(name: string, text: string | undefined): string | undefined {
  if (text === '') throw new UsageError(`--${name} must not be empty`);
  return text;
}

function operations(list: string): CommandType[] {
  const names = list.split(',').filter((name) => name !== '');
  return names.map((name) => {
    if (!isCommandType(name))
      throw new UsageError(`--honour-keys names '${name}', which is not one of ${COMMAND_TYPES.join(', ')}`);
    return name;
  });
}

try {
  await main();
} catch (error) {
  process.stderr.write(`sandbox: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? EXIT_CODE_USAGE : EXIT_CODE_FAILED;
}
