/**
 * What the Dockerfile's stages contain and start, when they are built in folders (image-stages.ts). image-in-namespace.test.ts
 * tests users and limits. The base image and `docker build` itself are not tested.
 */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Ajv } from 'ajv';
import { toolPath } from '../../dev/operations/install-tools.ts';
import { EXIT_CODE_CONFIG, SETTINGS } from 'payment-processor-contract/config';
import { BUILD_MS_MAX, buildImage, STAGES, valuesOf, type BuiltImage } from './image-stages.ts';
import { ROOT } from './tools.ts';

const run = promisify(execFile);

const last = STAGES.at(-1)!;
let built: BuiltImage;
let image: string;

beforeAll(async () => {
  built = await buildImage();
  image = built.folderOf(last.name);
}, BUILD_MS_MAX);

afterAll(async () => {
  await built.remove();
}, BUILD_MS_MAX);

async function start(program: string, environment: Record<string, string>) {
  return run(process.execPath, [program], { cwd: image, env: environment, timeout: 30_000 }).then(
    ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
    (error: unknown) => {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, text: stdout + stderr };
    },
  );
}

interface Bill {
  readonly components: readonly {
    readonly type: string;
    readonly name: string;
    readonly version: string;
    readonly licenses?: readonly object[];
    readonly pedigree?: { readonly patches: readonly object[] };
  }[];
}

async function billSchema(name: string): Promise<object> {
  const file = join(toolPath('billSchemas'), `${name}.SNAPSHOT.schema.json`);
  return JSON.parse(await readFile(file, 'utf8')) as object;
}

/** Each package folder below it, as name@version. */
async function installedPackages(modules: string): Promise<string[]> {
  const found = new Set<string>();
  for (const entry of await readdir(modules, { recursive: true })) {
    if (!/(^|node_modules\/)(@[^/]+\/)?[^/@]+\/package\.json$/.test(entry)) continue;
    const { name, version } = JSON.parse(await readFile(join(modules, entry), 'utf8')) as Record<string, string>;
    // Our own packages have no version.
    if (version !== undefined) found.add(`${name ?? ''}@${version}`);
  }
  return [...found];
}

