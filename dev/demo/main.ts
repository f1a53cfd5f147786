/**
 * `npm run demo`: the processor with everything around it on this machine, one of each command, and whether all came
 * out right.
 *
 *   set up -> fault rules -> the story, arrivals shown as they come -> books and effects -> checks -> (--keep) -> end
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { EngineError } from '../engine/errors.ts';
import { readArguments, USAGE, type DemoOptions } from './arguments.ts';
import { checksOf, isOk, type Check } from './expectations.ts';
import { Journal } from './journal.ts';
import { addFaults, readSettledBooks, readEffects } from './sandbox-control.ts';
import { processorLog } from './processor.ts';
import { SetUpError } from './set-up-error.ts';
import { setUp, type Stage } from './set-up.ts';
import { Stops } from './stops.ts';
import { tellStory } from './story.ts';
import { booksText, checkText, effectsText, rowOf, rowText, TABLE_HEAD } from './table.ts';

const EXIT_CODE_FAILED = 1;
const EXIT_CODE_USAGE = 2;
/** As a shell tells that SIGINT ended a program. */
const EXIT_CODE_INTERRUPTED = 130;

/** It takes about ten seconds; with faults, doubts are settled meanwhile. */
const STORY_MS_MAX = 180_000;

const EXAMPLE_VALUE =
  '{"source":{"accountId":"ExternalAccount:alice-bank"},"destination":{"accountId":"InternalAccount:alice"},"amount":100}';

const say = (line: string): void => console.log(line);

/** @returns the exit code */
async function runDemo(options: DemoOptions): Promise<number> {
  const interrupted = interruption();
  const directory = await mkdtemp(join(tmpdir(), 'payment-processor-demo-'));
  const stops = new Stops();
  let code = EXIT_CODE_FAILED;
  try {
    const checked = await Promise.race([perform(options, directory, stops), interrupted]);
    if (checked === 'interrupted') code = EXIT_CODE_INTERRUPTED;
    else {
      code = checked.checks.every(isOk) ? 0 : EXIT_CODE_FAILED;
      if (options.keep) await stayUp(checked.stage, interrupted);
    }
  } catch (error) {
    if (!(error instanceof EngineError || error instanceof SetUpError)) throw error;
    process.stderr.write(`${error.message}\n`);
  } finally {
    await stops.all();
    const logFile = processorLog(directory);
    // It tells what went wrong.
    if (code === EXIT_CODE_FAILED && existsSync(logFile)) process.stderr.write(`The processor's log is ${logFile}\n`);
    else await rm(directory, { recursive: true, force: true });
  }
  return code;
}

async function perform(
  options: DemoOptions,
  directory: string,
  stops: Stops,
): Promise<{ stage: Stage; checks: readonly Check[] }> {
  let startedAtMs = performance.now();
  const sinceStartMs = (): number => performance.now() - startedAtMs;
  const journal = new Journal((arrival) => say(rowText(sinceStartMs(), rowOf(arrival))));
  const stage = await setUp(directory, journal, stops, say);
  say(`Ready after ${(sinceStartMs() / 1000).toFixed(1)} s.`);
  if (options.faults.length > 0) {
    await addFaults(stage.sandbox.url, options.faults);
    say(`Fault rules of the sandbox: ${JSON.stringify(options.faults)}`);
  }

  say(`\n${styleText('bold', TABLE_HEAD)}`);
  startedAtMs = performance.now();
  void stage.processor.ended.then((code) => journal.end(`the processor ended, with code ${code}`));
  const timer = setTimeout(() => journal.end(`the demo's ${STORY_MS_MAX / 1000} s were over`), STORY_MS_MAX);
  const story = await tellStory(stage, journal, (type, key, note) =>
    say(rowText(sinceStartMs(), { kind: 'command', subject: key, state: type, note })),
  );
  clearTimeout(timer);

  const books = await readSettledBooks(stage.sandbox.url);
  const effects = await readEffects(stage.sandbox.url);
  say(`\n${styleText('bold', "The service's books (smallest unit of each currency)")}`);
  booksText(books).forEach(say);
  say(`\n${styleText('bold', 'Calls and effects by operation and key, as the service counts them')}`);
  effectsText(effects).forEach(say);
  const checks = checksOf({ story, arrivals: journal.arrivals, books, effects });
  tellChecks(checks);
  return { stage, checks };
}

function tellChecks(checks: readonly Check[]): void {
  say(`\n${styleText('bold', 'Checks')}`);
  for (const check of checks) say(styleText(isOk(check) ? 'green' : 'red', checkText(check)));
  const wrong = checks.filter((check) => !isOk(check));
  say(
    wrong.length === 0
      ? `\nAll ${checks.length} checks are ok.`
      : `\n${wrong.length} of ${checks.length} checks are NOT OK: ${wrong.map((check) => check.title).join('; ')}.`,
  );
}

async function stayUp({ exports, processor, sandbox }: Stage, interrupted: Promise<unknown>): Promise<void> {
  say(`\nStill running. Settings to use in another terminal:\n`);
  for (const [name, value] of Object.entries(exports)) say(`export ${name}=${value}`);
  say(`
The processor is at ${processor.url}, the sandbox at ${sandbox.url} (/control/books, /control/effects).
Publish with, for example:

npm run cli -- publish transfer-in --key my-key-1 --value '${EXAMPLE_VALUE}'
npm run cli -- results

Ctrl-C ends all of it.`);
  const ended = processor.ended.then((code) => say(`The processor ended, with code ${code}.`));
  await Promise.race([interrupted, ended]);
}

/**
 * Resolves at the first signal. The handlers stay: npm passes a Ctrl-C on that the terminal has already delivered, and
 * the second must not cut the end short.
 */
async function interruption(): Promise<'interrupted'> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => resolve('interrupted'));
  });
}

const read = readArguments(process.argv.slice(2));
switch (read.kind) {
  case 'help':
    process.stdout.write(USAGE);
    break;
  case 'wrong':
    process.stderr.write(`${read.problem}\n\n${USAGE}`);
    process.exitCode = EXIT_CODE_USAGE;
    break;
  case 'run':
    // A stage that was interrupted half-way may hold sockets; what it started ends with this process.
    process.exit(await runDemo(read.options));
}
