/** ExecuteQuote: its fields. */
import { z } from 'zod';
import type { ExecuteQuote } from '../types.ts';
import { optionalText, requiredId } from './field-shapes.ts';

export const executeQuote: z.ZodType<ExecuteQuote> = z.strictObject({
  quoteId: requiredId,
  transactionId: optionalText,
});
