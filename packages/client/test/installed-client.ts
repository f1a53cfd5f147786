/** A project of a test's own with the packed client installed in it, as its users would. */
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const INSTALL_MS_MAX = 240_000;
const RUN_MS_MAX = 60_000;

/** A program that publishes a command under the key that it is given, awaits its result, and publishes a copy without a registry. */
export const REQUEST = `
import { PaymentClient, PaymentCommandPublisher, readClientSettings, readPublisherSettings } from 'payment-processor-client';
const settings = readClientSettings(process.env);
if (!settings.ok) throw new Error(settings.problems.join());
const client = await PaymentClient.connect(settings.config);
const fields = { source: { accountId: 'ExternalAccount:1' }, destination: { accountId: 'InternalAccount:1' }, amount: 2500 };
const answer = await client.request('transfer-in', process.argv[2], fields, { timeoutMs: 30000 });
console.log(answer.kind, answer.result.value.outcome, answer.result.value.transaction.receivedAmount.amount);
const { SCHEMA_REGISTRY_URL, ...withoutRegistry } = process.env;
const publisher = await PaymentCommandPublisher.connect(readPublisherSettings(withoutRegistry).config);
const copy = await publisher.publish('transfer-in', process.argv[2], fields);
console.log(copy.topic.endsWith('.commands.transfer-in.v1'));
await Promise.all([client.close(), publisher.close()]);
`;
export const REQUEST_OUTPUT = 'result ACCEPTED 2500n\ntrue\n';

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export class InstalledClient {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Packs the client and installs it beside other packages, `name@version`. */
  static async install(...packages: string[]): Promise<InstalledClient> {
    const folder = await mkdtemp(join(tmpdir(), 'installed-client-'));
    const run = promisify(execFile);
    await run(process.execPath, ['packages/client/pack/pack.ts', '--to', folder], {
      cwd: ROOT,
      timeout: INSTALL_MS_MAX,
    });
    const [tarball = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'user-of-the-client', type: 'module' }));
    const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${tarball}`, ...packages];
    await run('npm', args, { cwd: folder, timeout: INSTALL_MS_MAX });
    return new InstalledClient(folder);
  }

  /** Runs a program of the project to its end. @param stopAt text of its output at which it is sent SIGTERM */
  async run(
    program: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
    stopAt?: string,
  ): Promise<Ended> {
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment };
    const child = spawn(program, args, { cwd: this.folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const kill = setTimeout(() => child.kill('SIGKILL'), RUN_MS_MAX);
    const ended = { code: null as number | null, stdout: '', stderr: '' };
    child.stdout.on('data', (part: Buffer) => {
      const wasSeen = stopAt !== undefined && ended.stdout.includes(stopAt);
      ended.stdout += part.toString();
      // Once: a second signal would meet no handler any more.
      if (!wasSeen && stopAt !== undefined && ended.stdout.includes(stopAt)) child.kill('SIGTERM');
    });
    child.stderr.on('data', (part: Buffer) => (ended.stderr += part.toString()));
    ended.code = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    clearTimeout(kill);
    return ended;
  }

  async write(file: string, text: string): Promise<void> {
    await writeFile(join(this.folder, file), text);
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
