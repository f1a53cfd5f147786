/**
 * The bill of materials of the image, CycloneDX 1.5: `node dev/image/bill-of-materials.ts [--output FILE]`, in a folder with package.json and its
 * lock file, the packages installed, patches/ and Dockerfile. The image's build runs it; the same input gives the same bytes.
 *
 *   lock file -> installed packages, without development ones -> patches, Node, the base image -> FILE
 *
 * Not `npm sbom`: it omits installed packages (npm 11.19.1), and its time and serial number make every bill differ.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  /** A package of this repository, by its folder. */
  readonly link?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn: readonly string[];
}

const MODULES = 'node_modules/';
const SPDX_EXPRESSION = /^\(?[\w.+-]+( (AND|OR|WITH) [\w.+-]+)*\)?$/;

const { values } = parseArgs({ options: { output: { type: 'string', default: 'bill-of-materials.cdx.json' } } });
writeFileSync(values.output, `${JSON.stringify(billOfMaterials(), null, 2)}\n`);
console.log(`written: ${values.output}`);

function billOfMaterials(): object {
  const { packages } = readJson('package-lock.json') as { packages: Readonly<Record<string, LockedPackage>> };
  const { name, version, license } = readJson('package.json') as { name: string; version: string; license: string };
  // The lock file also lists packages for other platforms.
  const installed = new Map(
    Object.entries(packages).filter(([path, { dev }]) => dev !== true && existsSync(path || '.')),
  );
  const ownRef = `${name}@${version}`;
  // Our own packages and the links to them are parts of the application.
  const isOwn = (path: string): boolean => !path.includes(MODULES) || installed.get(path)?.link === true;
  const nameOf = (path: string): string => path.split(MODULES).at(-1) ?? '';
  const refOf = (path: string): string =>
    isOwn(path) ? ownRef : `${nameOf(path)}@${installed.get(path)?.version ?? ''}`;
  const components = [...installed].flatMap(([path, locked]) =>
    isOwn(path) ? [] : [[refOf(path), componentOf(path, nameOf(path), locked)] as const],
  );
  const wantedBy = Map.groupBy(installed, ([path]) => refOf(path));
  const dependencies = [...wantedBy].map(([ref, packagesOfIt]): Dependency => {
    const found = packagesOfIt.flatMap(([path, locked]) => {
      const wanted = Object.keys({ ...locked.dependencies, ...locked.optionalDependencies });
      return wanted.flatMap((other) => nearest(path, other, installed) ?? []).map(refOf);
    });
    return { ref, dependsOn: [...new Set(found)].filter((other) => other !== ref).sort() };
  });
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: { type: 'application', 'bom-ref': ownRef, name, version, licenses: [licensed(license)] },
    },
    components: [...new Map(components).values(), ...baseOf(readFileSync('Dockerfile', 'utf8'))],
    dependencies,
  };
}

/** The package of that name that Node finds from the folder; null: not installed. */
function nearest(path: string, name: string, installed: ReadonlyMap<string, LockedPackage>): string | null {
  const candidate = path === '' ? MODULES + name : `${path}/${MODULES}${name}`;
  if (installed.has(candidate)) return candidate;
  if (path === '') return null;
  const above = path.includes(MODULES) ? path.slice(0, path.lastIndexOf(MODULES)).replace(/\/$/, '') : '';
  return nearest(above, name, installed);
}

function componentOf(path: string, name: string, { integrity, license, version = '' }: LockedPackage): object {
  const sha512 = integrity?.startsWith('sha512-') === true ? integrity.slice('sha512-'.length) : null;
  const hash = sha512 === null ? null : Buffer.from(sha512, 'base64').toString('hex');
  const patches = readdirSync('patches').filter((file) => file.startsWith(`${name.replace('/', '+')}+`));
  return {
    type: 'library',
    'bom-ref': `${name}@${version}`,
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(hash === null ? {} : { hashes: [{ alg: 'SHA-512', content: hash }] }),
    licenses: [licensed(license ?? licenseOf(path))],
    ...(patches.length === 0 ? {} : { pedigree: { patches: patches.sort().map(patchOf) } }),
  };
}

function patchOf(file: string): object {
  const content = readFileSync(join('patches', file)).toString('base64');
  return { type: 'unofficial', diff: { text: { contentType: 'text/x-diff', encoding: 'base64', content } } };
}

function licensed(license: string): object {
  return SPDX_EXPRESSION.test(license) ? { expression: license } : { license: { name: license } };
}

/** What the package declares, or else the first lines of its license. */
function licenseOf(path: string): string {
  const { license } = readJson(join(path, 'package.json')) as { license?: unknown };
  if (typeof license === 'string') return license;
  const text = join(path, 'LICENSE');
  const [head = ''] = existsSync(text) ? readFileSync(text, 'utf8').trim().split('\n') : [];
  if (head === '') throw new Error(`${path} does not state its license: find out, and name it here`);
  return head;
}

/** Node and its distribution, as the Dockerfile names them. */
function baseOf(dockerfile: string): object[] {
  const [, tag, version] = /^FROM node:((\d+\.\d+\.\d+)\S*)/m.exec(dockerfile) ?? [];
  if (tag === undefined || version === undefined) throw new Error('Dockerfile: no FROM node:VERSION');
  const node = { type: 'platform', name: 'node', version, purl: `pkg:generic/node@${version}` };
  return [
    { ...node, licenses: [licensed('MIT')] },
    { type: 'container', name: 'node', version: tag, purl: `pkg:docker/node@${tag}` },
  ];
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
