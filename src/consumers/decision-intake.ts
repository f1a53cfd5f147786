/** Reads one message of the operator decisions topic: Avro or JSON, by the key of the command that it is about. */
import type { KafkaMessage } from 'kafkajs';
import { z } from 'zod';
import type { DeadLetter } from '../producers/dead-letters.ts';
import type { OutgoingRecord } from '../producers/lane-producer.ts';
import { laneOf, readKey } from '../records/keys.ts';
import type { OperatorDecision } from '../records/types.ts';
import { decodeValue, movedRecord, originalMessage, type IntakeOptions } from './command-intake.ts';

export type DecisionIntake =
  | { kind: 'decision'; key: string; decision: OperatorDecision; original: Omit<DeadLetter, 'reason' | 'message'> }
  | { kind: 'dead-letter'; letter: DeadLetter }
  | { kind: 'misrouted'; record: OutgoingRecord }
  | { kind: 'unavailable'; problem: string };

/** Room for names and reasons as people write them. */
const TEXT_MAX = 2_000;
const text = z.string().min(1).max(TEXT_MAX);
/** JSON integers are raw numbers, all digits kept. */
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

export async function readDecision(
  options: IntakeOptions,
  place: { topic: string; lane: number },
  message: KafkaMessage,
): Promise<DecisionIntake> {
  const original = originalMessage(place, message);
  const unreadable = (problem: string): DecisionIntake => ({
    kind: 'dead-letter',
    letter: { ...original, reason: 'UNREADABLE', message: problem },
  });
  const key = readKey(message.key);
  if (!key.ok) return { kind: 'dead-letter', letter: { ...original, reason: key.reason, message: key.problem } };
  const lane = laneOf(key.key, options.laneCount);
  if (lane !== place.lane) return { kind: 'misrouted', record: movedRecord(place.topic, lane, original) };
  if (message.value === null) return unreadable('the message has no value');
  const decoded = await decodeValue(options, place.topic, message, message.value);
  if (decoded.kind === 'unavailable') return decoded;
  if (decoded.kind !== 'record') return unreadable(decoded.problem);
  const decision = operatorDecision.safeParse(decoded.value);
  if (!decision.success) {
    return unreadable(decision.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; '));
  }
  return { kind: 'decision', key: key.key, decision: decision.data, original };
}
