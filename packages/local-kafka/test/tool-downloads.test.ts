/** A tool is installed only from the file that its pin names, with an npm of our own making. */
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { installTool } from '../../../dev/operations/install-tools.ts';

test('a download that is another file than was pinned is refused, and nothing of it is kept', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tool-downloads-test-'));
  try {
    const bin = join(folder, 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'npm'), '#!/bin/sh\necho other > package-1.0.0.tgz\n');
    await chmod(join(bin, 'npm'), 0o755);
    vi.stubEnv('PATH', [bin, process.env['PATH'] ?? ''].join(delimiter));
    vi.stubEnv('PAYMENT_PROCESSOR_CACHE', join(folder, 'cache'));
    await expect(installTool('billSchemas', () => undefined)).rejects.toThrow(
      /CycloneDX.*the download has sha512-\S+, not sha512-/,
    );
    expect(await readdir(join(folder, 'cache', 'tools'))).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true, force: true });
  }
});
