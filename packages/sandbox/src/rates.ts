/** Prices of quotes: pure arithmetic on integers, every amount in the smallest unit of its currency. */
import { scaledPriceOf, type Currency } from './currencies.ts';

export type LockedSide = 'SENDING' | 'RECEIVING';

export interface Price {
  /** Fees included. */
  totalSendingAmount: bigint;
  totalReceivingAmount: bigint;
  /** Fixed plus variable fee, in the sending currency. */
  fees: bigint;
  fixedFee: bigint;
  variableFee: bigint;
  /** Sending currency units per receiving currency unit (dollars per peso, not cents per centavo); a decimal. */
  exchangeRate: string;
  /** Smallest receiving units per smallest sending unit; a decimal. */
  receivingPerSending: string;
}

export type Pricing = { kind: 'priced'; price: Price } | { kind: 'too-small' } | { kind: 'too-large' };

const INT64_MAX = 2n ** 63n - 1n;
/** More digits than a double holds, to expose clients that convert to one. */
const RATE_DECIMALS = 18;
const RATE_SCALE = 10n ** BigInt(RATE_DECIMALS);

/** 0.25 % of the amount. */
export const VARIABLE_FEE_RATE = '0.0025';
const VARIABLE_FEE_NUMERATOR = 25n;
const VARIABLE_FEE_DENOMINATOR = 10_000n;
/** Smallest units, for a change of currency; never more than a tenth of the amount, so that small amounts can be sent. */
const FIXED_FEE = 10n;

/** Prices a transfer whose amount is fixed on one side. */
export function priceOf(sending: Currency, receiving: Currency, side: LockedSide, lockedAmount: bigint): Pricing {
  const sameCurrency = sending.code === receiving.code;
  const scaledRate = divideRounded(scaledPriceOf(receiving) * RATE_SCALE, scaledPriceOf(sending));
  const sendingUnit = 10n ** BigInt(sending.decimals);
  const receivingUnit = 10n ** BigInt(receiving.decimals);
  // The amount after fees is converted; the converted amount is never rounded in the payer's favour.
  const convertedWhenReceiving = divideUp(lockedAmount * scaledRate * sendingUnit, receivingUnit * RATE_SCALE);
  const feeBase = side === 'SENDING' ? lockedAmount : convertedWhenReceiving;
  const variableFee = (feeBase * VARIABLE_FEE_NUMERATOR) / VARIABLE_FEE_DENOMINATOR;
  const fixedFee = sameCurrency ? 0n : smaller(FIXED_FEE, feeBase / 10n);
  const fees = variableFee + fixedFee;
  const totalSendingAmount = side === 'SENDING' ? lockedAmount : convertedWhenReceiving + fees;
  const totalReceivingAmount =
    side === 'RECEIVING'
      ? lockedAmount
      : ((lockedAmount - fees) * receivingUnit * RATE_SCALE) / (sendingUnit * scaledRate);
  if (totalReceivingAmount <= 0n || totalSendingAmount <= 0n) return { kind: 'too-small' };
  if (totalSendingAmount > INT64_MAX || totalReceivingAmount > INT64_MAX) return { kind: 'too-large' };
  return {
    kind: 'priced',
    price: {
      totalSendingAmount,
      totalReceivingAmount,
      fees,
      fixedFee,
      variableFee,
      exchangeRate: sameCurrency ? '1' : decimalText(scaledRate),
      receivingPerSending: decimalText(
        divideRounded(RATE_SCALE * RATE_SCALE * receivingUnit, scaledRate * sendingUnit),
      ),
    },
  };
}

function decimalText(scaled: bigint): string {
  return `${scaled / RATE_SCALE}.${(scaled % RATE_SCALE).toString().padStart(RATE_DECIMALS, '0')}`;
}

function divideUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

function divideRounded(numerator: bigint, denominator: bigint): bigint {
  return (2n * numerator + denominator) / (2n * denominator);
}

function smaller(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}
