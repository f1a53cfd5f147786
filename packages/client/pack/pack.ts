/**
 * Packs the client of publishers and subscribers: `npm run client:pack -- [--to DIR]`, .local by default.
 *
 * Stages: what the package exports is compiled, with what it imports, to JavaScript with declarations -> the manifest gets version and
 * dependencies, by what the JavaScript imports -> schemas, licence and the patched kafkajs are put beside it -> npm pack.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compileClient } from './compile.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PACKAGES = join(ROOT, 'packages');
const CLIENT = join(PACKAGES, 'client');
/** Declarations speak of Buffer; any release that knows our oldest Node will do, so that a project has one alone. */
const NODE_TYPES = { '@types/node': '>=22' };
/** What tests and the command line may import is no part of the package. */
const INTERNAL = './internal/*';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

const { values } = parseArgs({ options: { to: { type: 'string', default: join(ROOT, '.local') } } });
const destination = resolve(values.to);
const stage = mkdtempSync(join(tmpdir(), 'client-package-'));
try {
  const { version } = manifestOf(ROOT);
  const client = manifestOf(CLIENT);
  const sources = Object.entries(client.exports).filter(([entry]) => entry !== INTERNAL);
  const dist = join(stage, 'dist');
  const entries = sources.map(([, source]) => source).filter((source) => source.endsWith('.ts'));
  compileClient(
    PACKAGES,
    entries.map((source) => join('client', source)),
    dist,
  );
  const pinned = { ...manifestOf(join(PACKAGES, 'contract')).dependencies, ...client.dependencies };
  const manifest = {
    ...client,
    version,
    exports: Object.fromEntries(sources.map(([entry, source]) => [entry, compiledOf(source)])),
    files: ['dist', 'schemas', 'patches', 'NOTICE'],
    dependencies: { ...usedOf(dist, pinned), ...NODE_TYPES },
    devDependencies: undefined,
    bundleDependencies: ['kafkajs'],
  };
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const file of ['README.md', 'NOTICE']) cpSync(join(CLIENT, file), join(stage, file));
  cpSync(join(ROOT, 'LICENSE'), join(stage, 'LICENSE'));
  cpSync(join(ROOT, 'schemas'), join(stage, 'schemas'), { recursive: true });
  cpSync(join(ROOT, 'patches'), join(stage, 'patches'), { recursive: true });
  cpSync(join(ROOT, 'node_modules/kafkajs'), join(stage, 'node_modules/kafkajs'), { recursive: true });
  mkdirSync(destination, { recursive: true });
  execFileSync('npm', ['pack', '--silent', '--pack-destination', destination], { cwd: stage, stdio: 'pipe' });
  process.stdout.write(`${join(destination, `${client.name}-${version}.tgz`)}\n`);
} finally {
  rmSync(stage, { recursive: true, force: true });
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** What a packed export is: `./src/index.ts` is compiled to `./dist/client/src/index.js`. */
function compiledOf(source: string): string | { readonly types: string; readonly default: string } {
  if (!source.endsWith('.ts')) return source;
  const place = `./dist/client/${source.slice('./'.length, -'.ts'.length)}`;
  return { types: `${place}.d.ts`, default: `${place}.js` };
}

/** Those packages that the compiled files import, as the manifests of client and contract pin them. */
function usedOf(dist: string, pinned: Record<string, string>): Record<string, string> {
  const texts = globSync('**/*.js', { cwd: dist }).map((file) => readFileSync(join(dist, file), 'utf8'));
  const names = texts.flatMap((text) =>
    [...text.matchAll(/(?:from |import )'((?:@[^/']+\/)?[^./'][^/':]*)'/g)].map(([, used = '']) => used),
  );
  const unknown = names.filter((used) => pinned[used] === undefined);
  if (unknown.length > 0) throw new Error(`the client imports ${unknown.join(', ')}, which no manifest has`);
  return Object.fromEntries([...new Set(names)].sort().map((used) => [used, pinned[used] ?? '']));
}
