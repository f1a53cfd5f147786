/** All commands with their flags, and one run from arguments to exit code. */
import { CommanderError, Option } from 'commander';
import { CliCommand } from './cli-command.ts';
import { addDeadLettersCommand } from './commands/dead-letters.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addHoldCommands } from './commands/hold.ts';
import { addHoldsCommand } from './commands/holds.ts';
import { addLagCommand } from './commands/lag.ts';
import { addLedgerCommand } from './commands/ledger.ts';
import { addMirrorCommand } from './commands/mirror.ts';
import { addPublishCommand } from './commands/publish.ts';
import { addResolveCommand } from './commands/resolve.ts';
import { addResultsCommand } from './commands/results.ts';
import { addSchemasCommand } from './commands/schemas.ts';
import { addShowCommand } from './commands/show.ts';
import { addTopicsCommand } from './commands/topics.ts';
import { addTransactionsCommand } from './commands/transactions.ts';
import { addUnfinishedCommand } from './commands/unfinished.ts';
import { addUnknownCommand } from './commands/unknown.ts';
import { CliFailure, EXIT_CODES, exitCodeTable } from './exit-codes.ts';
import { failureOf } from './failures.ts';

/** In the order of the help. */
const ADDING = [
  addTopicsCommand,
  addSchemasCommand,
  addPublishCommand,
  addShowCommand,
  addResultsCommand,
  addMirrorCommand,
  addTransactionsCommand,
  addLagCommand,
  addLedgerCommand,
  addDeadLettersCommand,
  addUnfinishedCommand,
  addUnknownCommand,
  addResolveCommand,
  addHoldCommands,
  addHoldsCommand,
  addDoctorCommand,
];

export function createProgram(): CliCommand {
  const program = new CliCommand('payments')
    .description(
      'Manage the topics and schemas of the payment processor, publish commands, follow their outcomes, and decide on them.',
    )
    .addOption(new Option('--output <format>', 'output format').choices(['text', 'json']).default('text'))
    .showHelpAfterError('(--help lists the options)')
    // Throws instead of ending the process. Commands added later inherit it.
    .exitOverride().details(`
Settings are environment variables. Most commands require KAFKA_BROKERS; about half also require SCHEMA_REGISTRY_URL.

${exitCodeTable()}`);
  for (const add of ADDING) add(program);
  return program;
}

/** @returns the exit code */
export async function runCommand(words: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(words, { from: 'user' });
    return EXIT_CODES.ok.code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok.code : EXIT_CODES.usage.code;
    const failure = error instanceof CliFailure ? error : failureOf(error);
    process.stderr.write(`${failure.message}\n`);
    return EXIT_CODES[failure.reason].code;
  }
}
