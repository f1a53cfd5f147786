/** The Job before installation and upgrade: it needs nothing that the installation creates, and gets only what it needs. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SUBJECT_SETTING_NAMES } from 'payment-processor-cli/schema-subjects';
import type { SettingName } from 'payment-processor-contract/config';
import { KAFKA_SETTING_NAMES } from 'payment-processor-contract/kafka/kafka-client';
import { TOPIC_SETTING_NAMES } from 'payment-processor-contract/topic-definitions';
import { EVERYTHING, FULL_NAME, LEAST, merged, ofKind, render, SMALL, template, type Values } from './chart.ts';

const containerShape = z.looseObject({
  name: z.string(),
  args: z.array(z.string()),
  env: z.array(z.object({ name: z.string(), value: z.string() })),
  volumeMounts: z.array(z.looseObject({ name: z.string() })),
});
const jobShape = z.looseObject({
  template: z.looseObject({
    metadata: z.looseObject({ labels: z.record(z.string(), z.string()) }),
    spec: z.looseObject({
      initContainers: z.array(containerShape).default([]),
      containers: z.array(containerShape),
      volumes: z.array(
        z.looseObject({
          name: z.string(),
          projected: z
            .looseObject({ sources: z.array(z.object({ secret: z.looseObject({ name: z.string() }) })) })
            .optional(),
        }),
      ),
    }),
  }),
});

/** The Job creates topics, as a user of its own. */
const OWN_TOPICS = merged(EVERYTHING, { strimzi: { topics: { enabled: false } } });
const NO_OWN_CREDENTIALS: Values = { enabled: true };
const ADMIN_CERTIFICATE: Values = {
  enabled: true,
  settings: { KAFKA_BROKERS: 'broker-1:9095' },
  kafkaCertificates: {
    certificate: { secret: 'payment-admin', key: 'tls.crt' },
    privateKey: { secret: 'payment-admin', key: 'tls.key' },
  },
};

async function jobOf(values: Values) {
  const [job] = ofKind(await render(values), 'Job');
  const { template: pod } = jobShape.parse(job?.spec);
  const secretsOf = (container: z.infer<typeof containerShape>): string[] => {
    const mounted = new Set(container.volumeMounts.map(({ name }) => name));
    const sources = pod.spec.volumes.filter(({ name }) => mounted.has(name)).flatMap((v) => v.projected?.sources ?? []);
    return [...new Set(sources.map(({ secret }) => secret.name))].sort();
  };
  return {
    annotations: job?.metadata.annotations,
    labels: pod.metadata.labels,
    volumes: pod.spec.volumes,
    containers: [...pod.spec.initContainers, ...pod.spec.containers].map((container) => ({
      ...container,
      environment: Object.fromEntries(container.env.map(({ name, value }) => [name, value])),
      secrets: secretsOf(container),
    })),
  };
}

