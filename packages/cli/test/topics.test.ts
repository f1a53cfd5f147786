import kafkajs from 'kafkajs';
import { describe, expect, test } from 'vitest';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { makeUsableTopics } from 'payment-processor-contract/kafka/usable-topics';
import { everyTopic, topicNames } from 'payment-processor-contract/topics';
import { environmentOf, freshPrefix, kafkaOf, LANES } from '../../client/test/fixtures.ts';
import { runCli } from './run-cli.ts';

const allTopics = (prefix: string): string[] => everyTopic(topicNames(prefix));

async function existing(prefix: string): Promise<string[]> {
  const topics = await withAdmin(kafkaOf(prefix), (admin) => admin.listTopics());
  return topics.filter((topic) => topic.startsWith(`${prefix}.`)).sort();
}

async function configurationOf(prefix: string, topic: string): Promise<Record<string, string>> {
  const asked = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic }];
  const { resources } = await withAdmin(kafkaOf(prefix), (admin) =>
    admin.describeConfigs({ includeSynonyms: false, resources: asked }),
  );
  return Object.fromEntries(resources[0]!.configEntries.map((entry) => [entry.configName, entry.configValue]));
}

describe('topics create', () => {
  test('makes every topic of the contract once, and leaves existing ones', async () => {
    const prefix = freshPrefix('topics');
    const environment = environmentOf(prefix);
    const first = await runCli(environment, '--output', 'json', 'topics', 'create');
    expect(first).toMatchObject({ code: 0 });
    expect(first.documents.map(({ action }) => action)).toEqual(allTopics(prefix).map(() => 'created'));
    expect(await existing(prefix)).toEqual(allTopics(prefix).sort());

    const second = await runCli(environment, '--output', 'json', 'topics', 'create');
    expect(second).toMatchObject({ code: 0 });
    expect(second.documents.map(({ action }) => action)).toEqual(allTopics(prefix).map(() => 'exists'));
    expect(await runCli(environment, 'topics', 'check')).toMatchObject({ code: 0 });

    const names = topicNames(prefix);
    expect(await configurationOf(prefix, names.commands['transfer-in'])).toMatchObject({
      'cleanup.policy': 'delete',
      'retention.ms': '604800000',
      'message.timestamp.type': 'LogAppendTime',
      'max.message.bytes': '1048576',
    });
    expect(await configurationOf(prefix, names.ledger)).toMatchObject({
      'cleanup.policy': 'compact',
      'max.message.bytes': '4194304',
      'message.timestamp.type': 'LogAppendTime',
    });
  });

  test('with --dry-run says what it would make and makes nothing', async () => {
    const prefix = freshPrefix('dry-run');
    const run = await runCli(environmentOf(prefix), '--output', 'json', 'topics', 'create', '--dry-run');
    expect(run.code).toBe(0);
    expect(run.stderr).toContain('processors read the topic of simulate-uma-receive only with');
    expect(run.documents.map(({ topic }) => topic).sort()).toEqual(allTopics(prefix).sort());
    expect(await existing(prefix)).toEqual([]);
  });

  test('names the replication factor that the cluster cannot give', async () => {
    const run = await runCli(environmentOf(freshPrefix('replicas')), 'topics', 'create', '--replication-factor', '9');
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/replication/i);
    expect(run.stderr).not.toMatch(/\n\s+at /);
  });
});

describe('topics check', () => {
  test('names each mismatch and what to do', async () => {
    const prefix = freshPrefix('mismatch');
    const names = topicNames(prefix);
    const configured = (topic: string, entries: Record<string, string>, numPartitions = LANES) => ({
      topic,
      numPartitions,
      replicationFactor: 1,
      configEntries: Object.entries(entries).map(([name, value]) => ({ name, value })),
    });
    const byBrokers = { 'message.timestamp.type': 'LogAppendTime' };
    const week = { 'retention.ms': '604800000' };
    await makeUsableTopics(kafkaOf(prefix), [
      configured(names.commands['transfer-in'], { 'retention.ms': '3600000' }, LANES + 1),
      configured(names.commands['execute-quote'], { ...byBrokers, 'retention.ms': '-1' }),
      configured(names.commands['create-quote'], { ...byBrokers, ...week, 'retention.bytes': '1000000' }),
      configured(names.ledger, { 'cleanup.policy': 'compact,delete', 'max.message.bytes': '1048588' }),
    ]);

    const run = await runCli(environmentOf(prefix), '--output', 'json', 'topics', 'check');
    expect(run.code).toBe(6);
    const kinds = (topic: string) => run.documents.filter((problem) => problem.topic === topic).map(({ kind }) => kind);
    expect(kinds(names.commands['transfer-in'])).toEqual(['partitions', 'timestamp', 'retention']);
    expect(kinds(names.commands['execute-quote'])).toEqual(['retention']);
    expect(kinds(names.commands['create-quote'])).toEqual(['retention']);
    expect(kinds(names.commands['reject-transaction'])).toEqual(['missing']);
    expect(kinds(names.ledger)).toEqual(['cleanup', 'timestamp', 'size']);
    expect(kinds(names.commands['simulate-uma-receive'])).toEqual([]);
    for (const { message } of run.documents)
      expect(message).toMatch(/: (run|set|lower|raise|if this prefix was in use before, follow) /);
    const kept = run.documents.find(({ topic }) => topic === names.commands['execute-quote']);
    expect(kept?.message).toContain('--add-config retention.ms=604800000`');

    const sandbox = { ...environmentOf(prefix), SANDBOX_COMMANDS: 'true' };
    const withSandbox = await runCli(sandbox, '--output', 'json', 'topics', 'check');
    expect(withSandbox.documents.length).toBe(run.documents.length + 1);
  });

  test('lists every wrong setting at once, with exit code 78', async () => {
    const run = await runCli({ LANES: 'many', LEDGER_RETENTION: 'long' }, 'topics', 'check');
    expect(run.code).toBe(78);
    for (const name of ['KAFKA_BROKERS', 'LANES', 'LEDGER_RETENTION']) expect(run.stderr).toContain(name);
    const tooShort = { ...environmentOf('any'), LEDGER_RETENTION: '1h' };
    expect(await runCli(tooShort, 'topics', 'check')).toMatchObject({ code: 78 });
  });

  test('says that no broker answers, without a stack', async () => {
    const run = await runCli({ KAFKA_BROKERS: '127.0.0.1:1' }, 'topics', 'check');
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/Kafka at 127\.0\.0\.1:1, or one of its brokers, does not answer \(.*: check/);
    expect(run.stderr).not.toMatch(/\n\s+at /);
  });
});
