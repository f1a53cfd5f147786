/** Must match `engines` in package.json. */
export const NODE_MAJOR_MIN = 24;

/**
 * @param version as process.versions.node
 * @returns the problem and its remedy, or null
 */
export function nodeProblem(version: string): string | null {
  if (Number(version.split('.')[0]) >= NODE_MAJOR_MIN) return null;
  return (
    `this is Node ${version}, and the processor needs Node ${NODE_MAJOR_MIN} or newer: ` +
    'start it with npm start, which uses the Node that npm ci installs, or install a newer one'
  );
}
