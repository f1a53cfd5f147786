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
  const advice = /Install a Java runtime, version 17 or later.*KAFKA_BROKERS and SCHEMA_REGISTRY_URL/;
  await expect(startEngine()).rejects.toThrow(advice);
});

test('a Java that is too old is refused, naming its version', async () => {
  await fakeProgram('java', `echo 'openjdk version "11.0.22" 2024-01-16' >&2`);
  await expect(findJava()).rejects.toThrow(/Java 17 or later.*is version 11/);
});

test('JAVA_HOME comes before the PATH', async () => {
  await fakeProgram('java', `echo 'openjdk version "21.0.1" 2023-10-17' >&2`);
  vi.stubEnv('JAVA_HOME', '/nowhere');
  await expect(findJava()).rejects.toThrow('JAVA_HOME (/nowhere)');
});

test('without Maven the first start says what to install and how to do without', async () => {
  vi.stubEnv('PAYMENT_PROCESSOR_CACHE', join(bin, 'cache'));
  const advice = /Apache Kafka.*Install Maven.*KAFKA_BROKERS and SCHEMA_REGISTRY_URL/;
  await expect(installed(kafkaPin(), () => undefined)).rejects.toThrow(advice);
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
  [{ kafkaPort: 65_535, brokers: 3 }, 'kafkaPort'],
  [{ kafkaPort: 9092, registryPort: 9094, brokers: 3 }, 'also the port of a broker'],
])('options %j are refused', async (options, problem) => {
  await expect(startEngine(options)).rejects.toThrow(problem);
});
