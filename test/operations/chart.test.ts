import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { KUBERNETES_RELEASES } from '../../dev/operations/kubernetes-schemas.ts';
import { readConfig, SETTINGS, type SettingName } from 'payment-processor-contract/config';
import {
  EVERYTHING,
  FULL_NAME,
  LEAST,
  lint,
  merged,
  ofKind,
  render,
  SMALL,
  template,
  type Manifest,
  type Values,
} from './chart.ts';
import { KubernetesSchemas } from './kubernetes-validation.ts';

const VALUE_SETS = { least: LEAST, everything: EVERYTHING, small: SMALL };
/** Kubernetes has no schemas for these; test/cluster/life.test.ts applies them with the operators' definitions. */
const CUSTOM_KINDS = ['KafkaTopic', 'KafkaUser', 'PrometheusRule', 'ScaledObject', 'ServiceMonitor'];

const podSpec = z.looseObject({
  terminationGracePeriodSeconds: z.number(),
  automountServiceAccountToken: z.literal(false),
  securityContext: z.looseObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.number().min(1),
    seccompProfile: z.object({ type: z.literal('RuntimeDefault') }),
  }),
  containers: z
    .array(
      z.looseObject({
        env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })),
        securityContext: z.looseObject({
          allowPrivilegeEscalation: z.literal(false),
          readOnlyRootFilesystem: z.literal(true),
          capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
        }),
        resources: z.looseObject({ limits: z.looseObject({ memory: z.string() }) }),
        startupProbe: z.looseObject({ httpGet: z.looseObject({ path: z.literal('/health/live') }) }).optional(),
        livenessProbe: z.looseObject({ httpGet: z.looseObject({ path: z.literal('/health/live') }) }).optional(),
        readinessProbe: z.looseObject({ httpGet: z.looseObject({ path: z.literal('/health/ready') }) }).optional(),
        volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
      }),
    )
    .length(1),
  volumes: z.array(z.looseObject({ name: z.string() })),
});

async function workloadOf(values: Values) {
  const [workload] = ofKind(await render(values), 'StatefulSet');
  const { template: pod } = workload?.spec as { template: { spec: unknown } };
  const spec = podSpec.parse(pod.spec);
  const container = spec.containers[0]!;
  const environment = Object.fromEntries(container.env.map(({ name, value }) => [name, value ?? '(by reference)']));
  return { workload: workload!, spec, container, environment };
}

