/** The search of the page, with a real processor: any member answers for any lane. */
import { beforeAll, expect, test } from 'vitest';
import type { CommandState } from '../../src/ops/command-state.ts';
import { executionOf, transferInOf } from '../support/commands.ts';
import type { RunningProcessor } from '../support/processor.ts';
import { useStack } from '../support/test-stack.ts';

const TOKEN = 'a-token-of-the-test';
const stack = useStack({
  name: 'search',
  sandbox: { honourKeys: [] },
  settings: { API_IDEMPOTENT_OPERATIONS: '', HTTP_AUTH_TOKEN: TOKEN },
});
let processors: RunningProcessor[];

beforeAll(async () => {
  processors = [await stack().startProcessor(), await stack().startProcessor()];
});

async function search(processor: RunningProcessor | undefined, key: string): Promise<CommandState> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'command-key': key };
  const response = await fetch(`${processor?.httpUrl ?? ''}/api/command`, { headers });
  expect(response.status).toBe(200);
  return (await response.json()) as CommandState;
}

test('a key gives its state at every member, whoever owns its lane: a settled doubt, an UNKNOWN, a conflict, none', async () => {
  await stack().service.addFaults(
    { kind: 'drop-after', operation: 'execute-quote', key: 'looked-up', count: 1 },
    { kind: 'drop-after', operation: 'transfer-in', key: 'lost', count: 1 },
  );
  await stack().publisher.publish('execute-quote', 'looked-up', await executionOf(stack(), 'looked-up'));
  await stack().publisher.publish('transfer-in', 'lost', transferInOf('lost'));
  await stack().publisher.publish('transfer-in', 'twice', transferInOf('twice'));
  await stack().publisher.publish('transfer-in', 'twice', transferInOf('twice', 5n));
  await stack().journal.until(
    () => stack().journal.results('twice').length === 2 && stack().journal.results('lost').length === 1,
    'the results',
  );
  await stack().journal.result('looked-up');
  for (const processor of processors) {
    await expect
      .poll(() => search(processor, 'looked-up'))
      .toMatchObject({ found: true, phase: 'DONE', outcome: 'ACCEPTED', attempts: 1, doubt: { isSettled: true } });
    await expect
      .poll(() => search(processor, 'lost'))
      .toMatchObject({
        found: true,
        command: 'transfer-in',
        outcome: 'UNKNOWN',
        revision: 1,
        doubt: { isSettled: false },
      });
    // The conflict is about the other message: the key's own command stands.
    await expect
      .poll(() => search(processor, 'twice'))
      .toMatchObject({ found: true, outcome: 'ACCEPTED', doubt: null });
    expect(await search(processor, 'nobody-knows')).toMatchObject({ found: false });
  }
});

test('the key stands in no line of the log', () => {
  for (const processor of processors) expect(processor.lines.join('\n')).not.toMatch(/nobody-knows|looked-up/);
});
