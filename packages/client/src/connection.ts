/** The client's way to Kafka: with the mended kafkajs alone, for as shipped it shows what was never committed. */
import { kafkajsProblem } from 'payment-processor-contract/kafka/mended-kafkajs';
import { createKafka, PATIENT_RETRY, type KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import { PaymentClientError } from './client-error.ts';

/**
 * @param name tells connections apart in the brokers' logs
 * @throws PaymentClientError when kafkajs is not the patched one
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
