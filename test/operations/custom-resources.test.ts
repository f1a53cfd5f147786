/**
 * What the custom resources say. Kubernetes itself does not know them: `npm run proofs -- --only cluster` applies them to an API
 * server with the operators' own definitions (test/cluster/life.test.ts).
 */
import { describe, expect, it } from 'vitest';
import { readConfig, type Config } from 'payment-processor-contract/config';
import { topicConfiguration, topicDefinitions } from 'payment-processor-contract/topic-definitions';
import { ROLE_NAMES, rightsOf, type Role } from 'payment-processor-contract/rights';
import {
  EVERYTHING,
  FULL_NAME,
  LEAST,
  merged,
  NAMESPACE,
  ofKind,
  render,
  type Manifest,
  type Values,
} from './chart.ts';

interface KafkaTopic {
  readonly topicName: string;
  readonly partitions: number;
  readonly replicas: number;
  readonly config: Readonly<Record<string, string>>;
}

interface KafkaUser {
  readonly authorization: {
    readonly acls: readonly {
      readonly resource: Readonly<Record<'type' | 'name' | 'patternType', string>>;
      readonly operations: readonly string[];
    }[];
  };
}

type With<Spec> = Pick<Manifest, 'metadata'> & { readonly spec: Spec };

/** The processor's settings in a set of values. */
function configOf(values: Values): Config {
  const settings = Object.fromEntries(
    Object.entries(values['settings'] as Values).map(([name, value]) => [name, String(value)]),
  );
  const read = readConfig({ ...settings, API_TOKEN_ID: 'a', API_CLIENT_SECRET: 'b', KAFKA_SASL_PASSWORD: 'c' });
  if (!read.ok) throw new Error(read.problems.join('; '));
  return read.config;
}

function grantedTo(user: string, users: readonly With<KafkaUser>[]): string[] | undefined {
  const found = users.find(({ metadata: { name } }) => name === user);
  return found?.spec.authorization.acls
    .flatMap(({ operations, resource }) =>
      operations.map((operation) => `${operation} ${resource.type} ${resource.patternType} ${resource.name}`),
    )
    .sort();
}

function rightsInChart(roles: readonly Role[], values: Values): string[] {
  return roles
    .flatMap((role) => rightsOf(role, configOf(values)))
    .map(({ name, operation, pattern, resource }) => {
      const type = resource === 'transactional-id' ? 'transactionalId' : resource;
      return `${operation} ${type} ${pattern === 'literal' ? 'literal' : 'prefix'} ${name}`;
    })
    .sort();
}

describe('resources of operators', () => {
  it('has a ScaledObject that scales on what more processes would help with, in this release only', async () => {
    const query = `sum(payments_not_admitted_messages{namespace="${NAMESPACE}",job="${FULL_NAME}",cause=~"catching-up|no-slot"})`;
    const [found] = ofKind(await render(EVERYTHING), 'ScaledObject');
    expect(found?.spec).toMatchObject({ triggers: [{ metadata: { query } }] });
  });

  it('has a ServiceMonitor that finds the service and sends the token', async () => {
    const manifests = await render(EVERYTHING);
    const { endpoints, selector } = ofKind(manifests, 'ServiceMonitor')[0]?.spec as Record<string, Values>;
    const credentials = { name: 'payment-processor-http', key: 'token' };
    expect(endpoints).toMatchObject([
      { port: 'http', path: '/metrics', authorization: { type: 'Bearer', credentials } },
    ]);
    expect(ofKind(manifests, 'Service')[0]?.metadata.labels).toMatchObject(selector?.['matchLabels'] as Values);
  });

  const retentions = ['25h', '7d', '45d'];
  it.each(retentions)(
    'has every topic as `topics create` would make it, with keys remembered for %s',
    async (retention) => {
      const values = merged(EVERYTHING, {
        settings: { LEDGER_RETENTION: retention, API_IDEMPOTENCY_RETENTION: '24h' },
      });
      const config = configOf(values);
      const topics = ofKind(await render(values), 'KafkaTopic') as unknown as With<KafkaTopic>[];
      const rendered = topics.map(({ spec }) => [spec.topicName, spec.partitions, spec.replicas, spec.config]);
      const wanted = topicDefinitions(config).map((definition) => [
        definition.topic,
        definition.partitions,
        3,
        topicConfiguration(definition, 2),
      ]);
      const byName = (left: unknown[], right: unknown[]): number => String(left[0]).localeCompare(String(right[0]));
      expect(rendered.sort(byName)).toEqual(wanted.sort(byName));
      for (const topic of topics) expect(topic.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
    },
  );

  it('has the topic of sandbox commands only where they are served', async () => {
    const values = merged(LEAST, { strimzi: { cluster: 'main', topics: { enabled: true }, user: { enabled: true } } });
    expect(JSON.stringify(await render(values))).not.toContain('simulate-uma-receive');
  });

  it.each([true, false])(
    'has a KafkaUser for each role with its rights and no more, sandbox commands %s',
    async (sandbox) => {
      const roles = Object.fromEntries(
        ROLE_NAMES.filter((role) => role !== 'processor').map((role) => [role, `the-${role}`]),
      );
      const values = merged(EVERYTHING, { settings: { SANDBOX_COMMANDS: sandbox }, strimzi: { roles } });
      const users = ofKind(await render(values), 'KafkaUser') as unknown as With<KafkaUser>[];
      const names = { processor: 'payment-processor', ...roles } as Record<Role, string>;
      expect(users.map(({ metadata: { name } }) => name).sort()).toEqual(Object.values(names).sort());
      for (const role of ROLE_NAMES) expect(grantedTo(names[role], users)).toEqual(rightsInChart([role], values));
    },
  );

  it('has one KafkaUser for roles with the same name', async () => {
    const values = merged(EVERYTHING, { strimzi: { roles: { operator: 'payment-processor' } } });
    const users = ofKind(await render(values), 'KafkaUser') as unknown as With<KafkaUser>[];
    expect(users).toHaveLength(1);
    expect(grantedTo('payment-processor', users)).toEqual(rightsInChart(['processor', 'operator'], values));
  });
});
