import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ROOT } from './tools.ts';

const run = promisify(execFile);

describe("the chart's generated files", () => {
  it.each(['chart-schema', 'chart-readme', 'dashboard'])('are as dev/generate/%s.ts writes them', async (generator) => {
    const script = join(ROOT, 'dev/generate', `${generator}.ts`);
    await expect(run(process.execPath, [script, '--check'])).resolves.toMatchObject({ stderr: '' });
  });
});
