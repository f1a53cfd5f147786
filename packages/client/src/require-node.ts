/** Imported first, so that an older Node fails here with a clear message, and not later on a missing feature. */
import process from 'node:process';

/** Must match `engines` of the package. This version brought zstd. */
const NODE_MIN = [22, 15] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1])) {
  throw new Error(
    `payment-processor-client needs Node ${NODE_MIN.join('.')} or newer, and this is Node ${process.versions.node}`,
  );
}
