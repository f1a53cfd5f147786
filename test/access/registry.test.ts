/** A registry that refuses, at the start and while a processor runs: each way is distinguished, and no command is lost. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { PaymentCommandPublisher, readClientSettings } from 'payment-processor-client';
import { unseenSchemaEncoder } from '../../proofs/chaos/unseen-schema.ts';
import { runCli } from '../../packages/cli/test/run-cli.ts';
import { createQuoteOf, transferInOf } from '../support/commands.ts';
import type { RunningProcessor } from '../support/processor.ts';
import { useStack } from '../support/test-stack.ts';
import { makeCertificates, type Certificates } from './certificates.ts';
import { endsRefused, startProblems } from './checked-start.ts';
import {
  behind,
  FAILING,
  FORBIDDEN,
  OPEN,
  REGISTRY_PASSWORD,
  REGISTRY_USER,
  RegistryDoor,
  UNKNOWN_ID,
  type DoorCertificate,
  type Manner,
} from './registry-door.ts';

/** Longer than between two looks at the registry. */
const LOOKED_AT_AGAIN_MS = 25_000;
/** Longer than a file is taken for unchanged. */
const READ_AGAIN_MS = 1_200;

const stack = useStack({ name: 'registry-door' });
let door: RegistryDoor;
let directory: string;
let certificates: Certificates;
let passwordFile: string;
/** Of the tests below 'a processor that runs': one serves them all. */
let serving: RunningProcessor | null = null;

beforeAll(async () => {
  door = await RegistryDoor.open(inject('schemaRegistryUrl'));
  directory = mkdtempSync(join(tmpdir(), 'registry-door-'));
  certificates = makeCertificates(directory);
  passwordFile = join(directory, 'registry-password');
  writeFileSync(passwordFile, REGISTRY_PASSWORD);
});
afterEach(() => {
  door.manner = OPEN;
});
afterAll(async () => {
  await door.close();
  rmSync(directory, { recursive: true });
});

const LOGIN = { SCHEMA_REGISTRY_USERNAME: REGISTRY_USER, SCHEMA_REGISTRY_PASSWORD: REGISTRY_PASSWORD };

function throughDoor(changed: Record<string, string> = {}): Record<string, string> {
  return { ...LOGIN, SCHEMA_REGISTRY_URL: door.url, ...changed };
}

/** It has its password from the file, and is not ready yet. */
async function served(): Promise<RunningProcessor> {
  const secret = { SCHEMA_REGISTRY_PASSWORD: '', SCHEMA_REGISTRY_PASSWORD_FILE: passwordFile };
  return (serving ??= await stack().spawnProcessor(throughDoor(secret)));
}

