/** The table of rights (packages/contract/src/rights.ts) against a broker that asks for them: enough, and not one too many. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSomeSettings } from 'payment-processor-contract/config';
import { createKafka, KAFKA_SETTING_NAMES, LANE_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { missingRights } from '../../src/producers/rights-check.ts';
import { ROLE_NAMES, rightInWords, rightsOf } from 'payment-processor-contract/rights';
import { runCli } from '../../packages/cli/test/run-cli.ts';
import { SecuredKafka, type Door } from './secured-kafka.ts';

const SETTINGS = { TOPIC_PREFIX: 'guarded', KAFKA_GROUP_ID: 'guarded-commands', SANDBOX_COMMANDS: false };

let secured: SecuredKafka;
beforeAll(async () => {
  secured = await SecuredKafka.open('rights');
  const made = await runCli(
    {
      KAFKA_BROKERS: secured.engine.brokers.join(','),
      TOPIC_PREFIX: 'guarded',
      LANES: '2',
      SANDBOX_COMMANDS: 'true',
    },
    'topics',
    'create',
    '--json-copies',
  );
  expect(made.stderr).toBe('');
});
afterAll(() => secured.close());

function kafkaOf(environment: Record<string, string>): ReturnType<typeof createKafka> {
  const read = readSomeSettings(environment, KAFKA_SETTING_NAMES);
  if (!read.ok) throw new Error(read.problems.join('; '));
  return createKafka(read.config, 'test-rights', { retry: LANE_RETRY });
}

describe('the check of rights', () => {
  test.each(ROLE_NAMES)(
    'of a %s finds nothing missing with its rights, each one that is taken, and all at once',
    async (role) => {
      await secured.revokeAll();
      const kafka = kafkaOf(secured.environment('plain'));
      const rights = rightsOf(role, SETTINGS);
      expect(await missingRights(kafka, rights)).toEqual(rights);
      await secured.grant(rights);
      expect(await missingRights(kafka, rights)).toEqual([]);
      for (const right of rights) {
        await secured.revoke(right);
        const missing = await missingRights(kafka, rights);
        expect(missing.map(rightInWords)).toEqual([rightInWords(right)]);
        await secured.grant([right]);
      }
    },
  );

  test.each<[Door, 'principal' | 'certified']>([
    ['plain', 'principal'],
    ['scram', 'principal'],
    ['mtls', 'certified'],
  ])('goes by the listener %s', async (door, principal) => {
    await secured.revokeAll();
    const rights = rightsOf('publisher', SETTINGS);
    const kafka = kafkaOf(secured.environment(door));
    expect(await missingRights(kafka, rights)).toEqual(rights);
    await secured.grant(rights, secured[principal]);
    expect(await missingRights(kafka, rights)).toEqual([]);
  });

  test('finds nothing missing where nobody asks', async () => {
    const rights = ROLE_NAMES.flatMap((role) => rightsOf(role, SETTINGS));
    expect(await missingRights(kafkaOf(secured.environment('ssl')), rights)).toEqual([]);
    expect(await missingRights(kafkaOf({ KAFKA_BROKERS: secured.engine.brokers.join(',') }), rights)).toEqual([]);
  });
});
