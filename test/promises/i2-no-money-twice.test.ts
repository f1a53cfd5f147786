import { expect, test } from 'vitest';
import { transferInOf } from '../support/commands.ts';
import { useStack } from '../support/test-stack.ts';

const stack = useStack({ name: 'twice' });

test('smoke', async () => {
  const t = Date.now();
  const p = await stack().startProcessor();
  console.log('ready', Date.now() - t);
  await stack().publisher.publish('transfer-in', 'k1', transferInOf('k1'));
  const r = await stack().journal.result('k1');
  console.log('result', Date.now() - t, r);
  console.log(await p.stop(), Date.now() - t);
  console.log(p.tail());
  expect(r.value.outcome).toBe('ACCEPTED');
});
