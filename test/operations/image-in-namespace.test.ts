/**
 * The image as the chart runs it, without a container runtime: exactly its files, read-only, in its own namespaces, as its
 * user, without capabilities, within the chart's limits, against a real Kafka and registry. Not tested: base image, seccomp
 * profile, a separate network, and `docker build` itself.
 *
 * On a machine that cannot make namespaces this fails, unless TEST_IMAGE_NAMESPACE=unavailable is set.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freePort, LOOPBACK } from 'payment-processor-local-kafka/ports';
import { transferInOf } from '../support/commands.ts';
import { CLIENT_SECRET, TOKEN_ID } from '../support/sandbox-control.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';
import { FULL_NAME, LEAST, merged, ofKind, render } from './chart.ts';
import { Container, librariesOf, whyNoContainer } from './container.ts';
import { BUILD_MS_MAX, buildImage, STAGES, valuesOf, type BuiltImage } from './image-stages.ts';
import { limitMemory, type MemoryLimit } from './memory-limit.ts';

const MEBIBYTE = 1024 * 1024;
const SECRETS = { API_TOKEN_ID: TOKEN_ID, API_CLIENT_SECRET: CLIENT_SECRET };
const SECRETS_PLACE = '/run/secrets/payment-processor';
const READY_MS_MAX = 60_000;
const OUTPUT_CHARACTERS_MAX = 10_000;
/** From Debian's libc6, libgcc-s1 and libstdc++6, which the base image has. */
const BASE_LIBRARIES = /^(ld-linux.*|lib(c|dl|m|pthread|rt|gcc_s|stdc\+\+))\.so\.\d+$/;
const availability = process.env['TEST_IMAGE_NAMESPACE'] ?? '';
const image = STAGES.at(-1)!;

/** The part of the pod template that these tests use. */
interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number };
  readonly containers: readonly {
    readonly securityContext: object;
    readonly env: readonly { readonly name: string; readonly value?: string }[];
    readonly resources: { readonly limits: { readonly memory: string } };
    readonly volumeMounts: readonly { readonly mountPath: string; readonly readOnly?: boolean }[];
  }[];
  readonly volumes: readonly { readonly name: string; readonly emptyDir?: { readonly sizeLimit: string } }[];
}

async function podOf(settings: Record<string, string>): Promise<PodSpec> {
  const [set] = ofKind(await render(merged(LEAST, { replicas: 1, settings })), 'StatefulSet');
  expect(set?.metadata.name).toBe(FULL_NAME);
  return (set?.spec as { template: { spec: PodSpec } }).template.spec;
}

function bytesOf(quantity: string): number {
  const [, mebibytes = ''] = /^(\d+)Mi$/.exec(quantity) ?? [];
  expect(mebibytes, `${quantity} in whole Mi`).not.toBe('');
  return Number(mebibytes) * MEBIBYTE;
}