describe.each(Object.entries(VALUE_SETS))('the chart with the value set "%s"', (_name, values) => {
  it('passes helm lint', async () => {
    expect(await lint(values)).toMatchObject({ code: 0 });
  });

  it.each(KUBERNETES_RELEASES)('renders what Kubernetes %s accepts, without unknown fields', async (release) => {
    const schemas = new KubernetesSchemas(release);
    const found = (await render(values)).map((manifest) => [manifest, schemas.problemsOf(manifest)] as const);
    const unknown = found.flatMap(([{ kind }, problems]) => (problems === null ? [kind] : []));
    expect(CUSTOM_KINDS).toEqual(expect.arrayContaining([...new Set(unknown)]));
    expect(found.flatMap(([, problems]) => problems ?? [])).toEqual([]);
    const [workload] = ofKind(await render(values), 'StatefulSet');
    const misspelt = merged({ ...workload! }, { spec: { replica: 2 } }) as unknown as Manifest;
    expect(schemas.problemsOf(misspelt)?.join()).toContain('replica');
  });

  it('gives the pods no more rights than they need, and probes that exist', async () => {
    const { container } = await workloadOf(values);
    expect(container.startupProbe).toBeDefined();
    expect(container.livenessProbe).toBeDefined();
    expect(container.readinessProbe).toBeDefined();
  });

  it('mounts each volume that it uses, and uses each that it defines', async () => {
    const { workload, spec, container } = await workloadOf(values);
    const claims = (workload.spec?.['volumeClaimTemplates'] ?? []) as { metadata: { name: string } }[];
    const volumes = [...spec.volumes.map(({ name }) => name), ...claims.map(({ metadata }) => metadata.name)];
    expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(volumes.sort());
  });

  it('sets nothing that the processor does not know, and no secret by value', async () => {
    const { environment } = await workloadOf(values);
    for (const [name, value] of Object.entries(environment)) {
      if (name.startsWith('OTEL_') || ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS'].includes(name)) continue;
      const setting = name.replace(/(?<!_(CA|CERT|KEY))_FILE$/, '');
      expect(Object.keys(SETTINGS)).toContain(setting);
      const isSecret = SETTINGS[setting as SettingName].secret === true;
      expect(isSecret ? name : setting).toBe(name);
      if (isSecret) expect(value).toBe(`/run/secrets/payment-processor/${setting}`);
    }
  });

  it('sets values with which the processor can start', async () => {
    const { environment } = await workloadOf(values);
    const withSecrets = Object.fromEntries(
      Object.entries(environment).map(([name, value]) =>
        value.startsWith('/run/secrets/payment-processor/') ? [name.replace(/_FILE$/, ''), 'a-secret'] : [name, value],
      ),
    );
    // Kubernetes supplies this value: the pod's address, IPv4 or IPv6.
    for (const podIp of ['10.0.0.7', 'fd00::7']) {
      expect(readConfig({ ...withSecrets, HTTP_ADVERTISED_ADDRESS: podIp })).toMatchObject({ ok: true });
    }
  });

  it('gives the processor time to stop before it is killed', async () => {
    const { environment, spec } = await workloadOf(values);
    const callSeconds = Number(environment['API_TIMEOUT_MS'] ?? SETTINGS.API_TIMEOUT_MS.default) / 1000;
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(callSeconds + 35 + 5);
  });
});

describe('the chart', () => {
  it('passes numbers on with all their digits', async () => {
    const { environment } = await workloadOf(EVERYTHING);
    expect(environment).toMatchObject({ SETTLING_TIME_MS: '3600000', API_TIMEOUT_MS: '30000', LANES: '48' });
  });

  it('gives Node the larger part of the memory limit by default', async () => {
    expect((await workloadOf(LEAST)).environment['NODE_OPTIONS']).toBe('--max-old-space-size=1075');
    const told = merged(LEAST, { extraEnv: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=200' }] });
    expect((await workloadOf(told)).container.env.filter(({ name }) => name === 'NODE_OPTIONS')).toEqual([
      { name: 'NODE_OPTIONS', value: '--max-old-space-size=200' },
    ]);
  });

  it('serves no sandbox commands by default', async () => {
    expect((await workloadOf(LEAST)).environment['SANDBOX_COMMANDS']).toBe('false');
  });

  it('says with an empty text that no operation honours keys', async () => {
    expect((await workloadOf(EVERYTHING)).environment['API_IDEMPOTENT_OPERATIONS']).toBe('');
  });

  it('leaves the number of processes to the autoscaler, which never asks for more than there are lanes', async () => {
    const small = await render(SMALL);
    expect(ofKind(small, 'StatefulSet')[0]?.spec).not.toHaveProperty('replicas');
    expect(ofKind(small, 'HorizontalPodAutoscaler')[0]?.spec).toMatchObject({
      maxReplicas: 6,
      scaleTargetRef: { kind: 'StatefulSet', name: FULL_NAME },
    });
    const everything = await render(EVERYTHING);
    expect(ofKind(everything, 'StatefulSet')[0]?.spec).not.toHaveProperty('replicas');
    expect(ofKind(everything, 'ScaledObject')[0]?.spec).toMatchObject({ maxReplicaCount: 48 });
  });

  it('allows egress to what the settings name, and nothing else', async () => {
    const [policy] = ofKind(await render(EVERYTHING), 'NetworkPolicy');
    const egress = policy?.spec?.['egress'] as { ports: { port: number }[]; to?: unknown }[];
    expect(egress.map(({ ports }) => ports.map(({ port }) => port))).toEqual([
      [8080],
      [53, 53],
      [9092],
      [8081],
      [443],
      [4318],
    ]);
    expect(egress[4]?.to).toEqual([{ ipBlock: { cidr: '203.0.113.0/24' } }]);
  });

  it('allows ingress only from what the values name: by default the pods of its namespace', async () => {
    const ingressOf = async (change: Values) =>
      ofKind(await render(merged(LEAST, change)), 'NetworkPolicy')[0]?.spec?.['ingress'];
    const [ownPods, named] = (await ingressOf({})) as unknown[];
    expect(named).toEqual({ from: [{ podSelector: {} }], ports: [{ port: 8080, protocol: 'TCP' }] });
    expect(await ingressOf({ networkPolicy: { ingressFrom: [] } })).toEqual([ownPods]);
  });

  it('lets only the processor pods ask each other, at the address that each announces', async () => {
    for (const values of [LEAST, merged(EVERYTHING, { settings: { HTTP_PORT: 9000 } })]) {
      const manifests = await render(values);
      const [policy] = ofKind(manifests, 'NetworkPolicy');
      const { egress, ingress, podSelector } = policy?.spec as {
        egress: { to?: unknown[]; ports: unknown[] }[];
        ingress: { from: unknown[]; ports: unknown[] }[];
        podSelector: unknown;
      };
      const port = values === LEAST ? 8080 : 9000;
      expect(ingress[0]).toEqual({ from: [{ podSelector }], ports: [{ port, protocol: 'TCP' }] });
      expect(egress[0]).toEqual({ to: [{ podSelector }], ports: [{ port, protocol: 'TCP' }] });
      const told = (await workloadOf(values)).container.env.filter(({ name }) => name === 'HTTP_ADVERTISED_ADDRESS');
      expect(told).toEqual([
        { name: 'HTTP_ADVERTISED_ADDRESS', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      ]);
    }
    const { container } = await workloadOf(merged(LEAST, { settings: { HTTP_ADVERTISED_ADDRESS: 'none' } }));
    expect(container.env.filter(({ name }) => name === 'HTTP_ADVERTISED_ADDRESS')).toEqual([
      { name: 'HTTP_ADVERTISED_ADDRESS', value: 'none' },
    ]);
  });

  it('accepts a disruption budget in numbers and percentages', async () => {
    const budgetOf = async (values: Values) =>
      ofKind(await render(values), 'PodDisruptionBudget')[0]?.spec?.['maxUnavailable'];
    expect([await budgetOf(LEAST), await budgetOf(EVERYTHING)]).toEqual([1, '25%']);
  });

  it('changes the timings of a probe, and nothing else in it', async () => {
    const [usual, changed] = [(await workloadOf(LEAST)).container, (await workloadOf(EVERYTHING)).container];
    expect(changed.readinessProbe).toEqual({ ...usual.readinessProbe, failureThreshold: 4 });
    expect(changed.livenessProbe).toEqual(usual.livenessProbe);
  });

  it('restarts the pods when the token changes, and passes annotations on to what watches the StatefulSet', async () => {
    const annotationsOf = async (values: Values) => {
      const { workload } = await workloadOf(values);
      const { template: pod } = workload.spec as { template: { metadata: { annotations?: unknown } } };
      return [workload.metadata.annotations, pod.metadata.annotations];
    };
    expect(await annotationsOf(EVERYTHING)).toEqual([
      { 'reloader.stakater.com/auto': 'true' },
      { 'example.com/owner': 'payments', 'payment-processor/restart-token': '2026-01-31' },
    ]);
    expect(await annotationsOf(SMALL)).toEqual([undefined, undefined]);
  });

  it.each<[string, Values, string]>([
    [
      'two autoscalers',
      { autoscaling: { hpa: { enabled: true }, keda: { enabled: true, prometheusUrl: 'http://p' } } },
      'two autoscalers',
    ],
    ['more processes than lanes', { replicas: 7, settings: { LANES: 6 } }, 'would only stand by'],
    [
      'an autoscaler that begins beyond the lanes',
      { settings: { LANES: 2 }, autoscaling: { hpa: { enabled: true, minReplicas: 3 } } },
      'more than maxReplicas or than LANES',
    ],
    ['KEDA without Prometheus', { autoscaling: { keda: { enabled: true } } }, 'prometheusUrl is required'],
    ['HTTP on every address without a token', { http: { insecure: false } }, 'or say http.insecure=true'],
    ['a missing required setting', { settings: { API_BASE_URL: '' } }, 'settings.API_BASE_URL is required'],
    ['Strimzi without a cluster', { strimzi: { user: { enabled: true } } }, 'strimzi.cluster is required'],
    [
      "a role with the processor's user, which is not made",
      { strimzi: { cluster: 'main', roles: { operator: 'payment-processor' } } },
      'strimzi.roles.operator is the name of strimzi.user, which is not enabled',
    ],
    ['a misspelt setting', { settings: { API_TIMEOUT: 1000 } }, 'API_TIMEOUT'],
    ['a setting beyond its bounds', { settings: { API_TIMEOUT_MS: 5 } }, 'API_TIMEOUT_MS'],
    ['a secret among the settings', { settings: { API_CLIENT_SECRET: 'abc' } }, 'API_CLIENT_SECRET'],
    ['a secret by its value', { secretSettings: { API_CLIENT_SECRET: 'abc' } }, 'API_CLIENT_SECRET'],
    ['alerts whose runbooks nobody finds', { prometheusRule: { enabled: true } }, 'runbookBaseUrl is required'],
    ['runbooks at a path', { prometheusRule: { enabled: true, runbookBaseUrl: 'docs/runbooks' } }, 'runbookBaseUrl'],
    ['a certificate without its key', { kafkaCertificates: { certificate: { secret: 'a', key: 'b' } } }, 'privateKey'],
    ['a budget of nothing', { podDisruptionBudget: { maxUnavailable: '0%' } }, 'podDisruptionBudget'],
    ['a name that no Service can have', { fullnameOverride: '1pay' }, 'cannot be the name of a Service'],
    ['a setting by the back door', { extraEnv: [{ name: 'API_CLIENT_SECRET', value: 'abc' }] }, 'extraEnv'],
  ])('does not render with %s', async (_name, change, reason) => {
    expect(await template(merged(LEAST, change))).toMatchObject({
      code: 1,
      text: expect.stringContaining(reason) as string,
    });
  });

  it('does not render without the credentials of the payment service', async () => {
    expect(await template({ settings: LEAST['settings'] })).toMatchObject({
      code: 1,
      text: expect.stringContaining('secretSettings.API_TOKEN_ID is required') as string,
    });
  });
});
