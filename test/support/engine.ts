/**
 * One Kafka and one schema registry for the whole test run; each test has its own topic prefix and groups.
 * If TEST_KAFKA_BROKERS and TEST_SCHEMA_REGISTRY_URL are set, the tests use those servers and leave them running.
 */
import type { TestProject } from 'vitest/node';
import { startEngine, type Engine } from 'payment-processor-local-kafka/start';

declare module 'vitest' {
  interface ProvidedContext {
    /** Bootstrap addresses, host:port. */
    kafkaBrokers: string[];
    /** Base URL of the Confluent-compatible interface, no trailing slash. */
    schemaRegistryUrl: string;
  }
}

/** Vitest runs this once for each of its projects. */
const shared = globalThis as { testEngine?: Promise<Engine> };

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = {
    brokers: process.env.TEST_KAFKA_BROKERS ?? '',
    registryUrl: process.env.TEST_SCHEMA_REGISTRY_URL ?? '',
  };
  if ((given.brokers === '') !== (given.registryUrl === '')) {
    throw new Error('Set both TEST_KAFKA_BROKERS and TEST_SCHEMA_REGISTRY_URL, or neither.');
  }
  if (given.brokers !== '') {
    project.provide('kafkaBrokers', given.brokers.split(','));
    project.provide('schemaRegistryUrl', given.registryUrl.replace(/\/+$/, ''));
    return undefined;
  }
  const engine = await (shared.testEngine ??= startEngine({ onProgress: (line) => console.log(line) }));
  project.provide('kafkaBrokers', engine.brokers);
  project.provide('schemaRegistryUrl', engine.registryUrl);
  return async () => engine.stop();
}
