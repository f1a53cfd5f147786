/** What happens to a command whose output nobody reads any more. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { childEnvironment } from '../../../test/support/child-environment.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

test.each(['stdout', 'stderr'] as const)(
  'without a reader of its %s it goes on, and its exit code is its own',
  async (stream) => {
    const child = spawn(process.execPath, [MAIN, 'doctor'], { env: childEnvironment(), stdio: 'pipe' });
    for (const name of ['stdout', 'stderr'] as const)
      if (name === stream) child[name].destroy();
      else child[name].resume();
    expect(await once(child, 'exit')).toEqual([6, null]);
  },
);
