/** The engine cannot start; the message names the remedy. */
export class EngineError extends Error {}

/** The alternative to the engine; part of the messages about a missing Java or Maven. */
export const EXISTING_KAFKA_ADVICE =
  'To use a Kafka and a schema registry that already run, set KAFKA_BROKERS and SCHEMA_REGISTRY_URL instead ' +
  '(for the tests: TEST_KAFKA_BROKERS and TEST_SCHEMA_REGISTRY_URL).';
