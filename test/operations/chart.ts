/** Renders the chart, and lists the sets of values that it is tested with. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { runTool, type ToolEnd } from './tools.ts';

export type Values = Record<string, unknown>;

/** A rendered Kubernetes object. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec?: Record<string, unknown>;
  data?: Record<string, string>;
}

export const RELEASE = 'pay';
export const NAMESPACE = 'payments-test';
export const FULL_NAME = 'pay-payment-processor';
const KUBERNETES_RELEASE = '1.34.0';

export const LEAST: Values = {
  http: { insecure: true },
  settings: {
    KAFKA_BROKERS: 'broker-1:9092,broker-2:9092',
    SCHEMA_REGISTRY_URL: 'http://registry:8081/apis/ccompat/v7',
    API_BASE_URL: 'https://api.example.com/2025-10-13',
  },
  secretSettings: {
    API_TOKEN_ID: { secret: 'payment-service', key: 'token-id' },
    API_CLIENT_SECRET: { secret: 'payment-service', key: 'client-secret' },
  },
};

/** Everything that can be turned on at once, as in production with Strimzi, KEDA and the Prometheus operator. */
export const EVERYTHING: Values = merged(LEAST, {
  http: { insecure: false },
  image: { repository: 'registry.example/payment-processor', digest: `sha256:${'0a'.repeat(32)}` },
  imagePullSecrets: [{ name: 'registry-credentials' }],
  settings: {
    LANES: 48,
    TOPIC_PREFIX: 'acme.payments',
    KAFKA_GROUP_ID: 'acme-commands',
    KAFKA_SSL: true,
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: 'payment-processor',
    API_TIMEOUT_MS: 30_000,
    SETTLING_TIME_MS: 3_600_000,
    LEDGER_RETENTION: '14d',
    SANDBOX_COMMANDS: 'true',
    API_IDEMPOTENT_OPERATIONS: '',
  },
  secretSettings: {
    KAFKA_SASL_PASSWORD: { secret: 'payment-processor', key: 'password' },
    SCHEMA_REGISTRY_PASSWORD: { secret: 'registry', key: 'password' },
    HTTP_AUTH_TOKEN: { secret: 'payment-processor-http', key: 'token' },
  },
  kafkaCertificates: {
    ca: { secret: 'cluster-ca-cert', key: 'ca.crt' },
    certificate: { secret: 'payment-processor', key: 'user.crt' },
    privateKey: { secret: 'payment-processor', key: 'user.key' },
  },
  extraCertificates: { configMap: 'company-ca', key: 'ca.crt' },
  extraEnv: [
    { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://collector:4318' },
    { name: 'OTEL_EXPORTER_OTLP_HEADERS', valueFrom: { secretKeyRef: { name: 'collector', key: 'headers' } } },
  ],
  extraVolumes: [{ name: 'company-policy', configMap: { name: 'company-policy' } }],
  extraVolumeMounts: [{ name: 'company-policy', mountPath: '/etc/company-policy', readOnly: true }],
  probes: { readiness: { failureThreshold: 4 } },
  restartToken: '2026-01-31',
  workloadAnnotations: { 'reloader.stakater.com/auto': 'true' },
  podDisruptionBudget: { maxUnavailable: '25%' },
  podLabels: { team: 'payments' },
  podAnnotations: { 'example.com/owner': 'payments' },
  nodeSelector: { 'kubernetes.io/arch': 'amd64' },
  tolerations: [{ key: 'payments', operator: 'Exists', effect: 'NoSchedule' }],
  priorityClassName: 'high',
  store: { storageClass: 'fast' },
  resources: { limits: { memory: '2Gi' } },
  autoscaling: {
    keda: { enabled: true, prometheusUrl: 'http://prometheus:9090', authenticationRef: 'prometheus', maxReplicas: 100 },
  },
  networkPolicy: {
    ingressFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
    kafkaTo: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kafka' } } }],
    apiTo: [{ ipBlock: { cidr: '203.0.113.0/24' } }],
    extraEgress: [{ ports: [{ port: 4318, protocol: 'TCP' }] }],
  },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  prometheusRule: {
    enabled: true,
    labels: { release: 'prometheus' },
    alertLabels: { team: 'payments' },
    runbookBaseUrl: 'https://runbooks.example/',
  },
  dashboard: { enabled: true },
  prepare: {
    enabled: true,
    replicationFactor: 3,
    settings: { KAFKA_SASL_USERNAME: 'payment-admin' },
    secretSettings: { KAFKA_SASL_PASSWORD: { secret: 'payment-admin', key: 'password' } },
  },
  strimzi: { cluster: 'main', namespace: 'kafka', topics: { enabled: true }, user: { enabled: true } },
});

/** Small, without a volume, on CPU. */
export const SMALL: Values = merged(LEAST, {
  settings: { LANES: 6, HTTP_PORT: 9000 },
  store: { persistent: false, size: '512Mi' },
  autoscaling: { hpa: { enabled: true } },
  prepare: { enabled: true },
  serviceAccount: { create: false },
  networkPolicy: { enabled: false },
  podDisruptionBudget: { enabled: false },
});

/** A copy of `base` with `change` applied; maps are merged. */
export function merged(base: Values, change: Values): Values {
  const isMap = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const result: Values = { ...base };
  for (const [name, value] of Object.entries(change)) {
    const known = result[name];
    result[name] = isMap(known) && isMap(value) ? merged(known, value) : value;
  }
  return result;
}

/** `helm template` with these values; a failure is returned, not thrown. */
export async function template(values: Values): Promise<ToolEnd> {
  return withValuesFile(values, (file) =>
    runTool('helm', [
      ...['template', RELEASE, 'helm', '--namespace', NAMESPACE, '--kube-version', KUBERNETES_RELEASE],
      ...['--values', file],
    ]),
  );
}

export async function lint(values: Values): Promise<ToolEnd> {
  return withValuesFile(values, (file) => runTool('helm', ['lint', '--strict', 'helm', '--values', file]));
}

/** Every object of the chart. @throws Error with Helm's message if it does not render, or about a duplicate key */
export async function render(values: Values): Promise<Manifest[]> {
  const { code, output, text } = await template(values);
  if (code !== 0) throw new Error(text);
  return parseAllDocuments(output)
    .map((document) => {
      for (const error of document.errors) throw error;
      return document.toJS() as Manifest | null;
    })
    .filter((manifest) => manifest !== null);
}

/** The objects of a kind. */
export function ofKind(manifests: readonly Manifest[], kind: string): Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

/** Passes on the path of a file with these values, and removes the file afterwards. */
export async function withValuesFile(values: Values, work: (file: string) => Promise<ToolEnd>): Promise<ToolEnd> {
  const folder = await mkdtemp(join(tmpdir(), 'payments-chart-'));
  try {
    const file = join(folder, 'values.yaml');
    // JSON is YAML.
    await writeFile(file, JSON.stringify(values));
    return await work(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
