/** The Kafka and the registry of a run: those of KAFKA_BROKERS and SCHEMA_REGISTRY_URL, else an engine of its own. */
import { startEngine } from '../dev/engine/start.ts';

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