describe('the image', () => {
  it('starts the processor, which lists every missing setting', async () => {
    const command = JSON.parse(valuesOf(last, 'CMD')[0] ?? '[]') as string[];
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: { start: string };
    };
    expect(command.join(' ')).toBe(scripts.start);
    const program = command.at(-1) ?? '';
    const { code, text } = await start(program, {});
    expect(code).toBe(EXIT_CODE_CONFIG);
    for (const [name, setting] of Object.entries(SETTINGS)) {
      if (setting.default === null) expect(text).toContain(`${name} is required`);
    }
  });

  it('loads all that the processor uses, including native modules and schemas', async () => {
    const { code, text } = await start('src/main.ts', {
      KAFKA_BROKERS: '127.0.0.1:1',
      SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1',
      API_BASE_URL: 'http://127.0.0.1:1/v',
      API_TOKEN_ID: 'a',
      API_CLIENT_SECRET: 'b',
      // Not an address of this machine: the processor exits after loading everything.
      HTTP_HOST: '203.0.113.1',
    });
    expect({ code, text }).toMatchObject({
      code: 1,
      text: expect.stringContaining('not an address of this machine') as string,
    });
  });

  it('has the command line', async () => {
    const { code, text } = await start('packages/cli/src/main.ts', {});
    expect({ code, text }).toMatchObject({ code: 2, text: expect.stringContaining('Usage: payments') as string });
  });

  it('has the patches of kafkajs applied', async () => {
    // All at once and the last one first: a patch may change what an earlier one wrote.
    const patches = (await readdir(join(ROOT, 'patches'))).sort().reverse();
    expect(patches.length).toBeGreaterThan(0);
    const folder = await mkdtemp(join(tmpdir(), 'patched-'));
    await cp(join(image, 'node_modules/kafkajs'), join(folder, 'node_modules/kafkajs'), { recursive: true });
    for (const patch of patches) {
      const path = join(ROOT, 'patches', patch);
      await expect(run('git', ['apply', '--reverse', path], { cwd: folder })).resolves.toBeDefined();
    }
    await rm(folder, { recursive: true });
  });

  it('contains nothing from development or tests', async () => {
    expect((await readdir(image)).sort()).toEqual([
      'LICENSE',
      'bill-of-materials.cdx.json',
      'docs',
      'node_modules',
      'package.json',
      'packages',
      'schemas',
      'src',
    ]);
    expect(await readdir(join(image, 'docs'))).toEqual(['runbooks']);
    expect(await readdir(join(image, 'docs/runbooks'))).toContain('unknown-results.md');
    expect(await readdir(join(image, 'packages'))).toEqual(['cli', 'client', 'contract']);
    for (const name of ['cli', 'client', 'contract'])
      expect((await readdir(join(image, 'packages', name))).sort()).toEqual(['package.json', 'src']);
    const packages = await readdir(join(image, 'node_modules'));
    for (const name of ['vitest', 'typescript', 'eslint', 'playwright-core', 'node', 'payment-processor-sandbox'])
      expect(packages).not.toContain(name);
  });

  it('runs as a numeric non-root user, on an exact base image', () => {
    expect(valuesOf(last, 'USER')).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
    for (const { base } of STAGES) expect(base).toMatch(/^node:24\.\d+\.\d+-slim$/);
  });

  it('has labels with the name, version and license of package.json', async () => {
    const { name, version, license } = JSON.parse(await readFile(join(image, 'package.json'), 'utf8')) as {
      name: string;
      version: string;
      license: string;
    };
    const labels = valuesOf(last, 'LABEL').flatMap((text) => [...text.matchAll(/(\S+)="([^"]*)"/g)]);
    expect(Object.fromEntries(labels.map(([, label, value]) => [label, value]))).toEqual({
      'org.opencontainers.image.title': name,
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': license,
    });
  });

  it('has a bill of materials that follows the standard, and names each package with its license', async () => {
    const bill = JSON.parse(await readFile(join(image, 'bill-of-materials.cdx.json'), 'utf8')) as Bill;
    const ajv = new Ajv({ strict: false, validateFormats: false });
    for (const name of ['spdx', 'jsf-0.82']) {
      // By the ids under which the bill's schema refers to them, which differ from their own.
      ajv.addSchema(await billSchema(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
    }
    const validate = ajv.compile(await billSchema('bom-1.5'));
    expect(validate(bill), JSON.stringify(validate.errors)).toBe(true);
    const installed = await installedPackages(join(image, 'node_modules'));
    expect(installed.length).toBeGreaterThan(50);
    const named = bill.components.map(({ name, version }) => `${name}@${version}`);
    const base = STAGES[0]?.base.replace('node:', '') ?? '';
    expect(named.toSorted()).toEqual([...installed, `node@${base.replace('-slim', '')}`, `node@${base}`].toSorted());
    for (const { licenses, name, type } of bill.components) {
      if (type === 'library') expect(licenses, name).not.toEqual([]);
    }
    const patched = bill.components.filter(({ pedigree }) => pedigree !== undefined);
    expect(patched.map(({ name, pedigree }) => [name, pedigree?.patches.length])).toEqual([
      ['kafkajs', (await readdir(join(ROOT, 'patches'))).length],
    ]);
  });

  it('sets only settings that the processor knows', () => {
    const names = valuesOf(last, 'ENV').flatMap((text) => [...text.matchAll(/(\w+)=/g)].map(([, name = '']) => name));
    expect(names.length).toBeGreaterThan(0);
    const ofTheSystem = ['NODE_ENV', 'MALLOC_ARENA_MAX', 'MALLOC_TRIM_THRESHOLD_'];
    for (const name of names) if (!ofTheSystem.includes(name)) expect(Object.keys(SETTINGS)).toContain(name);
  });

  it('is healthy while the processor answers, and not otherwise', async () => {
    const [, check = ''] = /CMD (\[.*\])$/.exec(valuesOf(last, 'HEALTHCHECK')[0] ?? '') ?? [];
    const [, ...parameters] = JSON.parse(check) as string[];
    const answers = createServer((_request, response) => response.end('{}'));
    await new Promise<void>((resolve) => void answers.listen(0, '127.0.0.1', resolve));
    const environment = { HTTP_PORT: String((answers.address() as AddressInfo).port) };
    await expect(run(process.execPath, parameters, { env: environment })).resolves.toBeDefined();
    await new Promise((resolve) => {
      answers.close(resolve);
      answers.closeAllConnections();
    });
    await expect(run(process.execPath, parameters, { env: environment })).rejects.toMatchObject({ code: 1 });
  });
});

describe("compose's sandbox", () => {
  it('starts with nothing but its own stage', async () => {
    const sandbox = built.folderOf('sandbox');
    const { stdout } = await run(process.execPath, ['packages/sandbox/src/main.ts', '--help'], { cwd: sandbox });
    expect(stdout).toContain("The payment service's sandbox");
  });
});
