/**
 * Custom resources that Kubernetes itself does not know, checked against types written by hand from the operators'
 * documentation: field names and types, not what the operators do with them. `npm run proofs -- --only cluster` checks them against the
 * operators' own definitions.
 */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readConfig, type Config } from 'payment-processor-contract/config';
import { topicConfiguration, topicDefinitions } from 'payment-processor-contract/topic-definitions';
import { ROLE_NAMES, rightsOf, type Role } from 'payment-processor-contract/rights';
import { EVERYTHING, FULL_NAME, LEAST, merged, NAMESPACE, ofKind, render, type Values } from './chart.ts';

const metadata = z.strictObject({
  name: z.string().regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/),
  namespace: z.string().optional(),
  labels: z.record(z.string(), z.string()),
  annotations: z.record(z.string(), z.string()).optional(),
});
const duration = z.string().regex(/^[0-9]+(s|m|h)$/);

const scaledObject = z.strictObject({
  apiVersion: z.literal('keda.sh/v1alpha1'),
  kind: z.literal('ScaledObject'),
  metadata,
  spec: z.strictObject({
    scaleTargetRef: z.strictObject({
      apiVersion: z.literal('apps/v1'),
      kind: z.literal('StatefulSet'),
      name: z.literal(FULL_NAME),
    }),
    minReplicaCount: z.int().min(1),
    maxReplicaCount: z.int(),
    pollingInterval: z.int(),
    fallback: z.strictObject({
      failureThreshold: z.int(),
      replicas: z.int(),
      behavior: z.literal('currentReplicasIfHigher'),
    }),
    advanced: z.strictObject({
      horizontalPodAutoscalerConfig: z.strictObject({ behavior: z.looseObject({ scaleDown: z.looseObject({}) }) }),
    }),
    triggers: z.array(
      z.strictObject({
        type: z.literal('prometheus'),
        metricType: z.literal('AverageValue'),
        // KEDA accepts only strings here.
        metadata: z.strictObject({
          serverAddress: z.url(),
          query: z.string(),
          threshold: z.string().regex(/^[0-9]+$/),
          ignoreNullValues: z.enum(['true', 'false']),
        }),
        authenticationRef: z.strictObject({ name: z.string() }).optional(),
      }),
    ),
  }),
});

const serviceMonitor = z.strictObject({
  apiVersion: z.literal('monitoring.coreos.com/v1'),
  kind: z.literal('ServiceMonitor'),
  metadata,
  spec: z.strictObject({
    selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
    namespaceSelector: z.strictObject({ matchNames: z.array(z.string()) }),
    endpoints: z.array(
      z.strictObject({
        port: z.literal('http'),
        path: z.literal('/metrics'),
        interval: duration,
        authorization: z
          .strictObject({
            type: z.literal('Bearer'),
            credentials: z.strictObject({ name: z.string(), key: z.string() }),
          })
          .optional(),
      }),
    ),
  }),
});

const prometheusRule = z.strictObject({
  apiVersion: z.literal('monitoring.coreos.com/v1'),
  kind: z.literal('PrometheusRule'),
  metadata,
  spec: z.strictObject({
    groups: z.array(
      z.strictObject({
        name: z.string(),
        rules: z.array(
          z.strictObject({
            alert: z.string(),
            expr: z.string(),
            for: duration.optional(),
            labels: z.record(z.string(), z.string()),
            annotations: z.record(z.string(), z.string()),
          }),
        ),
      }),
    ),
  }),
});

const kafkaTopic = z.strictObject({
  apiVersion: z.enum(['kafka.strimzi.io/v1beta2', 'kafka.strimzi.io/v1']),
  kind: z.literal('KafkaTopic'),
  metadata,
  spec: z.strictObject({
    topicName: z.string(),
    partitions: z.int(),
    replicas: z.int(),
    config: z.record(z.string(), z.string()),
  }),
});

