/**
 * `npm run demo`: the processor with everything around it on this machine, one of each command, and whether everything
 * went right.
 *
 *   set up -> fault rules -> the story, arrivals shown as they happen -> books and effects -> checks -> (--keep) -> end
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, styleText } from 'node:util';
import { z } from 'zod';
import { EXIT_CODE_FAILED, parseArguments, stopSignal } from 'payment-processor-local-kafka/command-line';
import { EngineError } from 'payment-processor-local-kafka/errors';
import { FAULT_RULE } from 'payment-processor-sandbox/faults';
import { eventChecks, overallChecks, type Check } from './checks.ts';
import { booksText, effectsText, serviceChecks, settled } from './service.ts';
import { PROCESSOR_LOG, setUp, type Stage } from './set-up.ts';
import { tellStory } from './story.ts';
import { rowText, TABLE_HEAD } from './table.ts';

const USAGE = `Usage: npm run demo -- [options]

Starts Kafka, a schema registry, the sandbox of the payment service and the processor on this machine, publishes each
kind of command, shows the results and status changes as they arrive, and checks that everything went right.
With KAFKA_BROKERS and SCHEMA_REGISTRY_URL set, those are used instead, under a topic prefix of the demo's own.

  --keep                  stay up after the checks, until Ctrl-C, and print the settings to use
  --sandbox-fault JSON    a fault rule of the sandbox, or a list of them (docs/sandbox.md), in force before
                          anything is published; '{"kind":"drop-after","operation":"transfer-in","count":1}' must
                          still go right, '{"kind":"status","operation":"transfer-in","httpStatus":400}' cannot
  --help                  this text

Exit codes: 0 everything went right; 1 something did not, or nothing could be started; 2 wrong options; 130 interrupted.
`;

/** The exit code of a program that SIGINT ended. */
const EXIT_CODE_INTERRUPTED = 130;

/** It normally takes one or two seconds, and must never block the terminal. */
const STOP_MS_MAX = 30_000;

const EXAMPLE_VALUE =
  '{"source":{"accountId":"ExternalAccount:alice-bank"},"destination":{"accountId":"InternalAccount:alice"},"amount":100}';

type DemoOptions = NonNullable<ReturnType<typeof parseWords>>;

/** @returns the exit code */
async function runDemo(options: DemoOptions): Promise<number> {
  const interrupted = stopSignal();
  const directory = await mkdtemp(join(tmpdir(), 'payment-processor-demo-'));
  const stops = new AsyncDisposableStack();
  let code = EXIT_CODE_FAILED;
  try {
    const performed = await Promise.race([perform(options, directory, stops), interrupted]);
    if (typeof performed === 'string') code = EXIT_CODE_INTERRUPTED;
    else {
      code = performed.checks.every(({ isOk }) => isOk) ? 0 : EXIT_CODE_FAILED;
      if (options.keep) await stayUp(performed.stage, interrupted);
    }
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    process.stderr.write(`${error.message}\n`);
  } finally {
    // What does not stop in order or in time ends with this process.
    await Promise.race([stops.disposeAsync().catch(() => undefined), sleep(STOP_MS_MAX)]);
    const logFile = join(directory, PROCESSOR_LOG);
    // It shows what went wrong.
    if (code === EXIT_CODE_FAILED && existsSync(logFile)) process.stderr.write(`The processor's log is ${logFile}\n`);
    else await rm(directory, { recursive: true, force: true });
  }
  return code;
}

async function perform({ faults }: DemoOptions, directory: string, stops: AsyncDisposableStack) {
  const startedAtMs = performance.now();
  const stage = await setUp(directory, stops);
  const { sandbox, journal } = stage;
  const { world } = sandbox.service;
  console.log(`Ready after ${((performance.now() - startedAtMs) / 1000).toFixed(1)} s.`);
  sandbox.service.faults.add(faults);
  if (faults.length > 0) console.log(`Fault rules of the sandbox: ${JSON.stringify(faults)}`);

  const storyStartedAtMs = performance.now();
  print(TABLE_HEAD, []);
  journal.on('entry', (entry) => console.log(rowText(performance.now() - storyStartedAtMs, entry)));
  const answerChecks = await tellStory(stage);
  await settled(world);
  print("The service's books (smallest unit of each currency)", booksText(world));
  print('Calls and effects by operation and key, as the service counts them', effectsText(world));
  const checks = [...answerChecks, ...eventChecks(journal), ...serviceChecks(world), ...overallChecks(journal)];
  printChecks(checks);
  return { stage, checks };
}

function printChecks(checks: readonly Check[]): void {
  const lines = checks.map(({ isOk, text }) => styleText(isOk ? 'green' : 'red', text));
  print('Checks', lines);
  const wrong = checks.filter(({ isOk }) => !isOk).map(({ title }) => title);
  if (wrong.length === 0) console.log(`\nAll ${checks.length} checks are ok.`);
  else console.log(`\n${wrong.length} of ${checks.length} checks are NOT OK: ${wrong.join('; ')}.`);
}

function print(heading: string, lines: readonly string[]): void {
  console.log([`\n${styleText('bold', heading)}`, ...lines].join('\n'));
}

async function stayUp({ exports, processor, sandbox }: Stage, interrupted: Promise<unknown>): Promise<void> {
  const settings = Object.entries(exports).map(([name, value]) => `export ${name}=${value}`);
  console.log(`
Still running. Settings to use in another terminal:

${settings.join('\n')}

The processor is at ${processor.url}, the sandbox at ${sandbox.url} (/control/books, /control/effects).
Publish with, for example:

npm run cli -- publish transfer-in --key my-key-1 --value '${EXAMPLE_VALUE}'
npm run cli -- results

Ctrl-C stops everything.`);
  const ended = processor.ended.then((code) => console.log(`The processor ended, with code ${code}.`));
  await Promise.race([interrupted, ended]);
}

/** Null if help is requested. */
function parseWords(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', short: 'h' },
      keep: { type: 'boolean', default: false },
      'sandbox-fault': { type: 'string', default: '[]' },
    },
  });
  if (values.help === true) return null;
  const faults = z.array(FAULT_RULE).safeParse([jsonOf(values['sandbox-fault'])].flat());
  if (!faults.success) throw new RangeError(`--sandbox-fault is not a fault rule: ${z.prettifyError(faults.error)}`);
  return { keep: values.keep, faults: faults.data };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RangeError('--sandbox-fault is not JSON', { cause: error });
  }
}

// An interrupted stage may hold sockets; what it started ends with this process.
process.exit(await runDemo(parseArguments(USAGE, parseWords)));
