/**
 * The command line: topics, schemas, publishing, reading, deciding and checking. All settings come from the environment.
 *
 * Results go to standard output, everything else to standard error; the exit code gives the outcome (exit-codes.ts). A
 * failure that the user can fix appears as a sentence, without a stack.
 */
import { EXIT_CODES } from './exit-codes.ts';
import { exitsOnClosedOutput } from './output.ts';
import { runCommand } from './program.ts';

/** How long closing sockets may delay the process's end after all output is written. */
const EXIT_GRACE_MS = 2_000;

// A reader that closes our output early, such as `head`, is not a failure, nor is a lost terminal (EIO). The work continues, and
// the exit code gives its outcome.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    if (exitsOnClosedOutput()) process.exit(EXIT_CODES.ok.code);
  });
}
process.exitCode = await runCommand(process.argv.slice(2));
setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();
