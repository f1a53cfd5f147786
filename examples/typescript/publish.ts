/** Publishes one transfer-in: node publish.ts KEY AMOUNT. */
import { PaymentClientError, PaymentCommandPublisher, readClientSettings } from 'payment-processor-client';

const [key, amount] = process.argv.slice(2);
if (key === undefined || amount === undefined) throw new Error('usage: node publish.ts KEY AMOUNT');
const settings = readClientSettings(process.env); // KAFKA_BROKERS, SCHEMA_REGISTRY_URL, TOPIC_PREFIX
if (!settings.ok) throw new Error(settings.problems.join('\n'));
const publisher = await PaymentCommandPublisher.connect(settings.config);
try {
  // The client checks key and fields, writes Avro, and sends to the lane of the key.
  const { offset, partition, topic } = await publisher.publish('transfer-in', key, {
    source: { accountId: 'ExternalAccount:1' },
    destination: { accountId: 'InternalAccount:1' },
    amount: BigInt(amount),
  });
  console.log(`published ${key} to ${topic} partition ${partition} offset ${offset}`);
} catch (error) {
  if (!(error instanceof PaymentClientError) || !error.retryable) throw error;
  // One key is one command, so a copy does no harm.
  console.error(`not confirmed (${error.message}): publish it again with the same key ${key}`);
  process.exitCode = 1;
} finally {
  await publisher.close();
}
