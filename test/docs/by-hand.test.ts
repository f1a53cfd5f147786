/** README's "A command and its result": its shell snippet is run as it stands, on a topic prefix of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startSandbox } from 'payment-processor-sandbox/start';
import { freePort } from 'payment-processor-local-kafka/ports';
import { environmentOf, freshPrefix } from '../../packages/client/test/fixtures.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { snippetsOf } from './snippets.ts';

const SCRIPT_MS_MAX = 100_000;

/** Ends at the first failure, with all that it left running. */
async function runScript(
  script: string,
  environment: Record<string, string>,
): Promise<{ code: number | null; output: string }> {
  const child = spawn('sh', ['-e', '-c', script], {
    env: { ...childEnvironment(), HOME: process.env['HOME'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, which `npm start &` stays in.
    detached: true,
    timeout: SCRIPT_MS_MAX,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (output += part.toString()));
  const [code] = (await once(child, 'exit')) as [number | null];
  // The processor that `npm start &` left.
  process.kill(-child.pid!, 'SIGKILL');
  return { code, output };
}

test('a command is published, executed and shown', async () => {
  const prefix = freshPrefix('snippet');
  const sandbox = await startSandbox();
  const stateFolder = await mkdtemp(join(tmpdir(), 'by-hand-'));
  const environment = {
    ...environmentOf(prefix),
    KAFKA_GROUP_ID: prefix,
    ...{ API_BASE_URL: sandbox.baseUrl, API_TOKEN_ID: 'local', API_CLIENT_SECRET: 'local' },
    STATE_DIR: stateFolder,
    HTTP_PORT: String(await freePort()),
  };
  const shown = snippetsOf('README.md').find(({ text }) => text.includes('topics create'))?.text ?? '';
  // What `npm run local` prints is in the environment.
  const { code, output } = await runScript(shown.replace(/^export .*\n/, ''), environment);
  await rm(stateFolder, { recursive: true, force: true });
  await sandbox.stop();
  expect({ code, output }).toMatchObject({ code: 0 });
  expect(output).toMatch(/my-1[^\n]*ACCEPTED|ACCEPTED[^\n]*my-1/);
});
