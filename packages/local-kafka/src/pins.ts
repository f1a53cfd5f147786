/** Everything that the engine runs, with its Maven coordinates and versions. */
import { EngineError } from './errors.ts';

export interface MavenPin {
  readonly kind: 'jars' | 'archive';
  /** Name for people. */
  readonly title: string;
  /** Folder in the cache; a digest of the pin is appended. */
  readonly folder: string;
  /** groupId:artifactId:version, or groupId:artifactId:version:packaging:classifier for an archive. */
  readonly coordinates: readonly string[];
  /** Rough size of the download, for the progress line. */
  readonly downloadMegabytes: number;
}

export const KAFKA_VERSIONS = ['3.9.1', '4.0.0', '4.1.0', '4.3.1'] as const;
type KafkaVersion = (typeof KAFKA_VERSIONS)[number];

const LOG4J = 'org.apache.logging.log4j';

/**
 * Kafka depends on slf4j and log4j without a binding (before 4.1 only on slf4j), so its log would be lost. Before 4.0 it also
 * calls log4j 1, which the bridge provides.
 */
const KAFKA_LOGGING: Readonly<Record<KafkaVersion, readonly string[]>> = {
  '3.9.1': [`${LOG4J}:log4j-slf4j-impl:2.25.4`, `${LOG4J}:log4j-core:2.25.4`, `${LOG4J}:log4j-1.2-api:2.25.4`],
  '4.0.0': [`${LOG4J}:log4j-slf4j-impl:2.25.4`, `${LOG4J}:log4j-core:2.25.4`],
  '4.1.0': [`${LOG4J}:log4j-slf4j-impl:2.25.4`, `${LOG4J}:log4j-core:2.25.4`],
  '4.3.1': [`${LOG4J}:log4j-slf4j-impl:2.25.4`],
};

/**
 * The Kafka to run: 4.3.1, or the version that ENGINE_KAFKA names.
 * @throws {EngineError} if it names another
 */
export function kafkaPin(): MavenPin {
  const version = chosen('ENGINE_KAFKA', KAFKA_VERSIONS, '4.3.1');
  return {
    kind: 'jars',
    title: `Apache Kafka ${version}`,
    folder: `kafka-${version}`,
    coordinates: [`org.apache.kafka:kafka_2.13:${version}`, ...KAFKA_LOGGING[version]],
    downloadMegabytes: 45,
  };
}

/** Kafka's own command line tools; the game day runs those of the runbooks. */
export const KAFKA_TOOLS_PIN: MavenPin = {
  kind: 'jars',
  title: "Apache Kafka's tools 4.3.1",
  folder: 'kafka-tools-4.3.1',
  coordinates: ['org.apache.kafka:kafka-tools:4.3.1', 'org.apache.logging.log4j:log4j-slf4j-impl:2.25.4'],
  downloadMegabytes: 45,
};

export interface ApicurioPin extends MavenPin {
  readonly jar: string;
  /** The setting with its database's address. */
  readonly databaseSetting: string;
}

export const REGISTRY_NAMES = ['apicurio-2.6.13', 'apicurio-3.0.9', 'srfake'] as const;
type RegistryName = (typeof REGISTRY_NAMES)[number];

/** 3.0 is the last release line that runs on Java 17. Null: built from its Go module (packages/local-kafka/srfake). */
const REGISTRY_PINS: Readonly<Record<RegistryName, ApicurioPin | null>> = {
  'apicurio-2.6.13': apicurioPin('2.6.13.Final', 'quarkus.datasource.jdbc.url', 140),
  'apicurio-3.0.9': apicurioPin('3.0.9', 'apicurio.datasource.url', 110),
  srfake: null,
};

function apicurioPin(version: string, databaseSetting: string, downloadMegabytes: number): ApicurioPin {
  return {
    kind: 'archive',
    title: `Apicurio Registry ${version}`,
    folder: `apicurio-registry-${version}`,
    coordinates: [`io.apicurio:apicurio-registry-app:${version}:tar.gz:all`],
    downloadMegabytes,
    jar: `apicurio-registry-app-${version}-runner.jar`,
    databaseSetting,
  };
}

/**
 * The registry to run: Apicurio 3.0.9, or the one that ENGINE_REGISTRY names; null for srfake.
 * @throws {EngineError} if it names another
 */
export function registryPin(): ApicurioPin | null {
  return REGISTRY_PINS[chosen('ENGINE_REGISTRY', REGISTRY_NAMES, 'apicurio-3.0.9')];
}

function chosen<Name extends string>(setting: string, names: readonly Name[], fallback: Name): Name {
  const given = process.env[setting] ?? '';
  if (given === '') return fallback;
  const found = names.find((name) => name === given);
  if (found !== undefined) return found;
  throw new EngineError(`${setting} must be one of ${names.join(', ')}, not ${JSON.stringify(given)}.`);
}

/**
 * Version 2.8, because the registry's parent description is missing from Maven Central: later versions refuse to copy
 * an artifact whose description cannot be read in full.
 */
export const DEPENDENCY_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:2.8';

/** Kafka 4 servers and the registry both need it. */
export const JAVA_VERSION_MIN = 17;
