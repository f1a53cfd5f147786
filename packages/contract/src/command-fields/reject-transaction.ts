/** RejectTransaction: its fields. */
import { z } from 'zod';
import type { RejectTransaction } from '../types.ts';
import { optionalText, requiredId } from './field-shapes.ts';

export const rejectTransaction: z.ZodType<RejectTransaction> = z.strictObject({
  transactionId: requiredId,
  reason: optionalText,
});
