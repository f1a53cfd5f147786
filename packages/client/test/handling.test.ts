/** How a subscription handles one event: nothing stays behind, and the handler's own error ends it. */
import { expect, test, vi } from 'vitest';
import type { PaymentEvent } from '../src/events.ts';
import { handleEvent } from '../src/handling.ts';
import { TestPayments } from '../src/testing.ts';
import { transferInOf } from '../../../test/support/commands.ts';

const EVENT = { kind: 'result', topic: 't', partition: 0, offset: 0n } as unknown as PaymentEvent;

/** The listeners that remain at the signal, and whether another signal follows it. */
async function leftAt(use: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
  const { signal } = new AbortController();
  const [add, remove] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')];
  const plain = Object.getOwnPropertySymbols(new AbortController().signal).length;
  await use(signal);
  const listeners = add.mock.calls.length - remove.mock.calls.length;
  return { listeners, followers: Object.getOwnPropertySymbols(signal).length - plain };
}

test('neither a handled event nor a followed payment stays at a signal that outlives it', async () => {
  const payments = new TestPayments();
  payments.answer('transfer-in', { outcome: 'ACCEPTED', statuses: ['COMPLETED'] });
  await payments.client.request('transfer-in', 'one', transferInOf('one'), { timeoutMs: 1_000 });
  const left = [
    await leftAt((closing) => handleEvent(EVENT, { onEvent: () => undefined }, closing)),
    await leftAt((signal) => payments.client.awaitSettled('one', { timeoutMs: 1_000, signal })),
  ];
  expect(left).toEqual(Array(2).fill({ listeners: 0, followers: 0 }));
});

test('an onGiveUp that throws ends the subscription with the error of the handler', async () => {
  const notices: string[] = [];
  const handling = handleEvent(
    EVENT,
    {
      onEvent: () => Promise.reject(new Error('no disk')),
      handlerRetry: { attempts: 1 },
      onGiveUp: () => Promise.reject(new Error('no other disk either')),
      onNotice: ({ kind }) => void notices.push(kind),
    },
    new AbortController().signal,
  );
  await expect(handling).rejects.toMatchObject({ code: 'HANDLER_FAILED', message: 'no disk' });
  expect(notices).toContain('given-up');
});
