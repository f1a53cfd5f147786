/** TransferIn: its fields. The service decides whether an amount is acceptable. */
import { z } from 'zod';
import type { TransferIn } from '../types.ts';
import { optionalInt64, requiredText } from './field-shapes.ts';

const account = z.strictObject({ accountId: requiredText });

export const transferIn: z.ZodType<TransferIn> = z.strictObject({
  source: account,
  destination: account,
  amount: optionalInt64,
});
