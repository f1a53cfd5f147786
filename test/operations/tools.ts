/** Runs the tools that dev/operations/install-tools.ts installs. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { toolPath } from '../../dev/operations/install-tools.ts';
import type { ToolName } from '../../dev/operations/tool-pins.ts';

const run = promisify(execFile);

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The slowest takes seconds, even on a busy machine. */
const TOOL_MS_MAX = 60_000;
const OUTPUT_BYTES_MAX = 32 * 1024 * 1024;

/** The matrix and the proof `cluster` set TEST_HELM=helm3: the older Helm. */
const HELM = process.env['TEST_HELM'] === 'helm3' ? 'helm3' : 'helm';

export interface ToolEnd {
  readonly code: number;
  /** Standard output. */
  readonly output: string;
  /** Standard output and standard error. */
  readonly text: string;
}

/** Runs a tool from the root of the repository; a failure is returned, not thrown. */
export async function runTool(
  name: Exclude<ToolName, 'kubernetesSchemas'>,
  parameters: readonly string[],
  input = '',
): Promise<ToolEnd> {
  const pending = run(toolPath(name === 'helm' ? HELM : name), parameters, {
    cwd: ROOT,
    timeout: TOOL_MS_MAX,
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  // A tool may exit without reading its input; the exit code says whether that was right.
  pending.child.stdin?.on('error', () => undefined).end(input);
  try {
    const { stdout, stderr } = await pending;
    return { code: 0, output: stdout, text: stdout + stderr };
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (typeof code !== 'number') throw error;
    return { code, output: stdout, text: stdout + stderr };
  }
}
