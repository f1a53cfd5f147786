/**
 * Runs a folder as a container, without a container runtime: unshare (util-linux) makes namespaces, enter-container.pl the rest.
 * The network is this machine's. Besides the folder it has what a base image brings: Node with its libraries.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

const ENTER = fileURLToPath(new URL('enter-container.pl', import.meta.url));
/** As in the base image. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const NODE = '/usr/local/bin/node';
const DEVICES = ['/dev/null', '/dev/urandom'];
const COMMAND_MS_MAX = 30_000;
const OUTPUT_CHARACTERS_MAX = 1_000_000;

export interface ContainerOptions {
  /** Read-only mounts: path inside to folder here. */
  readonly folders: ReadonlyMap<string, string>;
  readonly workingDirectory: string;
  readonly user: number;
  readonly group: number;
  /** Paths of writable volumes, on this machine's disk. */
  readonly volumes: readonly string[];
  /** Writable paths in memory, with their sizes in bytes. */
  readonly inMemory: ReadonlyMap<string, number>;
  /** Shared libraries of Node and of what it loads, by absolute path. */
  readonly libraries: ReadonlySet<string>;
  /** The command's whole environment, besides PATH. */
  readonly environment: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  /** `cgroup.procs` of its control group; null: none. */
  readonly processesFile: string | null;
}

export interface ContainerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

function unshareParameters(user: number, group: number): string[] {
  const namespaces = ['--user', '--mount', '--pid', '--ipc', '--uts'];
  // The last option: when unshare ends, everything inside is killed.
  return [...namespaces, `--map-user=${user}`, `--map-group=${group}`, '--keep-caps', '--fork', '--kill-child'];
}

/** @returns why this machine cannot make a container; null if it can */
export async function whyNoContainer(): Promise<string | null> {
  const probe = [...unshareParameters(1000, 1000), '--mount-proc', 'perl', '-e', 'exit 0'];
  try {
    await run('unshare', probe, { timeout: COMMAND_MS_MAX });
    await run('nsenter', ['--version']);
    return null;
  } catch (error) {
    return (error as Error).message.trim();
  }
}

export class Container {
  readonly #child: ChildProcess;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #parent: string;
  #output = '';
  readonly ended: Promise<ContainerEnd>;

  private constructor(options: ContainerOptions, parent: string, mounts: readonly string[]) {
    this.#parent = parent;
    this.#environment = { ...options.environment, PATH };
    const { command, group, processesFile, user, workingDirectory } = options;
    const entered = [ENTER, join(parent, 'root'), workingDirectory, ...mounts, '--', ...command];
    const program = ['unshare', ...unshareParameters(user, group), 'perl', ...entered];
    const entry = processesFile === null ? '' : 'echo $$ > "$0" && ';
    this.#child = spawn('sh', ['-c', `${entry}exec "$@"`, processesFile ?? '', ...program], {
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8');
      stream?.on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-OUTPUT_CHARACTERS_MAX);
      });
    }
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve({ code, signal }));
    });
  }

  /** Starts the command. The caller must call `remove`. */
  static async start(options: ContainerOptions): Promise<Container> {
    const parent = await mkdtemp(join(tmpdir(), 'payments-container-'));
    const root = join(parent, 'root');
    const mounts: string[] = [`bind-read-only:${process.execPath}:${NODE}`, 'proc:/proc'];
    for (const place of [...options.folders.keys(), ...options.volumes, ...options.inMemory.keys(), '/proc', '/dev']) {
      await mkdir(join(root, place), { recursive: true });
    }
    for (const file of [NODE, ...DEVICES]) {
      await mkdir(join(root, dirname(file)), { recursive: true });
      await writeFile(join(root, file), '');
    }
    for (const library of options.libraries) {
      await mkdir(join(root, dirname(library)), { recursive: true });
      await copyFile(library, join(root, library));
    }
    for (const device of DEVICES) mounts.push(`bind-read-only:${device}:${device}`);
    for (const [place, folder] of options.folders) mounts.push(`bind-read-only:${folder}:${place}`);
    for (const [place, bytes] of options.inMemory) mounts.push(`tmpfs:${place}:${bytes}`);
    for (const [index, place] of options.volumes.entries()) {
      const volume = join(parent, `volume-${index}`);
      await mkdir(volume);
      mounts.push(`bind:${volume}:${place}`);
    }
    return new Container(options, parent, mounts);
  }

  /** The end of its output. */
  output(): string {
    return this.#output;
  }

  /** Id of its first process on this machine. @throws Error if it has none */
  async processId(): Promise<number> {
    const { pid = 0 } = this.#child;
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    if (children.trim() === '') throw new Error(`the container has no process:\n${this.#output}`);
    return Number(children.trim());
  }

  /** Runs a command inside, like a health check. @throws Error with `code` and `stderr` if it fails */
  async run(command: readonly string[]): Promise<string> {
    const namespaces = ['--user', '--mount', '--pid', '--ipc', '--uts', '--preserve-credentials'];
    const parameters = ['--target', String(await this.processId()), ...namespaces, '--', ...command];
    const options = { env: this.#environment, timeout: COMMAND_MS_MAX };
    return (await run('nsenter', parameters, options)).stdout;
  }

  /** Signals its first process, as a runtime does to stop it. @returns how it ended; it is killed if that takes too long */
  async stop(deadlineMs: number): Promise<ContainerEnd> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), deadlineMs);
    process.kill(await this.processId(), 'SIGTERM');
    const end = await this.ended;
    clearTimeout(timer);
    return end;
  }

  /** Kills it if it still runs, and removes its folders. */
  async remove(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
    await rm(this.#parent, { recursive: true, force: true });
  }
}

/** Libraries that Node and the native modules below the folder link to, loader included, by absolute path. */
export async function librariesOf(folder: string): Promise<Set<string>> {
  const modules = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.node'));
  const libraries = new Set<string>();
  for (const file of [process.execPath, ...modules.map((name) => join(folder, name))]) {
    // Modules for another libc or processor have none here: ldd fails, or finds nothing.
    const text = await run('ldd', [file]).then(
      ({ stdout }) => stdout,
      () => '',
    );
    for (const [, library = ''] of text.matchAll(/(\/\S+) \(0x/g)) libraries.add(library);
  }
  return libraries;
}
