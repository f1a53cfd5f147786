/** SimulateUmaReceive: its fields, and the rule that one of them names the receiver. */
import { z } from 'zod';
import type { SimulateUmaReceive } from '../types.ts';
import { int64, optionalText, requiredText } from './field-shapes.ts';

export const simulateUmaReceive: z.ZodType<SimulateUmaReceive> = z
  .strictObject({
    senderUmaAddress: requiredText,
    receivingCurrencyCode: requiredText,
    receivingCurrencyAmount: int64,
    receiverUmaAddress: optionalText,
    customerId: optionalText,
  })
  .refine((command) => Boolean(command.receiverUmaAddress) || Boolean(command.customerId), {
    message: 'is required unless customerId is given',
    path: ['receiverUmaAddress'],
  });
