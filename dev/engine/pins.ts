/** The one table of what the engine runs: Maven coordinates and versions. */

export interface MavenPin {
  readonly kind: 'jars' | 'archive';
  /** As people say it. */
  readonly title: string;
  /** Folder in the cache; a changed pin also changes the digest behind it. */
  readonly folder: string;
  /** groupId:artifactId:version, or groupId:artifactId:version:packaging:classifier for an archive. */
  readonly coordinates: readonly string[];
  /** Rough size of the download, for the progress line. */
  readonly downloadMegabytes: number;
}

/** The binding keeps Kafka's log: Kafka depends on slf4j and log4j alone, and without a binding its log is lost. */
export const KAFKA_PIN: MavenPin = {
  kind: 'jars',
  title: 'Apache Kafka 4.3.1',
  folder: 'kafka-4.3.1',
  coordinates: ['org.apache.kafka:kafka_2.13:4.3.1', 'org.apache.logging.log4j:log4j-slf4j-impl:2.25.4'],
  downloadMegabytes: 45,
};

/** Kafka's own command line tools, with which the lag proof compares. */
export const KAFKA_TOOLS_PIN: MavenPin = {
  kind: 'jars',
  title: "Apache Kafka's tools 4.3.1",
  folder: 'kafka-tools-4.3.1',
  coordinates: ['org.apache.kafka:kafka-tools:4.3.1', 'org.apache.logging.log4j:log4j-slf4j-impl:2.25.4'],
  downloadMegabytes: 45,
};

/** What the race holds the processor against, if asked to. */
export const PARALLEL_CONSUMER_PIN: MavenPin = {
  kind: 'jars',
  title: 'Confluent parallel consumer 0.5.3.2',
  folder: 'parallel-consumer-0.5.3.2',
  coordinates: ['io.confluent.parallelconsumer:parallel-consumer-core:0.5.3.2'],
  downloadMegabytes: 25,
};

/** The last release line that runs on Java 17; 3.1 and later want Java 21. */
export const REGISTRY_PIN: MavenPin = {
  kind: 'archive',
  title: 'Apicurio Registry 3.0.9',
  folder: 'apicurio-registry-3.0.9',
  coordinates: ['io.apicurio:apicurio-registry-app:3.0.9:tar.gz:all'],
  downloadMegabytes: 110,
};

export const REGISTRY_JAR = 'apicurio-registry-app-3.0.9-runner.jar';

/**
 * Version 2.8, because the registry's parent description is missing from Maven Central: later versions refuse to copy
 * an artifact whose description cannot be read in full.
 */
export const DEPENDENCY_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:2.8';

/** Kafka 4 servers and the registry both need it. */
export const JAVA_VERSION_MIN = 17;
