/** Which faults of a registry are distinguished, and by what. Only the registry's own answer makes a message unreadable. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { freePort } from 'payment-processor-local-kafka/ports';
import { RecordRegistry, type RegistryFault } from 'payment-processor-contract/registry';
import type { RegistryFailure } from 'payment-processor-contract/registry-failure';
import { loadSchema } from 'payment-processor-contract/schemas';
import { recordOfTopic, subjectOf, topicNames } from 'payment-processor-contract/topics';
import {
  behind,
  FAILING,
  FORBIDDEN,
  LOST,
  NO_PAGE,
  OPEN,
  PAGE,
  REGISTRY_PASSWORD,
  REGISTRY_USER,
  RegistryDoor,
  type Manner,
} from './registry-door.ts';
import { framed } from '../support/registry-frame.ts';

const topics = topicNames(`registry-faults-${randomUUID().slice(0, 8)}`);
const COMMANDS = topics.commands['transfer-in'];
const WRITTEN = [topics.results, topics.quoteStatusChanged];
let door: RegistryDoor;
/** Zeros, which are a record of every schema. */
const NO_VALUE = Buffer.alloc(7);
/** Of the commands' subject. */
let known: Buffer;

beforeAll(async () => {
  door = await RegistryDoor.open(inject('schemaRegistryUrl'));
  for (const topic of WRITTEN) await register(topic, recordOfTopic(topics).get(topic) ?? '');
  known = framed(await register(COMMANDS, 'TransferIn'), NO_VALUE);
});
afterAll(() => door.close());

async function register(topic: string, record: string): Promise<number> {
  const response = await fetch(`${inject('schemaRegistryUrl')}/subjects/${subjectOf(topic)}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema: JSON.stringify(loadSchema(record)) }),
  });
  return ((await response.json()) as { id: number }).id;
}

function registry(change: { url?: string; password?: string } = {}): RecordRegistry {
  const login = { username: REGISTRY_USER, password: REGISTRY_PASSWORD };
  return new RecordRegistry({ url: door.url, ...login, ...change, records: recordOfTopic(topics) });
}

const odd = (status: number, body: string, contentType = 'application/json'): Manner => {
  return { kind: 'answers', status, body, contentType };
};
/** Each with how its sentence goes on. */
const MANNERS: readonly (readonly [RegistryFailure['kind'], Manner, RegExp])[] = [
  ['authorization', FORBIDDEN, /\(HTTP 403\): grant SCHEMA_REGISTRY_USERNAME the right to read/],
  ['not-a-registry', PAGE, /\(HTTP 200 as text\/html\): check .*SCHEMA_REGISTRY_URL/],
  ['not-a-registry', NO_PAGE, /\(HTTP 404 as text\/html\): check .*SCHEMA_REGISTRY_URL/],
  ['not-a-registry', odd(302, '', 'text/html'), /HTTP 302/],
  ['not-a-registry', odd(404, '{"error_code":404}'), /HTTP 404/],
  // Apicurio 2 says this to a path that it does not have.
  ['not-a-registry', odd(404, '{"error_code":0}'), /HTTP 404/],
  ['not-a-registry', odd(200, '{"status":"UP"}'), /HTTP 200/],
  ['subject-missing', LOST, /does not have our schema under .*schemas register/],
  ['server-error', FAILING, /\(HTTP 503: no leader is elected\)/],
  ['server-error', odd(429, 'slow down', 'text/plain'), /HTTP 429/],
];

test.each(MANNERS)('%s is reported for writing and for reading: %j', async (kind, manner, sentence) => {
  const writing = registry();
  await writing.prepare(WRITTEN);
  expect(await writing.fault()).toBeNull();
  door.manner = manner;
  try {
    expect(await writing.fault()).toMatchObject({ failure: { kind } });
    await expect(registry().prepare(WRITTEN)).rejects.toMatchObject({ failure: { kind } });
    const reading = registry();
    expect(await reading.decode(COMMANDS, known)).toMatchObject({ kind: 'unavailable', failure: { kind } });
    const told = (await reading.fault())?.problem ?? '';
    expect(told).toContain(subjectOf(COMMANDS));
    expect(told).toContain(door.url);
    expect(told).toMatch(sentence);
  } finally {
    door.manner = OPEN;
  }
  expect(await writing.fault()).toBeNull();
});

test('a rejected login is authentication; a port where nobody listens is unreachable', async () => {
  const faults: (RegistryFault | null)[] = [];
  for (const change of [{ password: 'wrong' }, { url: `http://127.0.0.1:${await freePort()}` }]) {
    const asking = registry(change);
    await expect(asking.prepare(WRITTEN)).rejects.toThrow();
    faults.push(await asking.fault());
  }
  expect(faults.map((fault) => fault?.failure.kind)).toEqual(['authentication', 'unreachable']);
});

test('a failed question of a message is reported until it is answered, even if other questions are', async () => {
  const reading = registry();
  await reading.prepare(WRITTEN);
  door.manner = behind(FORBIDDEN, /^GET \/schemas\/ids\//);
  await reading.decode(COMMANDS, known);
  expect(await reading.fault()).toMatchObject({ failure: { kind: 'authorization' } });
  // No question has failed since, and the one that the check itself asks is answered.
  expect(await reading.fault()).toBeNull();
  await reading.decode(COMMANDS, known);
  door.manner = OPEN;
  await reading.decode(COMMANDS, known);
  expect(await reading.fault()).toBeNull();
});

test('a page in place of one answer alone is no verdict: the message waits', async () => {
  for (const page of [PAGE, NO_PAGE, { ...PAGE, status: 400 }, { ...PAGE, status: 409 }]) {
    for (const question of [/^GET \/schemas\/ids\//, /^POST \/subjects\//, /\/versions\/latest$/]) {
      door.manner = behind(page, question);
      // An id that nobody has is asked about further.
      const id = question.test('GET /versions/latest') ? framed(2 ** 31 - 1, NO_VALUE) : known;
      expect(await registry().decode(COMMANDS, id)).toMatchObject({
        kind: 'unavailable',
        failure: { kind: 'not-a-registry' },
      });
    }
  }
  door.manner = OPEN;
  expect(await registry().decode(COMMANDS, framed(2 ** 31 - 1, NO_VALUE))).toMatchObject({ kind: 'unknown-schema' });
});