const kafkaUser = z.strictObject({
  apiVersion: z.enum(['kafka.strimzi.io/v1beta2', 'kafka.strimzi.io/v1']),
  kind: z.literal('KafkaUser'),
  metadata,
  spec: z.strictObject({
    authentication: z.strictObject({ type: z.enum(['scram-sha-512', 'tls']) }),
    authorization: z.strictObject({
      type: z.literal('simple'),
      acls: z.array(
        z.strictObject({
          resource: z.strictObject({
            type: z.enum(['topic', 'group', 'transactionalId', 'cluster']),
            name: z.string(),
            patternType: z.enum(['literal', 'prefix']),
          }),
          operations: z.array(z.enum(['Read', 'Write', 'Describe', 'DescribeConfigs', 'Create', 'Alter'])),
        }),
      ),
    }),
  }),
});

/** The processor's settings in a set of values. */
function configOf(values: Values): Config {
  const settings = Object.fromEntries(
    Object.entries(values['settings'] as Values).map(([name, value]) => [name, String(value)]),
  );
  const read = readConfig({ ...settings, API_TOKEN_ID: 'a', API_CLIENT_SECRET: 'b', KAFKA_SASL_PASSWORD: 'c' });
  if (!read.ok) throw new Error(read.problems.join('; '));
  return read.config;
}

describe('resources of operators', () => {
  it('has a ScaledObject that scales on what more processes would help with, in this release only', async () => {
    const [found] = ofKind(await render(EVERYTHING), 'ScaledObject');
    const { spec } = scaledObject.parse(found);
    expect(spec.triggers[0]?.metadata.query).toBe(
      `sum(payments_not_admitted_messages{namespace="${NAMESPACE}",job="${FULL_NAME}",cause=~"catching-up|no-slot"})`,
    );
  });

  it('has a ServiceMonitor that finds the service and sends the token', async () => {
    const manifests = await render(EVERYTHING);
    const { spec } = serviceMonitor.parse(ofKind(manifests, 'ServiceMonitor')[0]);
    expect(spec.endpoints[0]?.authorization?.credentials).toEqual({ name: 'payment-processor-http', key: 'token' });
    expect(ofKind(manifests, 'Service')[0]?.metadata.labels).toMatchObject(spec.selector.matchLabels);
  });

  it('has a PrometheusRule that the operator would accept', async () => {
    prometheusRule.parse(ofKind(await render(EVERYTHING), 'PrometheusRule')[0]);
  });

  const retentions = ['25h', '7d', '45d'];
  it.each(retentions)(
    'has every topic as `topics create` would make it, with keys remembered for %s',
    async (retention) => {
      const values = merged(EVERYTHING, {
        settings: { LEDGER_RETENTION: retention, API_IDEMPOTENCY_RETENTION: '24h' },
      });
      const config = configOf(values);
      const topics = ofKind(await render(values), 'KafkaTopic').map((topic) => kafkaTopic.parse(topic));
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
      const users = ofKind(await render(values), 'KafkaUser').map((user) => kafkaUser.parse(user));
      const names = { processor: 'payment-processor', ...roles } as Record<Role, string>;
      expect(users.map(({ metadata: { name } }) => name).sort()).toEqual(Object.values(names).sort());
      for (const role of ROLE_NAMES) {
        const found = users.find(({ metadata: { name } }) => name === names[role]);
        const rights = found?.spec.authorization.acls.flatMap(({ operations, resource }) =>
          operations.map((operation) => `${operation} ${resource.type} ${resource.patternType} ${resource.name}`),
        );
        const wanted = rightsOf(role, configOf(values)).map(({ name, operation, pattern, resource }) => {
          const type = resource === 'transactional-id' ? 'transactionalId' : resource;
          return `${operation} ${type} ${pattern === 'literal' ? 'literal' : 'prefix'} ${name}`;
        });
        expect(rights?.sort()).toEqual(wanted.sort());
      }
    },
  );
});
