type EngineErrorCode =
  'INVALID_OPTIONS' | 'JAVA_MISSING' | 'MAVEN_MISSING' | 'DOWNLOAD_FAILED' | 'PORT_TAKEN' | 'NOT_READY' | 'ENDED';

/** The engine cannot start; the message names the remedy. */
export class EngineError extends Error {
  readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EngineError';
    this.code = code;
  }
}

/** The alternative to the engine; part of every message about missing tools. */
export const EXISTING_KAFKA_ADVICE =
  'To use a Kafka and a schema registry that already run, set KAFKA_BROKERS and SCHEMA_REGISTRY_URL instead ' +
  '(for the tests: TEST_KAFKA_BROKERS and TEST_SCHEMA_REGISTRY_URL).';
