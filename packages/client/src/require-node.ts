/** Imported before all else: an older Node ends here with a sentence, and not later with what it lacks. */
import process from 'node:process';

/** As `engines` of the package has it: zstd came with it. */
const NODE_MIN = [22, 15] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1])) {
  throw new Error(
    `payment-processor-client needs Node ${NODE_MIN.join('.')} or newer, and this is Node ${process.versions.node}`,
  );
}
