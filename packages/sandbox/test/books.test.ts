import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Books } from '../src/books.ts';
import { sandboxForTest, toAccount, type Answer } from './support.ts';

const SUFFIXES = ['1', '002', '004', '005', '006', '007', '011', '015', '017'];
const digits = fc.constantFrom(...SUFFIXES);
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
    SUFFIXES.flatMap((suffix) =>
      ['InternalAccount', 'ExternalAccount'].map((kind) => ({ id: `${kind}:${currency}-${suffix}`, currency })),
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      await sandbox.control('POST', 'reset');
      await sandbox.setAccounts(...accounts);
      const quoteIds: string[] = [];
      const transactionIds: string[] = [];
      const note = (ids: string[], { body, status }: Answer): void => {
        if (status < 300) ids.push(body.id);
      };
      for (const action of steps) {
        switch (action.kind) {
          case 'transfer-in':
            note(transactionIds, await sandbox.transferIn(action.from, action.to, action.amount));
            break;
          case 'quote': {
            const source = { sourceType: 'ACCOUNT', accountId: action.from };
            const locked = { lockedCurrencySide: action.side, lockedCurrencyAmount: action.amount };
            const fields = { source, ...toAccount(action.to), ...locked, immediatelyExecute: action.now };
            note(quoteIds, await sandbox.quote(fields));
            break;
          }
          case 'receive': {
            const senderUmaAddress = `$s${action.digits}@x.example`;
            const received = { receivingCurrencyAmount: action.amount, receivingCurrencyCode: action.currency };
            note(transactionIds, await sandbox.receive({ senderUmaAddress, ...received }));
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
  const lopsided = () =>
    books.post('a mistake', [
      { account: 'a', currency: 'USD', amount: -5n },
      { account: 'b', currency: 'EUR', amount: 5n },
    ]);
  expect(lopsided).toThrow(/out by -5 USD after a mistake/);
});
