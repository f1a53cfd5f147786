/**
 * Starts a program that itself starts another, prints both process ids as JSON, and then stays or ends.
 * Arguments: a folder for the log; "stay", "exit" or "throw".
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProcess } from '../src/supervised-process.ts';

const [directory = '', ending = ''] = process.argv.slice(2);
const logFile = join(directory, 'program.log');
const program = await startProcess({
  title: 'Sleeper',
  program: '/bin/sh',
  arguments: ['-c', 'sleep 600 & echo $!; wait'],
  logFile,
  workingDirectory: directory,
});
let grandchild = '';
while (!grandchild.endsWith('\n')) {
  grandchild = await readFile(logFile, 'utf8');
  await sleep(10);
}
const line = `${JSON.stringify({ pids: [program.pid, Number(grandchild)] })}\n`;
process.stdout.write(line, () => {
  if (ending === 'exit') process.exit(3);
  if (ending === 'throw') throw new Error('Thrown on purpose.');
});
