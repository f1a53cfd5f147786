/**
 * One processor is killed with SIGKILL again and again while it works.
 *
 *   prepared   quotes to execute, incoming payments to reject
 *   rounds     a part of the commands is published; some way into them the processor is killed and started again
 *   the end    every command has a result; the processor is stopped in order
 *   evidence   what a read_committed reader finds, the sandbox's counts and books, and the ledger
 */
import { seededRandom } from '../../dev/sandbox/faults.ts';
import { Journal, type ResultEvent } from '../../test/support/journal.ts';
import type { RunningProcessor } from '../../test/support/processor.ts';
import type { BooksReport, EffectsReport } from '../../test/support/sandbox-control.ts';
import { Stack } from '../../test/support/stack.ts';
import { prepareCommands, shuffled, slowCalls, type KillCommand } from './kill-commands.ts';
import { underWayAtKills } from './under-way.ts';

export interface KillOptions {
  kafkaBrokers: readonly string[];
  schemaRegistryUrl: string;
  /** Of each kind: transfers in, executions, rejections. */
  commands: number;
  kills: number;
  /** Seed of the moments of the kills. */
  seed: number;
  onProgress: (line: string) => void;
}

export interface Recovery {
  /** From the kill until every lane was open again. */
  readyMs: number;
  /** From the kill until the first result of the next process. */
  firstResultMs: number;
}

export interface Evidence {
  commands: readonly KillCommand[];
  results: readonly ResultEvent[];
  deadLetters: number;
  effects: EffectsReport;
  books: BooksReport;
  /** Commands whose call may have been on its way when their process was killed, by the ledger. */
  underWayAtKills: ReadonlySet<string>;
  recoveries: readonly Recovery[];
  exitCode: number | null;
  elapsedMs: number;
}

/** Few, so that a backlog is always left to be killed in. */
const CALL_SLOTS = 8;
const RESULTS_MS_MAX = 180_000;

export async function runKills(options: KillOptions): Promise<Evidence> {
  const stack = await Stack.open({
    name: 'kills',
    kafkaBrokers: options.kafkaBrokers,
    schemaRegistryUrl: options.schemaRegistryUrl,
    sandbox: { quoteLifetimeMs: 3_600_000, approvalMs: 3_600_000, settleMs: 0 },
    settings: { API_MAX_CONCURRENCY: String(CALL_SLOTS) },
  });
  try {
    return await run(stack, options);
  } catch (error) {
    options.onProgress(stack.logs());
    throw error;
  } finally {
    await stack.close();
  }
}

async function run(stack: Stack, options: KillOptions): Promise<Evidence> {
  const commands = shuffled(await prepareCommands(stack, options.commands), options.seed);
  await slowCalls(stack);
  options.onProgress(`${commands.length} commands, ${options.kills} kills`);
  const beganMs = performance.now();
  const recoveries: Recovery[] = [];
  const random = seededRandom(options.seed);
  const rounds = options.kills + 1;
  let processor = await stack.startProcessor();
  for (let round = 0; round < rounds; round += 1) {
    const part = commands.slice(
      Math.floor((round * commands.length) / rounds),
      Math.floor(((round + 1) * commands.length) / rounds),
    );
    const before = stack.journal.results().length;
    const published = Promise.all(
      part.map((command) => stack.publisher.publishUntyped(command.type, command.key, command.fields)),
    );
    if (round < options.kills) {
      const wanted = before + Math.ceil(part.length * (0.1 + 0.5 * random()));
      await stack.journal.until(() => stack.journal.results().length >= wanted, `${wanted} results`, RESULTS_MS_MAX);
      const recovered = await killAndStart(stack, processor);
      processor = recovered.processor;
      recoveries.push(recovered.recovery);
      options.onProgress(
        `kill ${round + 1}: ready after ${recovered.recovery.readyMs} ms, first result after ${recovered.recovery.firstResultMs} ms`,
      );
    }
    await published;
  }
  await stack.journal.resultsOfAll(
    commands.map(({ key }) => key),
    RESULTS_MS_MAX,
  );
  const elapsedMs = Math.round(performance.now() - beganMs);
  const { code } = await processor.stop();
  return { commands, recoveries, exitCode: code, elapsedMs, ...(await gather(stack)) };
}

async function killAndStart(
  stack: Stack,
  victim: RunningProcessor,
): Promise<{ processor: RunningProcessor; recovery: Recovery }> {
  await victim.kill9();
  const killedMs = performance.now();
  const processor = await stack.spawnProcessor();
  const before = stack.journal.results().length;
  await processor.ready();
  const readyMs = Math.round(performance.now() - killedMs);
  await stack.journal.until(() => stack.journal.results().length > before, 'a result after the kill');
  return { processor, recovery: { readyMs, firstResultMs: Math.round(performance.now() - killedMs) } };
}

/** Read anew from the beginning: what any other reader would find. */
async function gather(
  stack: Stack,
): Promise<Pick<Evidence, 'results' | 'deadLetters' | 'effects' | 'books' | 'underWayAtKills'>> {
  const journal = await Journal.open(stack.settings);
  const count = stack.journal.results().length;
  await journal.until(() => journal.results().length >= count, `${count} results, read anew`);
  const evidence = {
    results: journal.results(),
    deadLetters: journal.deadLetters().length,
    effects: await stack.service.effects(),
    books: await stack.service.books(),
    underWayAtKills: underWayAtKills(await stack.readLedger()),
  };
  await journal.close();
  return evidence;
}
