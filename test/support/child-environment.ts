/** The environment of every Node process that a test starts: PATH, no warnings, and the shared compile cache. */
export function childEnvironment(): Record<string, string> {
  const { NODE_COMPILE_CACHE, PATH = '' } = process.env;
  return { PATH, NODE_NO_WARNINGS: '1', ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) };
}
