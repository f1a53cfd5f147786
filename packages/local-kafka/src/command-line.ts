/** What the programs that are started by hand on this machine have in common: how they read their words and end. */

export const EXIT_CODE_FAILED = 1;
const EXIT_CODE_USAGE = 2;

/**
 * Ends this process where there is nothing to run: with the usage where help is asked for, with what is wrong and the
 * usage where the words are.
 * @param parse gets the words after the script's name, without a leading `--`, which some package managers hand on;
 *   null asks for help, and an error that it throws says what is wrong
 */
export function readWords<Options extends object>(usage: string, parse: (words: string[]) => Options | null): Options {
  const words = process.argv.slice(2);
  try {
    const options = parse(words[0] === '--' ? words.slice(1) : words);
    if (options !== null) return options;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(EXIT_CODE_USAGE);
  }
  process.stdout.write(usage);
  process.exit();
}

/**
 * Resolves at the first signal. The handlers stay: npm passes a Ctrl-C on that the terminal has already delivered, and
 * the second must not cut the end short.
 */
export async function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, resolve);
  });
}
