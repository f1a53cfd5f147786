import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { installed } from '../src/cache.ts';
import { kafkaPin, registryPin } from '../src/pins.ts';
import { startEngine } from '../src/start.ts';
import { findJava, javaMajorVersion } from '../src/tools.ts';

let bin: string;

beforeEach(async () => {
  bin = await mkdtemp(join(tmpdir(), 'engine-test-bin-'));
  vi.stubEnv('PATH', bin);
  vi.stubEnv('JAVA_HOME', '');
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(bin, { recursive: true, force: true });
});

async function fakeProgram(name: string, script: string): Promise<void> {
  await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(bin, name), 0o755);
}

test('without Java the engine says what to install and how to do without', async () => {
  await expect(startEngine()).rejects.toMatchObject({
    code: 'JAVA_MISSING',
    message: expect.stringMatching(
      /Install a Java runtime, version 17 or later.*KAFKA_BROKERS and SCHEMA_REGISTRY_URL/,
    ) as unknown,
  });
});

test('a Java that is too old is refused, naming its version', async () => {
  await fakeProgram('java', `echo 'openjdk version "11.0.22" 2024-01-16' >&2`);
  await expect(findJava()).rejects.toMatchObject({
    code: 'JAVA_MISSING',
    message: expect.stringMatching(/Java 17 or later.*is version 11/) as unknown,
  });
});

test('JAVA_HOME comes before the PATH', async () => {
  await fakeProgram('java', `echo 'openjdk version "21.0.1" 2023-10-17' >&2`);
  vi.stubEnv('JAVA_HOME', '/nowhere');
  await expect(findJava()).rejects.toMatchObject({
    code: 'JAVA_MISSING',
    message: expect.stringContaining('JAVA_HOME (/nowhere)') as unknown,
  });
});

test('without Maven the first start says what to install and how to do without', async () => {
  vi.stubEnv('PAYMENT_PROCESSOR_CACHE', join(bin, 'cache'));
  await expect(installed(kafkaPin(), () => undefined)).rejects.toMatchObject({
    code: 'MAVEN_MISSING',
    message: expect.stringMatching(/Apache Kafka.*Install Maven.*KAFKA_BROKERS and SCHEMA_REGISTRY_URL/) as unknown,
  });
});

test.each([
  ['openjdk version "17.0.15" 2025-04-15', 17],
  ['java version "1.8.0_402"', 8],
  ['openjdk version "25" 2025-09-16 LTS', 25],
  ['Picked up JAVA_TOOL_OPTIONS: -Dx=y\nopenjdk version "21.0.1" 2023-10-17', 21],
  ['no version here', null],
])('the version of %j is %s', (output, version) => {
  expect(javaMajorVersion(output)).toBe(version);
});

test.each([
  ['ENGINE_KAFKA', kafkaPin],
  ['ENGINE_REGISTRY', registryPin],
])('a version that %s names and that is not known is refused', (name, pin) => {
  vi.stubEnv(name, '0.7.2');
  expect(pin).toThrow(new RegExp(`^${name} must be one of .*, not "0.7.2"`));
});

test.each([
  [{ brokers: 0 }, 'number of brokers'],
  [{ brokers: 1.5 }, 'number of brokers'],
  [{ kafkaPort: 65_535, brokers: 3 }, 'kafkaPort'],
  [{ registryPort: -1 }, 'registryPort'],
  [{ kafkaPort: 9092, registryPort: 9094, brokers: 3 }, 'also the port of a broker'],
])('options %j are refused', async (options, problem) => {
  await expect(startEngine(options)).rejects.toMatchObject({
    code: 'INVALID_OPTIONS',
    message: expect.stringContaining(problem) as unknown,
  });
});
