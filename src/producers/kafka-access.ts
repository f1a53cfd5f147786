/** Whether Kafka accepts our credentials and allows what our role needs. Asked at the start, by `doctor`, and while not ready. */
import type { Kafka } from 'kafkajs';
import type { Right } from 'payment-processor-contract/rights';
import type { KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import { failureInWords, kafkaFailure, type KafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';
import { missingRightInWords, missingRights } from './rights-check.ts';

export type KafkaAccess =
  | { readonly kind: 'allowed' }
  /** Only an operator can correct it. One sentence for each problem, with what to do. */
  | { readonly kind: 'refused'; readonly cause: KafkaRefusal['kind']; readonly problems: readonly string[] }
  /** Kafka did not answer; that may pass. */
  | { readonly kind: 'unknown'; readonly problem: string };

/** Never throws. */
export async function kafkaAccess(
  kafka: Kafka,
  settings: Pick<KafkaSettings, 'KAFKA_BROKERS'>,
  rights: readonly Right[],
): Promise<KafkaAccess> {
  try {
    const missing = await missingRights(kafka, rights);
    if (missing.length === 0) return { kind: 'allowed' };
    return { kind: 'refused', cause: 'authorization', problems: missing.map(missingRightInWords) };
  } catch (error) {
    const failure = kafkaFailure(error);
    const problem = failureInWords(failure, settings);
    if (failure.kind === 'unreachable' || failure.kind === 'other') return { kind: 'unknown', problem };
    return { kind: 'refused', cause: failure.kind, problems: [problem] };
  }
}
