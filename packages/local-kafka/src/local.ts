/** `npm run local`: Kafka, the schema registry and the payment service's sandbox on this machine, until Ctrl-C. */
import { parseArgs } from 'node:util';
import { EXIT_CODE_FAILED, parseArguments, stopSignal } from './command-line.ts';
import { startSandbox } from 'payment-processor-sandbox/start';
import { EngineError } from './errors.ts';
import { PORT_MAX, requireFree } from './ports.ts';
import { startEngine } from './start.ts';

/** Five brokers take 2 GB; nothing here needs more than three. */
const BROKERS_MAX = 5;

/** Shutdown takes well under a second; if it hangs, it must not block the terminal. */
const STOP_MS_MAX = 30_000;

const USAGE = `Usage: npm run local -- [options]

Runs Kafka, a schema registry and the sandbox of the payment service on this machine until Ctrl-C.
Nothing is kept: every start begins without topics, schemas or accounts.

  --brokers N         Kafka brokers, 1 (default) to ${BROKERS_MAX}; with 3: replication factor 3, min.insync.replicas 2
  --kafka-port P      port of the first broker, the others take the following ones (default: free ones)
  --registry-port P   port of the schema registry (default: a free one)
  --sandbox-port P    port of the sandbox (default: a free one)
  --help              this text
`;

interface LocalOptions {
  readonly brokers?: number;
  readonly kafkaPort?: number;
  readonly registryPort?: number;
  readonly sandboxPort?: number;
}

/** Null: help was requested. */
function parseWords(args: string[]): LocalOptions | null {
  const text = { type: 'string' } as const;
  const options = { brokers: text, 'kafka-port': text, 'registry-port': text, 'sandbox-port': text } as const;
  const { values } = parseArgs({ args, options: { ...options, help: { type: 'boolean', short: 'h' } } });
  if (values.help === true) return null;
  const read = {
    brokers: wholeNumber('--brokers', values.brokers, BROKERS_MAX),
    kafkaPort: wholeNumber('--kafka-port', values['kafka-port'], PORT_MAX),
    registryPort: wholeNumber('--registry-port', values['registry-port'], PORT_MAX),
    sandboxPort: wholeNumber('--sandbox-port', values['sandbox-port'], PORT_MAX),
  };
  return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined));
}

function wholeNumber(flag: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= max) return value;
  throw new RangeError(`${flag} must be a whole number from 1 to ${max}, not ${JSON.stringify(text)}.`);
}

async function runLocal({ sandboxPort, ...engineOptions }: LocalOptions): Promise<void> {
  const print = (line: string): void => console.log(line);
  if (sandboxPort !== undefined) await requireFree(sandboxPort, 'the sandbox');
  const sandbox = await startSandbox(sandboxPort === undefined ? {} : { port: sandboxPort });
  const engine = await startEngine({ ...engineOptions, onProgress: print });
  // Listen before the message mentions Ctrl-C: the user may press it at once.
  const stopped = stopSignal();
  print(`
Kafka, the schema registry and the sandbox are running. Settings to use in another terminal:

export KAFKA_BROKERS=${engine.brokers.join(',')}
export SCHEMA_REGISTRY_URL=${engine.registryUrl}
export API_BASE_URL=${sandbox.baseUrl}
export API_TOKEN_ID=local
export API_CLIENT_SECRET=local
export SANDBOX_COMMANDS=true

Then make the topics and register the schemas, once:

npm run cli -- topics create
npm run cli -- schemas register

and start the processor with: npm start

Ctrl-C stops everything.`);
  await stopped;
  setTimeout(() => process.exit(EXIT_CODE_FAILED), STOP_MS_MAX).unref();
  await Promise.all([engine.stop(), sandbox.stop()]);
  print('Stopped.');
}

const options = parseArguments(USAGE, parseWords);
try {
  await runLocal(options);
} catch (error) {
  if (!(error instanceof EngineError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(EXIT_CODE_FAILED);
}
