import { expect, test } from 'vitest';
import { amountText } from '../src/amount-text.ts';
import type { Currency } from 'payment-processor-contract/types';

const currency = (code: string | null, decimals: number | null): Currency => {
  return { code, name: null, symbol: null, decimals, otherFieldsJson: null };
};

test.each([
  [5n, currency('USD', 2), '0.05 USD'],
  [-5n, currency('USD', 2), '-0.05 USD'],
  [12345n, currency('USD', 2), '123.45 USD'],
  [7n, currency('JPY', 0), '7 JPY'],
  [9223372036854775807n, currency('BTC', 8), '92233720368.54775807 BTC'],
  [5n, currency('XYZ', null), '5 smallest units of XYZ'],
  [5n, currency('XYZ', -1), '5 smallest units of XYZ'],
  [5n, currency('XYZ', 1_000_000), '5 smallest units of XYZ'],
  [5n, null, '5 smallest units'],
  [null, currency('USD', 2), null],
])('an amount is shown with the decimals that its currency has: %s, %o', (amount, of, text) => {
  expect(amountText(amount, of)).toBe(text);
});
