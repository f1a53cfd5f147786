/** What every Node process that a test starts inherits: the path, no warnings, and compiled code instead of compiling it again. */
export function childEnvironment(): Record<string, string> {
  const { NODE_COMPILE_CACHE, PATH = '' } = process.env;
  return { PATH, NODE_NO_WARNINGS: '1', ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) };
}
