/** CreateQuote: its fields and the rules checked on arrival. */
import { z } from 'zod';
import type { CreateQuote } from '../types.ts';
import {
  enumeration,
  int64,
  isIllFormedJson,
  optionalText,
  optionalTextMap,
  otherField,
  otherFieldsJson,
} from './field-shapes.ts';

/** The interface's limit for lockedCurrencyAmount. */
const LOCKED_CURRENCY_AMOUNT_MAX = 9_000_000_000_000_000n;
export const LOCKED_CURRENCY_SIDES = ['SENDING', 'RECEIVING'] as const;
export const PURPOSES_OF_PAYMENT = [
  'GIFT',
  'SELF',
  'GOODS_OR_SERVICES',
  'EDUCATION',
  'HEALTH_OR_MEDICAL',
  'REAL_ESTATE_PURCHASE',
  'TAX_PAYMENT',
  'LOAN_PAYMENT',
  'UTILITY_BILL',
  'DONATION',
  'TRAVEL',
  'OTHER',
] as const;

const accountRule = {
  message: 'is required when the type is ACCOUNT',
  path: ['accountId'],
};

/** If two fields contradict each other, we must not choose one. */
const othersRule = {
  message: 'must not contradict other fields: give each value only once',
  path: ['otherFieldsJson'],
};

const source = z
  .strictObject({ sourceType: z.string().min(1).default('ACCOUNT'), accountId: optionalText, otherFieldsJson })
  .refine((value) => value.sourceType !== 'ACCOUNT' || Boolean(value.accountId), accountRule)
  .refine(agreesWithOthers, othersRule);

const destination = z
  .strictObject({ destinationType: z.string().min(1).default('ACCOUNT'), accountId: optionalText, otherFieldsJson })
  .refine((value) => value.destinationType !== 'ACCOUNT' || Boolean(value.accountId), accountRule)
  .refine(agreesWithOthers, othersRule);

export const createQuote: z.ZodType<CreateQuote> = z
  .strictObject({
    source,
    destination,
    lockedCurrencySide: enumeration(LOCKED_CURRENCY_SIDES),
    lockedCurrencyAmount: int64.refine(
      (amount) => amount <= LOCKED_CURRENCY_AMOUNT_MAX,
      `must be at most ${LOCKED_CURRENCY_AMOUNT_MAX}`,
    ),
    lookupId: optionalText,
    immediatelyExecute: z.boolean().default(false),
    description: optionalText,
    purposeOfPayment: optionalText.refine(
      (purpose) => purpose === null || (PURPOSES_OF_PAYMENT as readonly string[]).includes(purpose),
      `must be one of ${PURPOSES_OF_PAYMENT.join(', ')}`,
    ),
    senderCustomerInfo: optionalTextMap,
  })
  .refine((command) => !isUmaDestination(command.destination) || Boolean(command.lookupId), {
    message: 'is required for a UMA destination',
    path: ['lookupId'],
  });

/** @returns paths of the JSON texts with ill-formed Unicode inside */
export function illFormedOthers({ source: payer, destination: payee }: CreateQuote): string[] {
  const sides = Object.entries({ source: payer, destination: payee });
  return sides.flatMap(([side, { otherFieldsJson: others }]) =>
    others !== null && isIllFormedJson(others) ? [`${side}.otherFieldsJson`] : [],
  );
}

/** The interface allows it only for UMA destinations. A destination type that it does not document may be one. */
export function isSenderInfoMisplaced({ destination: payee, senderCustomerInfo }: CreateQuote): boolean {
  return senderCustomerInfo !== null && payee.destinationType === 'ACCOUNT' && !isUmaDestination(payee);
}

function isUmaDestination(value: { destinationType: string; otherFieldsJson: string | null }): boolean {
  return value.destinationType === 'UMA_ADDRESS' || otherField(value.otherFieldsJson, 'umaAddress') !== undefined;
}

function agreesWithOthers({ otherFieldsJson: others, ...named }: { otherFieldsJson: string | null }): boolean {
  return Object.entries(named).every(([name, value]) => {
    const other = otherField(others, name);
    return value === null || other === undefined || other === value;
  });
}
