import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Books } from '../src/books.ts';
import { sandboxForTest } from './support.ts';

const digits = fc.constantFrom('1', '002', '004', '005', '006', '007', '011', '015', '017');
const amount = fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: 9e15 }));
const currencies = ['USD', 'EUR', 'MXN', 'BTC', 'JPY'];
const account = fc
  .tuple(fc.constantFrom('InternalAccount', 'ExternalAccount'), fc.constantFrom(...currencies), digits)
  .map(([kind, currency, suffix]) => `${kind}:${currency}-${suffix}`);

const step = fc.oneof(
  fc.record({ kind: fc.constant('transfer-in' as const), from: account, to: account, amount }),
  fc.record({
    kind: fc.constant('quote' as const),
    from: account,
    to: account,
    amount,
    side: fc.constantFrom('SENDING', 'RECEIVING'),
    now: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('receive' as const), digits, amount, currency: fc.constantFrom(...currencies) }),
  fc.record({ kind: fc.constant('execute' as const), pick: fc.nat() }),
  fc.record({ kind: fc.constant('reject' as const), pick: fc.nat() }),
  fc.record({ kind: fc.constant('wait' as const), durationMs: fc.integer({ min: 1, max: 40_000 }) }),
);

test('whatever happens in whatever order, the books balance and in the end nothing is left in transit', async () => {
  const sandbox = await sandboxForTest();
  const accounts = currencies.flatMap((currency) =>
    ['1', '002', '004', '005', '006', '007', '011', '015', '017'].flatMap((suffix) =>
      ['InternalAccount', 'ExternalAccount'].map((kind) => ({ id: `${kind}:${currency}-${suffix}`, currency })),
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      await sandbox.control('POST', 'reset');
      await sandbox.control('POST', 'accounts', accounts);
      const quoteIds: string[] = [];
      const transactionIds: string[] = [];
      for (const action of steps) {
        switch (action.kind) {
          case 'transfer-in': {
            const { status, body } = await sandbox.transferIn(action.from, action.to, action.amount);
            if (status < 300) transactionIds.push(body.id);
            break;
          }
          case 'quote': {
            const { status, body } = await sandbox.quote({
              source: { sourceType: 'ACCOUNT', accountId: action.from },
              destination: { destinationType: 'ACCOUNT', accountId: action.to },
              lockedCurrencySide: action.side,
              lockedCurrencyAmount: action.amount,
              immediatelyExecute: action.now,
            });
            if (status < 300) quoteIds.push(body.id);
            break;
          }
          case 'receive': {
            const { status, body } = await sandbox.receive({
              senderUmaAddress: `$s${action.digits}@x.example`,
              receivingCurrencyAmount: action.amount,
              receivingCurrencyCode: action.currency,
            });
            if (status < 300) transactionIds.push(body.id);
            break;
          }
          case 'execute':
            await sandbox.post(`/quotes/${quoteIds[action.pick % quoteIds.length] ?? 'none'}/execute`);
            break;
          case 'reject':
            await sandbox.post(`/transactions/${transactionIds[action.pick % transactionIds.length] ?? 'none'}/reject`);
            break;
          case 'wait':
            sandbox.clock.advance(action.durationMs);
            break;
        }
        expect((await sandbox.books()).balanced).toBe(true);
      }
      sandbox.clock.advance(600_000);
      const books = await sandbox.books();
      expect(books).toMatchObject({ balanced: true, scheduledSteps: 0 });
      const inTransit = books.balances.filter((line) => line.account === 'transit' && line.balance !== '0');
      expect(inTransit).toEqual([]);
      const { quotes } = await sandbox.effects();
      for (const tally of Object.values(quotes)) expect(tally.executions).toBeLessThanOrEqual(1);
    }),
    { numRuns: 25 },
  );
}, 60_000);

test('an entry that does not sum to zero is an error that cannot be overlooked', () => {
  const books = new Books();
  books.post('a start', [
    { account: 'a', currency: 'USD', amount: -5n },
    { account: 'b', currency: 'USD', amount: 5n },
  ]);
  const lopsided = [
    { account: 'a', currency: 'USD', amount: -5n },
    { account: 'b', currency: 'EUR', amount: 5n },
  ];
  expect(() => {
    books.post('a mistake', lopsided);
  }).toThrow(/out by -5 USD after a mistake/);
});
