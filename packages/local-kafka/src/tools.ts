/** Finds Java and Maven, or says what to install. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EngineError, EXISTING_KAFKA_ADVICE } from './errors.ts';
import { JAVA_VERSION_MIN } from './pins.ts';

const run = promisify(execFile);

/** A JVM prints its version within a second; a hanging one must not hang the start. */
const VERSION_TIMEOUT_MS = 20_000;

/**
 * @returns the Java program: from JAVA_HOME if set, else from the PATH
 * @throws {EngineError} if there is none or it is too old
 */
export async function findJava(): Promise<string> {
  const home = process.env.JAVA_HOME ?? '';
  const program = home === '' ? 'java' : join(home, 'bin', 'java');
  const place = home === '' ? 'on the PATH' : `at JAVA_HOME (${home})`;
  const advice = `Install a Java runtime, version ${JAVA_VERSION_MIN} or later (Debian and Ubuntu: apt-get install default-jre-headless; macOS: brew install openjdk). ${EXISTING_KAFKA_ADVICE}`;
  const output = await run(program, ['-version'], { timeout: VERSION_TIMEOUT_MS }).catch((cause: unknown) => {
    throw new EngineError(`The embedded Kafka needs Java, and none runs ${place}. ${advice}`, {
      cause,
    });
  });
  const version = javaMajorVersion(output.stderr + output.stdout);
  if (version === null || version < JAVA_VERSION_MIN) {
    const found = version === null ? 'of a version that could not be read' : `version ${version}`;
    throw new EngineError(
      `The embedded Kafka needs Java ${JAVA_VERSION_MIN} or later; the one ${place} is ${found}. ${advice}`,
    );
  }
  return program;
}

/** Reads `java -version`: "17.0.15" is 17, "1.8.0_402" is 8. */
export function javaMajorVersion(output: string): number | null {
  const match = /version "(\d+)(?:\.(\d+))?/.exec(output);
  if (match === null) return null;
  return Number(match[1] === '1' ? match[2] : match[1]);
}

/** @throws {EngineError} if `mvn` does not run */
export async function findMaven(purpose: string): Promise<string> {
  await run('mvn', ['--version'], { timeout: VERSION_TIMEOUT_MS }).catch((cause: unknown) => {
    throw new EngineError(
      `${purpose} is fetched with Maven on the first start, and \`mvn\` does not run. Install Maven 3.8 or later ` +
        `(Debian and Ubuntu: apt-get install maven; macOS: brew install maven). ${EXISTING_KAFKA_ADVICE}`,
      { cause },
    );
  });
  return 'mvn';
}
