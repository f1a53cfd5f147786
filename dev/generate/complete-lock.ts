/**
 * Adds to package-lock.json the optional packages of other platforms that `npm install` omitted because the registry
 * in use does not carry them: `npm ci` requires an entry for each, though it installs none of them. Run it after
 * `npm install`; with `--check` it only compares, and exits 1 if one is missing.
 *
 * All packages of this repository use the same version of a dependency: a second one would be installed without our patches.
 */
import { readFileSync, writeFileSync } from 'node:fs';

interface LockEntry {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  optionalDependencies?: Record<string, string>;
}

const PLATFORMS = 'aix android darwin freebsd linux netbsd openbsd openharmony sunos win32'.split(' ');
const PROCESSORS = 'arm arm64 ia32 loong64 mips64el ppc64 riscv64 s390x x64'.split(' ');

const lockFile = new URL('../../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(lockFile, 'utf8')) as { packages: Record<string, LockEntry> };
const { packages } = lock;
const missing: string[] = [];
for (const [place, entry] of Object.entries(packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    const own = `node_modules/${name}`;
    const words = name.split('/').at(-1)?.split('-') ?? [];
    const os = words.find((word) => PLATFORMS.includes(word));
    const cpu = words.find((word) => PROCESSORS.includes(word));
    if (own in packages || `${place}/${own}` in packages || os === undefined || cpu === undefined) continue;
    const dev = entry.dev === true ? { dev: true } : {};
    packages[own] = { version: range.replace(/^[~^]/, ''), cpu: [cpu], ...dev, optional: true, os: [os] };
    missing.push(name);
  }
}

const second = Object.keys(packages).filter((place) => /^packages\/[^/]+\/node_modules\//.test(place));
if (second.length > 0) {
  console.error(
    `package-lock.json has a second version of a package, in ${second.join(', ')}: pin the same one everywhere.`,
  );
  process.exit(1);
}
if (missing.length > 0 && process.argv.includes('--check')) {
  console.error(
    `package-lock.json does not name ${missing.join(', ')}: run \`node dev/generate/complete-lock.ts\` and commit the result.`,
  );
  process.exit(1);
}
if (missing.length > 0) {
  const { '': root, ...others } = packages;
  const sorted = Object.entries(others).sort(([left], [right]) => (left < right ? -1 : 1));
  lock.packages = { ...(root === undefined ? {} : { '': root }), ...Object.fromEntries(sorted) };
  writeFileSync(lockFile, `${JSON.stringify(lock, null, 2)}\n`);
}
console.log(`${missing.length} packages of other platforms added`);
