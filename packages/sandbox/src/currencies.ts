/** The currencies that the sandbox knows, and what one unit of each is worth. */

export interface Currency {
  readonly code: string;
  readonly name: string;
  readonly symbol: string;
  /** Decimal places of the currency: 2 for cents, 8 for satoshis. */
  readonly decimals: number;
}

/** US dollars per unit, as decimals. Made up, with enough digits to show whether a client keeps them all. */
const DOLLARS_PER_UNIT: Readonly<Record<string, string>> = {
  USD: '1',
  EUR: '1.10',
  GBP: '1.2837',
  MXN: '0.05794813',
  INR: '0.0119904077',
  BRL: '0.18416206',
  PHP: '0.017543859',
  JPY: '0.0066225166',
  USDC: '1',
  BTC: '97531.8642',
};

const CURRENCIES: readonly Currency[] = [
  { code: 'USD', name: 'United States Dollar', symbol: '$', decimals: 2 },
  { code: 'EUR', name: 'Euro', symbol: '€', decimals: 2 },
  { code: 'GBP', name: 'Pound Sterling', symbol: '£', decimals: 2 },
  { code: 'MXN', name: 'Mexican Peso', symbol: 'MX$', decimals: 2 },
  { code: 'INR', name: 'Indian Rupee', symbol: '₹', decimals: 2 },
  { code: 'BRL', name: 'Brazilian Real', symbol: 'R$', decimals: 2 },
  { code: 'PHP', name: 'Philippine Peso', symbol: '₱', decimals: 2 },
  { code: 'JPY', name: 'Japanese Yen', symbol: '¥', decimals: 0 },
  { code: 'USDC', name: 'USD Coin', symbol: 'USDC', decimals: 6 },
  { code: 'BTC', name: 'Bitcoin', symbol: '₿', decimals: 8 },
];

const BY_CODE = new Map(CURRENCIES.map((currency) => [currency.code, currency]));

/** The currency of accounts for which none is given. */
export const DEFAULT_CURRENCY = currencyOf('USD');

export function isCurrencyCode(code: string): boolean {
  return BY_CODE.has(code);
}

/** @throws for an unknown code, which is a bug: codes are checked on arrival. */
export function currencyOf(code: string): Currency {
  const currency = BY_CODE.get(code);
  if (currency === undefined) throw new Error(`no currency ${code}`);
  return currency;
}

const PRICE_DECIMALS = 10;

/** US dollars per unit, times 10^10. */
export function scaledPriceOf(currency: Currency): bigint {
  const [whole = '0', fraction = ''] = (DOLLARS_PER_UNIT[currency.code] ?? '').split('.');
  return BigInt(whole + fraction.padEnd(PRICE_DECIMALS, '0'));
}
