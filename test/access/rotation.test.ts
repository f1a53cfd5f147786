/** Credentials in files that change while a process runs: the next connection is made with what they hold then. */
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createHttpClient } from '../../src/api/client.ts';
import { readSomeSettings } from 'payment-processor-contract/config';
import { createKafka, KAFKA_SETTING_NAMES, LANE_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { createLogger } from '../../src/ops/logging.ts';
import { WatchedFile } from 'payment-processor-contract/watched-file';
import { startHostileService } from '../support/hostile-service.ts';
import { SecuredKafka } from './secured-kafka.ts';

const WITHOUT_BODY = { method: 'GET', path: '/service', body: null, headers: {}, maxBodyBytes: 1_000 } as const;
/** Longer than a file is taken for unchanged. */
const LOOKED_AT_AGAIN_MS = 1_200;

let secured: SecuredKafka;
let directory: string;
beforeAll(async () => {
  secured = await SecuredKafka.open('rotation');
  directory = mkdtempSync(join(tmpdir(), 'rotation-'));
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await secured.close();
});

/** A new login with a client that was made before: each admin has connections of its own. */
function logIn(environment: Record<string, string>): () => Promise<void> {
  const read = readSomeSettings(environment, KAFKA_SETTING_NAMES);
  if (!read.ok) throw new Error(read.problems.join('; '));
  const kafka = createKafka(read.config, 'test-rotation', { retry: { ...LANE_RETRY, retries: 2 } });
  return async () => {
    const admin = kafka.admin();
    try {
      await admin.connect();
      await admin.listTopics();
    } finally {
      await admin.disconnect();
    }
  };
}

test.each(['plain', 'scram'] as const)('a password, by the listener %s', async (door) => {
  const file = join(directory, `password-${door}`);
  writeFileSync(file, 'not-yet-the-password\n');
  const again = logIn(secured.environment(door, { KAFKA_SASL_PASSWORD: '', KAFKA_SASL_PASSWORD_FILE: file }));
  await expect(again()).rejects.toThrow();
  writeFileSync(file, `${secured.password}\n`);
  await delay(LOOKED_AT_AGAIN_MS);
  await again();
});

test('certificates: the authority, and our own with its key', async () => {
  const { ca, clients, otherCa } = secured.engine.certificates;
  const client = clients.rotation;
  const at = (name: string): string => join(directory, name);
  const put = (name: string, from: string): void => writeFileSync(at(name), readFileSync(from));
  put('ca.pem', otherCa);
  put('cert.pem', client.cert);
  put('key.pem', client.key);
  const files = {
    KAFKA_SSL_CA_FILE: at('ca.pem'),
    KAFKA_SSL_CERT_FILE: at('cert.pem'),
    KAFKA_SSL_KEY_FILE: at('key.pem'),
  };
  const again = logIn(secured.environment('mtls', files));
  await expect(again()).rejects.toThrow();
  put('ca.pem', ca);
  await delay(LOOKED_AT_AGAIN_MS);
  await again();
  // A certificate that is not of this key: it is this file that is read, too.
  put('cert.pem', ca);
  await delay(LOOKED_AT_AGAIN_MS);
  await expect(again()).rejects.toThrow();
});

test('by an exchange of the folder; while it is away or empty, the last stays in force and one warning is given', async () => {
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => warnings.mockRestore());
  const [first, second, link] = ['first', 'second', 'data'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(first);
  mkdirSync(second);
  writeFileSync(join(first, 'secret'), 'the-first-secret');
  symlinkSync(first, link);
  const file = new WatchedFile(join(link, 'secret'));
  unlinkSync(link);
  for (let look = 0; look < 2; look += 1) {
    await delay(LOOKED_AT_AGAIN_MS);
    expect(file.text()).toBe('the-first-secret');
  }
  writeFileSync(join(second, 'secret'), '');
  symlinkSync(second, `${link}-new`);
  renameSync(`${link}-new`, link);
  await delay(LOOKED_AT_AGAIN_MS);
  expect(file.text()).toBe('the-first-secret');
  expect(warnings).toHaveBeenCalledTimes(1);
  writeFileSync(join(second, 'secret'), 'the-second-secret');
  await delay(LOOKED_AT_AGAIN_MS);
  expect(file.text()).toBe('the-second-secret');
});

test('the credentials of the payment service', async () => {
  const file = join(directory, 'api-secret');
  writeFileSync(file, 'before');
  const read = readSomeSettings({ API_TOKEN_ID: 'id', API_CLIENT_SECRET_FILE: file }, [
    'API_TOKEN_ID',
    'API_CLIENT_SECRET',
  ]);
  if (!read.ok) throw new Error(read.problems.join('; '));
  const { config } = read;
  const service = await startHostileService(() => null);
  const client = createHttpClient({
    baseUrl: service.baseUrl,
    credentials: () => ({ tokenId: config.API_TOKEN_ID, clientSecret: config.API_CLIENT_SECRET }),
    concurrency: 1,
    connectTimeoutMs: 1_000,
  });
  onTestFinished(async () => {
    await client.close();
    await service.close();
  });
  await client.call(WITHOUT_BODY, 2_000);
  writeFileSync(file, 'after-it');
  await delay(LOOKED_AT_AGAIN_MS);
  await client.call(WITHOUT_BODY, 2_000);
  const given = service.requests.map(({ headers }) => headers.authorization?.replace('Basic ', '') ?? '');
  expect(given.map((login) => Buffer.from(login, 'base64').toString())).toEqual(['id:before', 'id:after-it']);
});

test('the log redacts the new secret and the previous one', async () => {
  const file = join(directory, 'logged');
  writeFileSync(file, 'secret-before');
  const lines: string[] = [];
  const read = readSomeSettings({ KAFKA_SASL_PASSWORD_FILE: file }, [
    'LOG_LEVEL',
    'KAFKA_SASL_USERNAME',
    'KAFKA_SASL_PASSWORD',
    'SCHEMA_REGISTRY_USERNAME',
    'SCHEMA_REGISTRY_PASSWORD',
    'HTTP_AUTH_TOKEN',
  ]);
  if (!read.ok) throw new Error(read.problems.join('; '));
  const settings = Object.defineProperties(
    { API_TOKEN_ID: 'token-of-api', API_CLIENT_SECRET: 'secret-of-api' },
    Object.getOwnPropertyDescriptors(read.config),
  ) as Parameters<typeof createLogger>[0];
  const log = createLogger(settings, { write: (line: string) => void lines.push(line) });
  log.info('secret-before');
  writeFileSync(file, 'secret-after');
  await delay(LOOKED_AT_AGAIN_MS);
  log.info('secret-before and secret-after');
  expect(lines.join('')).not.toMatch(/secret-before|secret-after/);
});
