/** Reads one message of the operator decisions topic, Avro or JSON; its key is the key of the command. */
import { z } from 'zod';
import type { OperatorOrder } from '../ledger/operator.ts';
import type { DeadLetter, DeadLetterReason, OriginalMessage } from '../producers/dead-letters.ts';
import type { OutgoingRecord } from '../producers/record-batch.ts';
import { laneOf, readKey } from 'payment-processor-contract/keys';
import type { OperatorDecision } from 'payment-processor-contract/types';
import { decodeValue, whenDecoded, type IntakeOptions } from './command-intake.ts';
import type { Unavailable } from './inbox.ts';
import type { InputMessage } from './input-message.ts';
import { movedRecord, originalMessage, shortHeader, sizeProblem, type Place } from './message-origin.ts';

export type DecisionIntake =
  | { kind: 'decision'; key: string; decision: OperatorOrder; original: OriginalMessage }
  | { kind: 'dead-letter'; letter: DeadLetter }
  | { kind: 'misrouted'; record: OutgoingRecord };

/** In characters: room for names and reasons as people write them. */
const TEXT_MAX = 2_000;
const text = z
  .string()
  .min(1)
  .max(TEXT_MAX)
  .refine((given) => given.isWellFormed(), 'is not Unicode: it contains half of a surrogate pair');
/** JSON integers come as raw numbers, with all digits. */
const revision = z.preprocess(
  (value) => (typeof value === 'object' && value !== null && 'rawJSON' in value ? Number(value.rawJSON) : value),
  z
    .number()
    .int()
    .min(1)
    .max(2 ** 31 - 1),
);
const operatorDecision: z.ZodType<OperatorDecision> = z.strictObject({
  decision: text,
  expectedRevision: revision,
  transactionId: text.nullish().transform((value) => value ?? null),
  operator: text,
  reason: text,
});

/** @returns a promise if the registry must be asked */
export function readDecision(
  options: IntakeOptions,
  place: Place,
  message: InputMessage,
): DecisionIntake | Unavailable | Promise<DecisionIntake | Unavailable> {
  const original = originalMessage(place, options.laneCount, message);
  const deadLettered = (reason: DeadLetterReason, problem: string): DecisionIntake => ({
    kind: 'dead-letter',
    letter: { ...original, reason, message: problem },
  });
  const unreadable = (problem: string): DecisionIntake => deadLettered('UNREADABLE', problem);
  if (message.unreadableBatch !== null) return deadLettered('UNREADABLE_BATCH', message.unreadableBatch.problem);
  const key = readKey(message.key);
  if (!key.ok) return deadLettered(key.reason, key.problem);
  const tooLarge = sizeProblem(message);
  const lane = laneOf(key.key, options.laneCount);
  if (lane !== place.lane) return { kind: 'misrouted', record: movedRecord(lane, original, tooLarge !== null) };
  if (tooLarge !== null) return deadLettered('TOO_LARGE', tooLarge);
  if (message.value === null) return unreadable('the message has no value');
  return whenDecoded(
    decodeValue(options, place.topic, message, message.value),
    (decoded): DecisionIntake | Unavailable => {
      if (decoded.kind === 'unavailable') return decoded;
      if (decoded.kind !== 'record') return unreadable(decoded.problem);
      const decision = operatorDecision.safeParse(decoded.value);
      if (!decision.success)
        return unreadable(decision.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; '));
      const order = { ...decision.data, id: shortHeader(message, 'ce_id') };
      return { kind: 'decision', key: key.key, decision: order, original };
    },
  );
}
