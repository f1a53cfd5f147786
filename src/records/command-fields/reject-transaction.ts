/** RejectTransaction: its fields. */
import { z } from 'zod';
import type { RejectTransaction } from '../types.ts';
import { optionalText, requiredText } from './field-shapes.ts';

export const rejectTransaction: z.ZodType<RejectTransaction> = z.strictObject({
  transactionId: requiredText,
  reason: optionalText,
});