describe.skipIf(availability === 'unavailable')('the image, in namespaces of its own', () => {
  const stack = useStack({ name: 'image' });
  let built: BuiltImage | undefined;
  let container: Container | undefined;
  let pod: PodSpec;
  let memory: MemoryLimit | string;
  let secrets: string | undefined;
  let libraries: Set<string>;
  let httpUrl: string;

  beforeAll(async () => {
    expect(['', 'unavailable'], 'TEST_IMAGE_NAMESPACE').toContain(availability);
    const missing = await whyNoContainer();
    if (missing !== null) {
      throw new Error(
        'The image cannot be tried in namespaces here; it wants Linux with user namespaces, and unshare, nsenter (util-linux) and ' +
          `perl. Set TEST_IMAGE_NAMESPACE=unavailable where that cannot be had. Said: ${missing}`,
      );
    }
    built = await buildImage();
    const port = await freePort();
    httpUrl = `http://${LOOPBACK}:${port}`;
    // The chart sets where the state is, and mounts secrets as files.
    const settings = Object.entries(stack().environment).filter(([name]) => name !== 'STATE_DIR' && !(name in SECRETS));
    pod = await podOf({ ...Object.fromEntries(settings), HTTP_PORT: String(port) });
    const [{ env, resources, volumeMounts }] = pod.containers as [PodSpec['containers'][number]];
    const secretsFolder = await mkdtemp(join(tmpdir(), 'payments-secrets-'));
    secrets = secretsFolder;
    for (const [name, value] of Object.entries(SECRETS)) await writeFile(join(secretsFolder, name), value);
    const baked = valuesOf(image, 'ENV').flatMap((text) => [...text.matchAll(/(\w+)=(\S+)/g)]);
    memory = await limitMemory(bytesOf(resources.limits.memory));
    if (typeof memory === 'string') console.warn(`The chart's limit of memory is not in force in this test: ${memory}`);
    const scratch = pod.volumes.find(({ name }) => name === 'scratch')?.emptyDir?.sizeLimit ?? '';
    const writable = volumeMounts.filter(({ readOnly }) => readOnly !== true).map(({ mountPath }) => mountPath);
    const [workingDirectory = ''] = valuesOf(image, 'WORKDIR');
    libraries = await librariesOf(built.folderOf(image.name));
    container = await Container.start({
      folders: new Map([
        [workingDirectory, built.folderOf(image.name)],
        [SECRETS_PLACE, secretsFolder],
      ]),
      workingDirectory,
      user: pod.securityContext.runAsUser,
      group: pod.securityContext.runAsGroup,
      volumes: writable.filter((place) => place !== '/tmp'),
      libraries,
      inMemory: new Map([['/tmp', bytesOf(scratch)]]),
      environment: {
        ...Object.fromEntries(baked.map(([, name = '', value = '']) => [name, value])),
        // The one without a value is the pod's address.
        ...Object.fromEntries(env.map(({ name, value }) => [name, value ?? LOOPBACK])),
      },
      command: JSON.parse(valuesOf(image, 'CMD')[0] ?? '[]') as string[],
      processesFile: typeof memory === 'string' ? null : memory.processesFile,
    });
    const isReady = eventually(
      () => fetch(`${httpUrl}/health/ready`).then(({ ok }) => ok, String),
      (answer) => answer === true,
      'the processor to be ready',
      READY_MS_MAX,
    );
    const early = container.ended.then((end) => `it ended: ${JSON.stringify(end)}`);
    const answer = await Promise.race([isReady, early]).catch(String);
    if (answer !== true) throw new Error(`${String(answer)}\n${container.output().slice(-OUTPUT_CHARACTERS_MAX)}`);
  }, BUILD_MS_MAX);

  afterEach((context) => {
    if (context.task.result?.state === 'fail') console.error(started().output());
  });

  afterAll(async () => {
    await container?.remove();
    if (typeof memory === 'object') await memory.remove();
    await built?.remove();
    if (secrets !== undefined) await rm(secrets, { recursive: true, force: true });
  }, BUILD_MS_MAX);

  function started(): Container {
    if (container === undefined) throw new Error('the container is not started yet');
    return container;
  }

  /** The JSON that a program inside prints. */
  async function evaluated(expression: string): Promise<unknown> {
    const program = `(async () => console.log(JSON.stringify(await (${expression}))))()`;
    return JSON.parse(await started().run(['node', '--eval', program])) as unknown;
  }

  it('processes a command', async () => {
    await stack().publisher.publish('transfer-in', 'in-namespace', transferInOf('in-namespace'));
    const { value } = await stack().journal.result('in-namespace');
    expect(value.outcome).toBe('ACCEPTED');
  });

  it("runs as the chart's user, without capabilities, and can get none", async () => {
    const text = (await evaluated(`require('fs').readFileSync('/proc/1/status', 'utf8')`)) as string;
    const status = Object.fromEntries(text.split('\n').map((line) => line.split(/:\s+/) as [string, string]));
    const lines = text.split('\n').filter((line) => /^(Uid|Gid|Cap|NoNewPrivs|Seccomp:)/.test(line));
    console.info(`its /proc/1/status:\n${lines.join('\n')}`);
    const { runAsGroup, runAsUser } = pod.securityContext;
    expect(valuesOf(image, 'USER')).toEqual([`${runAsUser}:${runAsGroup}`]);
    const none = '0'.repeat(16);
    expect(status).toMatchObject({
      Name: expect.stringMatching(/^(node|MainThread)/) as string,
      Uid: Array(4).fill(runAsUser).join('\t'),
      Gid: Array(4).fill(runAsGroup).join('\t'),
      ...{ CapInh: none, CapPrm: none, CapEff: none, CapBnd: none, CapAmb: none, NoNewPrivs: '1' },
    });
    expect(pod.containers[0]?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('can write only to its volumes', async () => {
    const write = `(place) => { try { require('fs').writeFileSync(place + '/x', ''); return 'written' } catch (error) { return error.code } }`;
    const places = [
      '',
      '/app',
      '/app/src',
      '/usr/local/bin',
      SECRETS_PLACE,
      '/var/lib',
      '/var/lib/payment-processor',
      '/tmp',
    ];
    const answers = await evaluated(`${JSON.stringify(places)}.map(${write})`);
    expect(answers).toEqual([...Array<string>(6).fill('EROFS'), 'written', 'written']);
    // Nothing but what this test wrote.
    expect(await evaluated(`require('fs').readdirSync('/tmp')`)).toEqual(['x']);
  });

  it("sees none of the machine's files and processes", async () => {
    const list = (place: string): Promise<unknown> => evaluated(`require('fs').readdirSync('${place}').sort()`);
    expect(await list('/')).toEqual(expect.arrayContaining(['app', 'dev', 'proc', 'run', 'tmp', 'usr', 'var']));
    expect(await evaluated(`['/etc', '/home', '/root', '/sys', '/usr/bin'].filter(require('fs').existsSync)`)).toEqual(
      [],
    );
    expect(await list('/dev')).toEqual(['null', 'urandom']);
    // The processor and the process that looks.
    expect(((await list('/proc')) as string[]).filter((name) => /^\d+$/.test(name))).toHaveLength(2);
    const mounts = (await evaluated(`require('fs').readFileSync('/proc/self/mounts', 'utf8')`)) as string;
    const writable = mounts.split('\n').flatMap((line) => (/ rw[ ,]/.test(line) ? [line.split(' ')[1]] : []));
    expect(writable.toSorted()).toEqual(['/proc', '/tmp', '/var/lib/payment-processor']);
  });

  it('needs only the libraries of the base image', () => {
    expect([...libraries].filter((library) => !BASE_LIBRARIES.test(basename(library)))).toEqual([]);
  });

  it('is healthy according to its own check', async () => {
    const [, check = ''] = /CMD (\[.*\])$/.exec(valuesOf(image, 'HEALTHCHECK')[0] ?? '') ?? [];
    await expect(started().run(JSON.parse(check) as string[])).resolves.toBe('');
  });

  it("stays within the chart's memory limit, where control groups are available", async () => {
    if (typeof memory === 'string') return;
    const limitBytes = bytesOf(pod.containers[0]?.resources.limits.memory ?? '');
    expect(await memory.limitBytes()).toBe(limitBytes);
    const mostUsedBytes = await memory.mostUsedBytes();
    if (mostUsedBytes !== null) expect(mostUsedBytes).toBeGreaterThan(32 * MEBIBYTE);
    console.info(`memory: at most ${mostUsedBytes ?? '?'} of ${limitBytes} bytes`);
  });

  it('stops in order and in time on SIGTERM', async () => {
    expect(await started().stop(pod.terminationGracePeriodSeconds * 1000)).toEqual({ code: 0, signal: null });
  });
});