describe('the Job before an installation', () => {
  it('creates topics and schemas before the pods; only schemas if Strimzi creates the topics', async () => {
    const { annotations, containers } = await jobOf(OWN_TOPICS);
    expect(annotations).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade' });
    expect(containers.map(({ args }) => args.slice(1))).toEqual([
      ['topics', 'create', '--replication-factor', '3'],
      ['schemas', 'register'],
    ]);
    expect((await jobOf(EVERYTHING)).containers.map(({ name }) => name)).toEqual(['schemas']);
  });

  it('gives up before Helm does, which would say less and remove the network policy', async () => {
    const [job] = ofKind(await render(OWN_TOPICS), 'Job');
    const helmWaitsSeconds = 300;
    expect(job?.spec?.['activeDeadlineSeconds']).toBeLessThanOrEqual(helmWaitsSeconds - 20);
  });

  it('mounts for each command only the secrets of that command', async () => {
    const { containers, volumes } = await jobOf(OWN_TOPICS);
    expect(containers.map(({ name, secrets }) => [name, secrets])).toEqual([
      ['topics', ['cluster-ca-cert', 'payment-admin']],
      ['schemas', ['registry']],
    ]);
    const mounted = new Set(containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name)));
    expect(volumes.map(({ name }) => name).sort()).toEqual([...mounted].sort());
    // A pod waits for all its volumes, even for those that no container mounts.
    expect(JSON.stringify((await jobOf(EVERYTHING)).volumes)).not.toContain('kafka-certificates');
  });

  it('passes each command only its own settings', async () => {
    const known: Record<string, readonly SettingName[]> = {
      topics: [...KAFKA_SETTING_NAMES, ...TOPIC_SETTING_NAMES, 'SANDBOX_COMMANDS'],
      schemas: SUBJECT_SETTING_NAMES,
    };
    const everySetting = merged(OWN_TOPICS, {
      settings: { COMMAND_MAX_AGE: '1h', SCHEMA_REGISTRY_USERNAME: 'payments' },
      prepare: {
        kafkaCertificates: {
          certificate: { secret: 'payment-admin', key: 'tls.crt' },
          privateKey: { secret: 'payment-admin', key: 'tls.key' },
        },
      },
    });
    for (const { name, env } of (await jobOf(everySetting)).containers) {
      const handed = env.map((variable) => variable.name.replace(/(?<!_(CA|CERT|KEY))_FILE$/, ''));
      expect(handed.filter((setting) => setting !== 'NODE_EXTRA_CA_CERTS').sort()).toEqual([...known[name]!].sort());
    }
  });

  it("authenticates to Kafka with its own certificate, without the processor's password", async () => {
    const values = merged(LEAST, {
      settings: { KAFKA_SSL: true, KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'processor' },
      secretSettings: { KAFKA_SASL_PASSWORD: { secret: 'processor', key: 'password' } },
      kafkaCertificates: { ca: { secret: 'cluster-ca-cert', key: 'ca.crt' } },
      prepare: ADMIN_CERTIFICATE,
    });
    const [topics] = (await jobOf(values)).containers;
    expect(topics?.secrets).toEqual(['cluster-ca-cert', 'payment-admin']);
    expect(Object.keys(topics?.environment ?? {}).filter((name) => /^KAFKA_/.test(name))).toEqual([
      'KAFKA_BROKERS',
      'KAFKA_SSL',
      'KAFKA_SSL_CA_FILE',
      'KAFKA_SSL_CERT_FILE',
      'KAFKA_SSL_KEY_FILE',
    ]);
  });

  it("prefers its own setting to the processor's, even if it is false or empty", async () => {
    const own = { enabled: true, settings: { KAFKA_SSL: false } };
    const [topics] = (await jobOf(merged(LEAST, { settings: { KAFKA_SSL: true }, prepare: own }))).containers;
    expect(topics?.environment['KAFKA_SSL']).toBe('false');
  });

  const madeLater = merged(LEAST, {
    kafkaCertificates: {
      certificate: { secret: 'payment-processor', key: 'user.crt' },
      privateKey: { secret: 'payment-processor', key: 'user.key' },
    },
    strimzi: { cluster: 'main', user: { enabled: true } },
  });

  it('is refused with a Secret that Strimzi creates only after it', async () => {
    expect(await template(merged(madeLater, { prepare: NO_OWN_CREDENTIALS }))).toMatchObject({
      code: 1,
      text: expect.stringContaining('Strimzi makes the Secret payment-processor') as string,
    });
  });

  it.each<[string, Values]>([
    ['a certificate of its own', { prepare: ADMIN_CERTIFICATE }],
    ['topics by Strimzi', { prepare: NO_OWN_CREDENTIALS, strimzi: { topics: { enabled: true } } }],
  ])('mounts nothing that is made after it with %s', async (_name, change) => {
    const { containers } = await jobOf(merged(madeLater, change));
    expect(containers.flatMap(({ secrets }) => secrets)).not.toContain('payment-processor');
  });
});

describe('the network policy of the Job', () => {
  type Policy = { podSelector: { matchLabels: Record<string, string> }; egress: { ports: { port: number }[] }[] };
  const policyOf = async (values: Values) =>
    ofKind(await render(values), 'NetworkPolicy').find(({ metadata }) => metadata.name === `${FULL_NAME}-prepare`);
  const portsOf = (policy: { spec?: unknown } | undefined): number[][] =>
    (policy?.spec as Policy).egress.map(({ ports }) => ports.map(({ port }) => port));

  it("exists before it, and allows egress to DNS, its brokers' ports and the registry", async () => {
    const policy = await policyOf(merged(LEAST, { prepare: ADMIN_CERTIFICATE }));
    const annotations = policy?.metadata.annotations;
    const { annotations: ofJob } = await jobOf(merged(LEAST, { prepare: ADMIN_CERTIFICATE }));
    expect(annotations?.['helm.sh/hook']).toBe(ofJob?.['helm.sh/hook']);
    expect(Number(annotations?.['helm.sh/hook-weight'])).toBeLessThan(Number(ofJob?.['helm.sh/hook-weight']));
    expect(portsOf(policy)).toEqual([[53, 53], [9095], [8081]]);
    expect(portsOf(await policyOf(EVERYTHING))).toEqual([[53, 53], [8081], [4318]]);
  });

  it("is the only one for the Job's pods, as the release's is for the processor's", async () => {
    const values = merged(LEAST, { prepare: ADMIN_CERTIFICATE });
    const manifests = await render(values);
    const { labels } = await jobOf(values);
    const selecting = ofKind(manifests, 'NetworkPolicy').filter(({ spec }) =>
      Object.entries((spec as Policy).podSelector.matchLabels).every(([name, value]) => labels[name] === value),
    );
    expect(selecting.map(({ metadata }) => metadata.name)).toEqual([`${FULL_NAME}-prepare`]);
  });

  it('does not exist without the Job or without network policies', async () => {
    expect(await policyOf(LEAST)).toBeUndefined();
    expect(await policyOf(SMALL)).toBeUndefined();
  });
});
