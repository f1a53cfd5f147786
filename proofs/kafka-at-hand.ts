/** The Kafka and the registry of a run: those of KAFKA_BROKERS and SCHEMA_REGISTRY_URL, else an engine of its own. */
import { startEngine } from 'payment-processor-local-kafka/start';
import { Stack, type StackOptions } from '../test/support/stack.ts';

export interface KafkaAtHand {
  readonly kafkaBrokers: readonly string[];
  readonly schemaRegistryUrl: string;
  /** Ends what the run started. */
  stop(): Promise<void>;
}

export async function kafkaAtHand(onProgress: (line: string) => void): Promise<KafkaAtHand> {
  const given = process.env['KAFKA_BROKERS'];
  if (given !== undefined) {
    const schemaRegistryUrl = process.env['SCHEMA_REGISTRY_URL'] ?? '';
    return { kafkaBrokers: given.split(','), schemaRegistryUrl, stop: async () => undefined };
  }
  const engine = await startEngine({ onProgress });
  return { kafkaBrokers: engine.brokers, schemaRegistryUrl: engine.registryUrl, stop: () => engine.stop() };
}

/** A stack on it for one measurement; both are ended in any case, and a failure shows what the processors logged. */
export async function withStackAtHand<Result>(
  options: Omit<StackOptions, 'kafkaBrokers' | 'schemaRegistryUrl'>,
  measure: (stack: Stack) => Promise<Result>,
): Promise<Result> {
  const kafka = await kafkaAtHand((line) => console.error(line));
  try {
    const { kafkaBrokers, schemaRegistryUrl } = kafka;
    const stack = await Stack.open({ ...options, kafkaBrokers, schemaRegistryUrl });
    try {
      return await measure(stack);
    } catch (error) {
      console.error(stack.logs());
      throw error;
    } finally {
      await stack.close();
    }
  } finally {
    await kafka.stop();
  }
}
