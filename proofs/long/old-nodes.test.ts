/** The packed client on the oldest Node that it says it runs on, and on an older one. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { InstalledClient, REQUEST, REQUEST_OUTPUT } from '../../packages/client/test/installed-client.ts';
import { useStack } from '../../test/support/test-stack.ts';

const NODE_OLDEST = '22.15.0';
/** Without zstd, and without names of other modules that the client imports. */
const NODE_TOO_OLD = '20.9.0';

const stack = useStack({ name: 'old-nodes', isRead: false });
let oldest: InstalledClient;
let tooOld: InstalledClient;

beforeAll(async () => {
  oldest = await InstalledClient.install(`node@${NODE_OLDEST}`);
  tooOld = await InstalledClient.install(`node@${NODE_TOO_OLD}`);
  await stack().startProcessor();
}, 300_000);
afterAll(() => Promise.all([oldest.remove(), tooOld.remove()]));

test('on the oldest Node it publishes and awaits', async () => {
  const { stdout } = await oldest.run('node_modules/.bin/node', ['--version']);
  expect(stdout).toBe(`v${NODE_OLDEST}\n`);
  const manifest = JSON.parse(readFileSync('packages/client/package.json', 'utf8')) as { engines: { node: string } };
  expect(`${manifest.engines.node}.0`).toBe(`>=${NODE_OLDEST}`);
  await oldest.write('request.js', REQUEST);
  const ended = await oldest.run('node_modules/.bin/node', ['request.js', 'oldest'], { ...stack().environment });
  expect(ended).toEqual({ code: 0, stdout: REQUEST_OUTPUT, stderr: '' });
});

test('on an older one it says in a sentence which Node it needs', async () => {
  await tooOld.write('import.js', "import 'payment-processor-client';\n");
  const { code, stderr } = await tooOld.run('node_modules/.bin/node', ['import.js']);
  expect(code).toBe(1);
  expect(stderr).toContain(
    `Error: payment-processor-client needs Node 22.15 or newer, and this is Node ${NODE_TOO_OLD}`,
  );
  expect(stderr).not.toContain('SyntaxError');
});
