/** A copy of the installed kafkajs without one of its patches: tests compare with it what the patch must not change. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const require = createRequire(import.meta.url);

/** Loads modules of a kafkajs by their paths within it. */
export type Load = (path: string) => unknown;

export const loadMended: Load = (path): unknown => require(`kafkajs/${path}`);

/**
 * @param mend the patch's number and name, as in its file's name
 * @returns the copy, which stays until it is removed
 * @throws where the patch is not applied
 */
export function copyWithout(mend: string): { load: Load; remove: () => void } {
  const directory = mkdtempSync(join(tmpdir(), 'without-mend-'));
  const copy = join(directory, 'node_modules/kafkajs');
  const installed = dirname(require.resolve('kafkajs/package.json'));
  for (const part of ['package.json', 'src', 'types'])
    cpSync(join(installed, part), join(copy, part), { recursive: true });
  mkdirSync(join(directory, 'patches'));
  cpSync(join(ROOT, `patches/kafkajs+2.2.4+${mend}.patch`), join(directory, 'patches/kafkajs+2.2.4.patch'));
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ dependencies: { kafkajs: '2.2.4' } }));
  const patchPackage = require.resolve('patch-package/index.js');
  const { status, stderr } = spawnSync(process.execPath, [patchPackage, '--reverse', '--error-on-fail'], {
    cwd: directory,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The mend ${mend} is not applied: ${stderr}`);
  return { load: (path): unknown => require(join(copy, path)), remove: () => rmSync(directory, { recursive: true }) };
}