function tlsDoor(files: { cert: string; key: string }): Promise<RegistryDoor> {
  const certificate: DoorCertificate = { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') };
  return RegistryDoor.open(inject('schemaRegistryUrl'), certificate);
}

/** What refuses a start with these settings, which are added to the stack's. */
async function refused(environment: Record<string, string>): Promise<string> {
  return (await startProblems({ ...stack().environment, ...environment })).join('\n');
}

async function doctorSays(environment: Record<string, string>): Promise<string> {
  const run = await runCli({ ...stack().environment, ...environment }, '--output', 'json', 'doctor');
  const found = run.documents.filter(({ check }) => check === 'registry');
  expect(found.map(({ status }) => status)).toEqual(['problem']);
  return found[0]?.message as string;
}

describe('a start that no retry can repair is refused by a sentence, which doctor has, too', () => {
  test('for a wrong password, with which the process ends with code 78', async () => {
    const wrong = throughDoor({ SCHEMA_REGISTRY_PASSWORD: 'not-the-password' });
    const sentence =
      /schema registry at http:\S+ rejected the login \(HTTP 401\): check SCHEMA_REGISTRY_USERNAME and SCHEMA_REGISTRY_PASSWORD/;
    const processor = await stack().spawnProcessor(wrong);
    await endsRefused(processor, sentence);
    expect(processor.lines.join('\n')).not.toMatch(/not-the-password|registry-secret/);
    expect(await doctorSays(wrong)).toMatch(sentence);
  });

  test('for a path that the registry does not have, and not as if the schemas were missing', async () => {
    const url = `${stack().environment['SCHEMA_REGISTRY_URL'] ?? ''}/nowhere`;
    const sentence = /\/nowhere is not a schema registry \(HTTP 404 .*path of SCHEMA_REGISTRY_URL/;
    expect(await refused({ SCHEMA_REGISTRY_URL: url })).toMatch(sentence);
    expect(await doctorSays({ SCHEMA_REGISTRY_URL: url })).toMatch(sentence);
  });

  test('for a certificate of an authority that is not named, or of another name; named it is taken', async () => {
    const [signed, misnamed] = [await tlsDoor(certificates.server), await tlsDoor(certificates.misnamed)];
    const untrusted = throughDoor({ SCHEMA_REGISTRY_URL: signed.url, NODE_EXTRA_CA_CERTS: certificates.otherCa });
    const authority = /certificate of the schema registry at https:\S+ is not trusted \(UNABLE_.*NODE_EXTRA_CA_CERTS/;
    expect(await refused(throughDoor({ SCHEMA_REGISTRY_URL: signed.url }))).toMatch(authority);
    expect(await doctorSays(untrusted)).toMatch(authority);
    const otherName = throughDoor({ SCHEMA_REGISTRY_URL: misnamed.url, NODE_EXTRA_CA_CERTS: certificates.ca });
    // Node reads NODE_EXTRA_CA_CERTS as it starts: doctor is a process of its own here, with the words of a start.
    expect(await doctorSays(otherName)).toMatch(
      /is not trusted \(ERR_TLS_CERT_ALTNAME_INVALID.*SCHEMA_REGISTRY_URL must use a name that it contains/,
    );
    const trusted = throughDoor({ SCHEMA_REGISTRY_URL: signed.url, NODE_EXTRA_CA_CERTS: certificates.ca });
    await (await stack().startProcessor(trusted)).stop();
    await Promise.all([signed.close(), misnamed.close()]);
  });

  test('for TLS to a port that does not speak it', async () => {
    const url = door.url.replace('http:', 'https:');
    expect(await refused(throughDoor({ SCHEMA_REGISTRY_URL: url }))).toMatch(
      /handshake with the schema registry at https:\S+ failed \(\S+\): check scheme and port of SCHEMA_REGISTRY_URL/,
    );
  });
});

test('a start that waiting can repair waits, and names the cause', async () => {
  door.manner = FAILING;
  const sentence = /registry at http:\S+ fails \(HTTP 503: no leader is elected\)/;
  const processor = await served();
  expect((await processor.logged('registry-not-answering')).problem).toMatch(sentence);
  expect(await doctorSays(throughDoor())).toMatch(sentence);
  await expect
    .poll(async () => (await processor.readiness()).reasons.join('\n'), { timeout: LOOKED_AT_AGAIN_MS })
    .toMatch(sentence);
  door.manner = OPEN;
  await processor.ready();
});

describe('a processor that runs', () => {
  /** Two of them, and how the reason goes on; registry-faults.test.ts has every way. */
  const WAYS: readonly (readonly [Manner, RegExp])[] = [
    [FORBIDDEN, /\(HTTP 403\): grant SCHEMA_REGISTRY_USERNAME the right to read/],
    [{ kind: 'silent' }, /does not answer \(no answer within/],
  ];

  const reasons = async (processor: RunningProcessor): Promise<string> =>
    (await processor.readiness()).reasons.join('\n');
  const failing = async (processor: RunningProcessor): Promise<string[]> =>
    [...(await processor.metrics()).matchAll(/payments_registry_failing\{cause="([a-z-]+)"\} 1/g)].map(
      ([, cause = '']) => cause,
    );

  test('a password that is changed at the registry is reported before anybody needs it, and taken from its file', async () => {
    const processor = await served();
    await processor.ready();
    await expect.poll(() => failing(processor), { timeout: LOOKED_AT_AGAIN_MS }).toEqual([]);
    const before = processor.log().length;
    const said = () =>
      processor
        .log()
        .slice(before)
        .filter(({ event }) => event === 'registry-access');
    door.password = 'the-next-secret';
    await expect.poll(() => failing(processor), { timeout: LOOKED_AT_AGAIN_MS }).toEqual(['authentication']);
    expect(await processor.readiness()).toEqual({
      ready: true,
      reasons: [
        `the schema registry cannot be used, but no command waits for it: subject ${stack().topics.results}-value cannot be looked up: ` +
          `the schema registry at ${door.url} rejected the login (HTTP 401): check SCHEMA_REGISTRY_USERNAME and SCHEMA_REGISTRY_PASSWORD`,
      ],
    });
    await expect.poll(said).toMatchObject([{ level: 'error', kind: 'refused', cause: 'authentication' }]);
    writeFileSync(passwordFile, 'the-next-secret');
    await expect.poll(() => failing(processor), { timeout: LOOKED_AT_AGAIN_MS }).toEqual([]);
    expect((await processor.readiness()).reasons).toEqual([]);
    await expect.poll(() => said().map(({ kind }) => kind)).toEqual(['refused', 'allowed']);
    expect(processor.lines.join('\n')).not.toMatch(/registry-secret|the-next-secret/);
    door.password = REGISTRY_PASSWORD;
    writeFileSync(passwordFile, REGISTRY_PASSWORD);
  });

  test('a command with a schema that it has not seen waits, whatever is answered, and is executed after', async () => {
    const encode = await unseenSchemaEncoder(stack());
    const value = await encode('transfer-in', transferInOf('waits'));
    const processor = await served();
    await processor.ready();
    for (const [index, [manner, sentence]] of WAYS.entries()) {
      door.manner = manner;
      if (index === 0) await stack().publishRaw('transfer-in', { key: 'waits', value });
      await expect
        .poll(() => reasons(processor), { timeout: LOOKED_AT_AGAIN_MS, interval: 200 })
        .toMatch(
          new RegExp(`\\(lane \\d\\): schema id \\d+ of subject \\S+transfer-in\\S+ cannot .*${sentence.source}`),
        );
      expect((await processor.readiness()).ready).toBe(false);
    }
    expect(stack().journal.results('waits')).toEqual([]);
    expect(stack().journal.deadLetters()).toEqual([]);
    door.manner = OPEN;
    expect((await stack().journal.result('waits')).value.outcome).toBe('ACCEPTED');
  });

  test('a command whose schema one server of the registry does not know yet is executed, and no dead letter', async () => {
    const byId = await unseenSchemaEncoder(stack());
    const inSubject = await unseenSchemaEncoder(stack());
    // Neither is the subject's latest version: nothing but asking again tells.
    await unseenSchemaEncoder(stack());
    await (await served()).ready();
    for (const [key, encode, question] of [
      ['lagging', byId, /^GET \/schemas\/ids\//],
      ['lagging-subject', inSubject, /^POST \/subjects\//],
    ] as const) {
      door.manner = behind(UNKNOWN_ID, question, 1);
      await stack().publishRaw('transfer-in', { key, value: await encode('transfer-in', transferInOf(key)) });
      expect((await stack().journal.result(key)).value.outcome).toBe('ACCEPTED');
    }
    expect(stack().journal.deadLetters()).toEqual([]);
  });
});

test('a client that runs takes a password that changed from its file', async () => {
  const file = join(directory, 'client-password');
  writeFileSync(file, REGISTRY_PASSWORD);
  const secret = { SCHEMA_REGISTRY_PASSWORD: '', SCHEMA_REGISTRY_PASSWORD_FILE: file };
  const read = readClientSettings({ ...stack().environment, ...throughDoor(secret) });
  if (!read.ok) throw new Error(read.problems.join('; '));
  const publisher = await PaymentCommandPublisher.connect(read.config);
  await publisher.publish('transfer-in', 'before-rotation', transferInOf('before-rotation'));
  door.password = 'the-next-secret';
  writeFileSync(file, 'the-next-secret');
  await delay(READ_AGAIN_MS);
  // The schema of another topic: the publisher has not asked for it yet.
  await publisher.publish('create-quote', 'after-rotation', createQuoteOf('after-rotation'));
  await publisher.close();
  door.password = REGISTRY_PASSWORD;
});
