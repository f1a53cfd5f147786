/**
 * Packs the client of publishers and subscribers: `npm run client:pack -- [--to DIR]`, .local by default.
 *
 * Stages: what `src/client/index.ts` imports is compiled to JavaScript with declarations -> the manifest gets version and
 * dependencies, by what the JavaScript imports -> schemas, licence and the mended kafkajs are put beside it -> npm pack.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compileClient } from './compile.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TEMPLATE = join(ROOT, 'packages/client');
/** Declarations speak of Buffer; any release that knows our oldest Node will do, so that a project has one alone. */
const NODE_TYPES = { '@types/node': '>=22' };

interface Manifest {
  version: string;
  dependencies: Record<string, string>;
}

const { values } = parseArgs({ options: { to: { type: 'string', default: join(ROOT, '.local') } } });
const destination = resolve(values.to);
const stage = mkdtempSync(join(tmpdir(), 'client-package-'));
try {
  const dist = join(stage, 'dist');
  compileClient(ROOT, dist);
  const { version, dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
  const template = JSON.parse(readFileSync(join(TEMPLATE, 'package.json'), 'utf8')) as { name: string };
  const { name, ...rest } = template;
  const manifest = { name, version, ...rest, dependencies: { ...usedOf(dist, dependencies), ...NODE_TYPES } };
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const file of ['README.md', 'NOTICE']) cpSync(join(TEMPLATE, file), join(stage, file));
  cpSync(join(ROOT, 'LICENSE'), join(stage, 'LICENSE'));
  cpSync(join(ROOT, 'schemas'), join(stage, 'schemas'), { recursive: true });
  cpSync(join(ROOT, 'patches'), join(stage, 'mends'), { recursive: true });
  cpSync(join(ROOT, 'node_modules/kafkajs'), join(stage, 'node_modules/kafkajs'), { recursive: true });
  mkdirSync(destination, { recursive: true });
  execFileSync('npm', ['pack', '--silent', '--pack-destination', destination], { cwd: stage, stdio: 'pipe' });
  process.stdout.write(`${join(destination, `${name}-${version}.tgz`)}\n`);
} finally {
  rmSync(stage, { recursive: true, force: true });
}

/** Those packages that the compiled files import, as this repository pins them. */
function usedOf(dist: string, pinned: Record<string, string>): Record<string, string> {
  const texts = globSync('**/*.js', { cwd: dist }).map((file) => readFileSync(join(dist, file), 'utf8'));
  const names = texts.flatMap((text) =>
    [...text.matchAll(/(?:from |import )'((?:@[^/']+\/)?[^./'][^/':]*)'/g)].map(([, used = '']) => used),
  );
  const unknown = names.filter((used) => pinned[used] === undefined);
  if (unknown.length > 0) throw new Error(`the client imports ${unknown.join(', ')}, which package.json does not have`);
  return Object.fromEntries([...new Set(names)].sort().map((used) => [used, pinned[used] ?? '']));
}
