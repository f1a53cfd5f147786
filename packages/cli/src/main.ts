/**
 * The command line: topics, schemas, publishing, looking, deciding and checking. Settings come from the environment alone.
 *
 * Results go to standard output, everything else to standard error; the exit code tells what became of it
 * (exit-codes.ts). What its user can mend is shown as a sentence, without a stack.
 */
import { EXIT_CODES } from './exit-codes.ts';
import { stdoutIsAll } from './output.ts';
import { runCommand } from './program.ts';

/** Longest that sockets which are closing may hold the process back once all is written. */
const EXIT_GRACE_MS = 2_000;

// A reader of our output that is done, such as `head`, is no failure; what was begun goes on, and the exit code tells of it.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    if (stdoutIsAll()) process.exit(EXIT_CODES.ok.code);
  });
}
process.exitCode = await runCommand(process.argv.slice(2));
setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();
