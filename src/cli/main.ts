/**
 * The command line: topics, schemas, publishing, looking, deciding and checking. Settings come from the environment alone.
 *
 * Results go to standard output, everything else to standard error; the exit code tells what became of it
 * (exit-codes.ts). What its user can mend is shown as a sentence, without a stack.
 */
import { Command, CommanderError, Option } from 'commander';
import { addDeadLettersCommand } from './commands/dead-letters.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addLagCommand } from './commands/lag.ts';
import { addLedgerCommand } from './commands/ledger.ts';
import { addMirrorCommand } from './commands/mirror.ts';
import { addPublishCommand } from './commands/publish.ts';
import { addResolveCommand } from './commands/resolve.ts';
import { addResultsCommand } from './commands/results.ts';
import { addSchemasCommand } from './commands/schemas.ts';
import { addShowCommand } from './commands/show.ts';
import { addStatusShowCommand } from './commands/status-show.ts';
import { addTopicsCommand } from './commands/topics.ts';
import { addTransactionsCommand } from './commands/transactions.ts';
import { addUnknownCommand } from './commands/unknown.ts';
import { CliFailure, EXIT_CODES, exitCodeTable } from './exit-codes.ts';
import { failureOf } from './failures.ts';
import { shownLine } from './output.ts';

/** Longest that sockets which are closing may hold the process back once all is written. */
const EXIT_GRACE_MS = 2_000;

function createProgram(): Command {
  const program = new Command('payments')
    .description(
      'Tools for the payment processor: topics, schemas, publishing commands, looking at what became of them, deciding on them.',
    )
    .addOption(new Option('--output <format>', 'how results are written').choices(['text', 'json']).default('text'))
    .showHelpAfterError('(add --help for the options)')
    .addHelpText(
      'after',
      `
Settings are environment variables: KAFKA_BROKERS and SCHEMA_REGISTRY_URL are required by most commands.

${exitCodeTable()}`,
    );
  addTopicsCommand(program);
  addSchemasCommand(program);
  addPublishCommand(program);
  addShowCommand(program);
  addResultsCommand(program);
  addStatusShowCommand(program);
  addMirrorCommand(program);
  addTransactionsCommand(program);
  addLagCommand(program);
  addLedgerCommand(program);
  addDeadLettersCommand(program);
  addUnknownCommand(program);
  addResolveCommand(program);
  addDoctorCommand(program);
  return program;
}

/** Settings that are inherited by a command only if they are set before it is made. */
function exitByThrowing(command: Command): void {
  command.exitOverride();
  command.commands.forEach(exitByThrowing);
}

async function run(): Promise<number> {
  const program = createProgram();
  exitByThrowing(program);
  try {
    await program.parseAsync(process.argv);
    return EXIT_CODES.ok.code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok.code : EXIT_CODES.usage.code;
    const failure = error instanceof CliFailure ? error : failureOf(error);
    process.stderr.write(`${failure.message.split('\n').map(shownLine).join('\n')}\n`);
    return EXIT_CODES[failure.reason].code;
  }
}

// A reader of our output that is done, such as `head`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT_CODES.ok.code);
  throw error;
});
process.exitCode = await run();
setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();
