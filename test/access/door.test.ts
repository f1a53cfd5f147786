/** What a processor reports when Kafka demands authentication and authorization. The registry has a file of its own. */
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { rightInWords, type Right } from 'payment-processor-contract/rights';
import { transferInOf } from '../support/commands.ts';
import { spawnProcessor, type RunningProcessor } from '../support/processor.ts';
import { endsRefused, startProblems, startWaitsBy } from './checked-start.ts';
import { rightsOfRoles, useSecured } from './secured-kafka.ts';

const { secured, stack } = useSecured('door');
let rights: readonly Right[];
const started: RunningProcessor[] = [];

beforeAll(async () => {
  rights = rightsOfRoles(stack(), 'processor');
  await secured().grant(rights);
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((processor) => processor.end()));
});

async function start(environment: Record<string, string>): Promise<RunningProcessor> {
  const processor = await spawnProcessor({ ...stack().environment, ...environment });
  started.push(processor);
  return processor;
}

/** What refuses a start with these settings, which are added to the stack's. */
async function refused(environment: Record<string, string>): Promise<string> {
  return (await startProblems({ ...stack().environment, ...environment })).join('\n');
}

function named(words: string): Right {
  const right = rights.find((candidate) => rightInWords(candidate).startsWith(words));
  if (right === undefined) throw new Error(`no right begins with ${words}`);
  return right;
}

describe('a start that no retry can repair is refused by one sentence', () => {
  test('for a wrong password, with which the process ends with code 78, by SCRAM, and by PLAIN', async () => {
    const wrong = { KAFKA_SASL_PASSWORD: 'not-the-password' };
    const sentence = /rejected the login.*KAFKA_SASL_PASSWORD/;
    const processor = await start(secured().environment('scram', wrong));
    await endsRefused(processor, sentence);
    expect(processor.lines.join('\n')).not.toContain('not-the-password');
    expect(await refused(secured().environment('plain', wrong))).toMatch(sentence);
  });

  test('for a mechanism that the listener does not have', async () => {
    expect(await refused(secured().environment('plain', { KAFKA_SASL_MECHANISM: 'scram-sha-256' }))).toMatch(
      /rejected the login.*KAFKA_SASL_MECHANISM/,
    );
  });

  test('for a certificate authority that did not sign the broker, and for none', async () => {
    const { otherCa } = secured().engine.certificates;
    expect(await refused(secured().environment('scram', { KAFKA_SSL_CA_FILE: otherCa }))).toMatch(
      /certificate of Kafka.*not trusted.*KAFKA_SSL_CA_FILE/,
    );
  });

  test('for a certificate of ours that is missing', async () => {
    expect(await refused(secured().environment('mtls', { KAFKA_SSL_CERT_FILE: '', KAFKA_SSL_KEY_FILE: '' }))).toMatch(
      /does not accept our certificate.*KAFKA_SSL_CERT_FILE/,
    );
  });

  // Each right is taken in rights.test.ts; one of each kind of resource shows the start.
  test.each(['Write on topic', 'Read on the groups'])('for a missing %s, which it names', async (words) => {
    const right = named(words);
    await secured().revoke(right);
    try {
      expect(await refused(secured().environment('plain'))).toBe(
        `Kafka does not allow us ${rightInWords(right)}: grant it`,
      );
    } finally {
      await secured().grant([right]);
    }
  });
});

test('a Kafka that is away is asked again, and said to be away', async () => {
  const away = { ...stack().environment, ...secured().environment('plain'), KAFKA_BROKERS: '127.0.0.1:1' };
  expect(await startWaitsBy(away)).toMatchObject({
    event: 'kafka-not-answering',
    problem: expect.stringMatching(/Kafka at 127\.0\.0\.1:1, or one of its brokers, does not answer/) as string,
  });
});

test('a listener that hangs up on TLS is not reported as a refusal: KAFKA_SSL is among the settings to check', async () => {
  const encrypted = { ...stack().environment, ...secured().environment('plain', { KAFKA_SSL: 'true' }) };
  expect(await startWaitsBy(encrypted)).toMatchObject({
    event: 'kafka-not-answering',
    problem: expect.stringMatching(/does not answer.*KAFKA_SSL/) as string,
  });
});

test('the listener with TLS and without a login lets it start', async () => {
  expect(await refused(secured().environment('ssl'))).toBe('');
});

// Listener mtls is that of the processor in whole-roles.test.ts, and plain that of the next test.
test('with exactly its rights it works, by the listener scram', async () => {
  const processor = await start(secured().environment('scram'));
  await processor.ready();
  await stack().publisher.publish('transfer-in', 'by-scram', transferInOf('by-scram'));
  expect((await stack().journal.result('by-scram')).value.outcome).toBe('ACCEPTED');
  await processor.stop();
});

test('a right that is taken while it runs is named in readiness and metrics, and given back it goes on by itself', async () => {
  const processor = await start(secured().environment('plain'));
  await processor.ready();
  const group = named('Read on group');
  const results = rights.filter((right) => rightInWords(right) === `Write on topic ${stack().topics.results}`);
  await Promise.all([group, ...results].map((right) => secured().revoke(right)));
  const reasons = async (): Promise<string[]> => (await processor.readiness()).reasons;
  for (const right of [group, ...results]) {
    await expect
      .poll(reasons, { timeout: 60_000 })
      .toContain(`refused by Kafka: Kafka does not allow us ${rightInWords(right)}: grant it`);
  }
  expect(await processor.metrics()).toContain('payments_kafka_refused{cause="authorization"} 1');
  expect(await processor.logged('kafka-access')).toMatchObject({ kind: 'refused', cause: 'authorization' });
  await secured().grant([group, ...results]);
  await expect.poll(async () => (await processor.readiness()).ready, { timeout: 60_000 }).toBe(true);
  await stack().publisher.publish('transfer-in', 'given-back', transferInOf('given-back'));
  expect((await stack().journal.result('given-back')).value.outcome).toBe('ACCEPTED');
  await processor.stop();
});
