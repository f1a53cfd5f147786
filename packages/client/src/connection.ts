/**
 * The client's connection to Kafka. It requires the patched kafkajs: as shipped, kafkajs delivers records that were never
 * committed.
 */
import { kafkajsProblem } from 'payment-processor-contract/kafka/patched-kafkajs';
import { createKafka, PATIENT_RETRY, type KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import { PaymentClientError } from './client-error.ts';

/**
 * @param name identifies the connection in the brokers' logs
 * @throws PaymentClientError if kafkajs is not patched
 */
export function clientKafka(
  settings: KafkaSettings,
  name: string,
  retry: typeof PATIENT_RETRY | undefined,
): ReturnType<typeof createKafka> {
  const problem = kafkajsProblem();
  if (problem !== null) throw new PaymentClientError('KAFKAJS_UNPATCHED', problem);
  return createKafka(settings, name, { retry: retry ?? PATIENT_RETRY });
}
