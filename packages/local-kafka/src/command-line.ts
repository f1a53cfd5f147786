/** How programs that developers start by hand parse their arguments and end. */

export const EXIT_CODE_FAILED = 1;
const EXIT_CODE_USAGE = 2;

/**
 * Ends this process if there is nothing to run: prints the usage for --help, or the error and the usage for wrong arguments.
 * @param parse gets the arguments without a leading `--`, which some package managers pass on;
 *   it returns null for help, and throws on wrong arguments
 */
export function parseArguments<Options extends object>(
  usage: string,
  parse: (words: string[]) => Options | null,
): Options {
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
 * Resolves at the first signal. The handlers stay: npm forwards a Ctrl-C that the terminal has already delivered, and the
 * second must not interrupt the shutdown.
 */
export async function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, resolve);
  });
}
