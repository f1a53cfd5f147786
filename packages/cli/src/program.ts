/** The commands of the command line, with their flags. */
import { Command, Option } from 'commander';
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
import { addStatusShowCommand } from './commands/status-show.ts';
import { addTopicsCommand } from './commands/topics.ts';
import { addTransactionsCommand } from './commands/transactions.ts';
import { addUnfinishedCommand } from './commands/unfinished.ts';
import { addUnknownCommand } from './commands/unknown.ts';
import { exitCodeTable } from './exit-codes.ts';

export function createProgram(): Command {
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
  addUnfinishedCommand(program);
  addUnknownCommand(program);
  addResolveCommand(program);
  addHoldCommands(program);
  addHoldsCommand(program);
  addDoctorCommand(program);
  return program;
}
