/** Amounts for people, with the decimals of their currency if the service named them. Pure. */
import type { Currency, CurrencyAmount } from 'payment-processor-contract/types';

/** Currencies have few decimals; we ignore a larger number from the service. */
const DECIMALS_MAX = 18;

/**
 * @param amount smallest unit of the currency
 * @returns `0.05 USD`; `5 smallest units of USD` if the number of decimals is unknown; null without an amount
 */
export function amountText(amount: bigint | null, currency: Currency | null): string | null {
  if (amount === null) return null;
  const code = currency?.code ?? null;
  const decimals = currency?.decimals ?? null;
  if (decimals === null || decimals < 0 || decimals > DECIMALS_MAX) {
    return code === null ? `${amount} smallest units` : `${amount} smallest units of ${code}`;
  }
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = decimals === 0 ? '' : `.${digits.slice(-decimals)}`;
  return `${amount < 0n ? '-' : ''}${whole}${fraction}${code === null ? '' : ` ${code}`}`;
}

/** Like `amountText`, for a transaction's amount. */
export function currencyAmountText(given: CurrencyAmount | null): string | null {
  return given === null ? null : amountText(given.amount, given.currency);
}
