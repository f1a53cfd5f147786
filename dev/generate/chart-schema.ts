/**
 * Writes helm/values.schema.json: settings from the table in packages/contract/src/config.ts, the chart's other values from here.
 *
 * A setting's type follows from the error that parsing an invalid text gives. The table supplies that sentence, and one
 * that is unknown here aborts the generation, so that the schema is never laxer than the table.
 */
import { readSomeSettings, SETTINGS, type SettingName } from 'payment-processor-contract/config';
import { ROLE_NAMES } from 'payment-processor-contract/rights';
import { writeOrCheck } from './generated-file.ts';

type Schema = Record<string, unknown>;

/** No setting accepts it, except those that accept any text. */
const NO_VALUE = '\u0001';

const SET_BY_THE_CHART: readonly SettingName[] = [
  'STATE_DIR',
  'KAFKA_SSL_CA_FILE',
  'KAFKA_SSL_CERT_FILE',
  'KAFKA_SSL_KEY_FILE',
];

function complaintOf(name: SettingName): string | null {
  const read = readSomeSettings({ [name]: NO_VALUE }, [name]);
  if (read.ok) return null;
  const problem = read.problems[0] ?? '';
  return problem.slice(name.length + 1, problem.lastIndexOf(` (${SETTINGS[name].meaning})`));
}

/** By the complaint, what a value must look like; null: any text, which the processor itself checks. */
const PATTERNS: readonly (readonly [RegExp, string | null])[] = [
  [/^is not a duration/, '^([0-9]{1,9}(ms|s|m|h|d))?$'],
  [/^is not an http or https URL$/, '^(https?://.+)?$'],
  [/^is not a list like host1:9092,host2:9092$/, '^(\\s*[^\\s:,]+:[0-9]{1,5}\\s*(,\\s*[^\\s:,]+:[0-9]{1,5}\\s*)*)?$'],
  [/^is not 1 to 100 characters/, '^[a-zA-Z0-9._-]{0,100}$'],
  [/^is neither a host nor an http or https URL/, '^(https?://[^/\\s]+/?|[a-zA-Z0-9._:-]{1,150})?$'],
  [/^is not an ISO 8601 instant/, null],
  [/^names .*, which is not one of /, null],
];

/** YAML has numbers and booleans, the environment has strings: both are accepted. */
function valueSchema(name: SettingName): Schema {
  const complaint = complaintOf(name);
  if (complaint === null) return { type: 'string' };
  const wholeNumber = /^is not a whole number from (\d+) to (\d+)$/.exec(complaint);
  if (wholeNumber !== null) {
    const number = { type: 'integer', minimum: Number(wholeNumber[1]), maximum: Number(wholeNumber[2]) };
    return { anyOf: [number, { type: 'string', pattern: '^[0-9]*$' }] };
  }
  const choices = /^is not one of (.+)$/.exec(complaint)?.[1]?.split(', ');
  if (choices !== undefined) {
    const isBoolean = choices.join() === 'true,false';
    return { enum: isBoolean ? [true, false, ...choices, ''] : [...choices, ''] };
  }
  const pattern = PATTERNS.find(([of]) => of.test(complaint))?.[1];
  if (pattern !== undefined) return pattern === null ? { type: 'string' } : { type: 'string', pattern };
  throw new Error(`${name}: the chart's schema has no rule for "${complaint}"`);
}

function settingSchema(name: SettingName): Schema {
  const { default: fallback, meaning } = SETTINGS[name];
  const defaultText = fallback === null ? 'Required.' : fallback === '' ? 'Default: none.' : `Default: ${fallback}.`;
  return { description: `${meaning} ${defaultText}`, ...valueSchema(name) };
}

const names = Object.keys(SETTINGS) as SettingName[];
const isSecret = (name: SettingName): boolean => SETTINGS[name].secret === true;
const plainNames = names.filter((name) => !isSecret(name) && !SET_BY_THE_CHART.includes(name));

function closed(properties: Record<string, Schema>, more: Schema = {}): Schema {
  return { type: 'object', additionalProperties: false, properties, ...more };
}
const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };
const anyObject: Schema = { type: 'object' };
const texts: Schema = { type: 'object', additionalProperties: { type: 'string' } };
const objects: Schema = { type: 'array', items: { type: 'object' } };
const whole = (minimum: number, maximum: number): Schema => ({ type: 'integer', minimum, maximum });
const reference: Schema = closed(
  { secret: { type: 'string', minLength: 1 }, key: { type: 'string', minLength: 1 } },
  { required: ['secret', 'key'] },
);
const optionalReference: Schema = { anyOf: [{ type: 'object', maxProperties: 0 }, reference] };
const certificates = closed({ ca: optionalReference, certificate: optionalReference, privateKey: optionalReference });
const probe = closed({
  initialDelaySeconds: whole(0, 3600),
  periodSeconds: whole(1, 3600),
  timeoutSeconds: whole(1, 600),
  failureThreshold: whole(1, 1000),
});
/** The templates check the names of alerts. */
const alertChange = closed({
  enabled: flag,
  severity: { type: 'string', minLength: 1 },
  for: { type: 'string', pattern: '^[0-9]+(s|m|h|d)$' },
  threshold: { anyOf: [{ type: 'number' }, { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?$' }] },
  expr: { type: 'string', minLength: 1 },
});
/** Proxy variables pass here, so that the templates can say why they refuse them. */
const extraName =
  '^(OTEL_[A-Z0-9_]+|NODE_OPTIONS|TZ|NODE_USE_ENV_PROXY|([Hh][Tt][Tt][Pp][Ss]?|[Nn][Oo]|[Aa][Ll][Ll])_[Pp][Rr][Oo][Xx][Yy])$';
const settings = closed(Object.fromEntries(plainNames.map((name) => [name, settingSchema(name)])));
const secretSettings = closed(Object.fromEntries(names.filter(isSecret).map((name) => [name, reference])));
/** Roles besides the processor's. */
const OTHER_ROLES = ROLE_NAMES.filter((role) => role !== 'processor');
const NAME_OR_NONE = '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$';
/** More processes than the largest LANES would be useless. */
const REPLICAS_MAX = 1000;

const schema: Schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Values of the payment-processor chart',
  description: 'Generated by dev/generate/chart-schema.ts from the table of settings; edit those.',
  ...closed(
    {
      image: closed({
        repository: { type: 'string', minLength: 1 },
        tag: text,
        digest: { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
        pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
      }),
      imagePullSecrets: objects,
      fullnameOverride: text,
      replicas: whole(0, REPLICAS_MAX),
      settings,
      secretSettings,
      http: closed({ insecure: flag }),
      kafkaCertificates: certificates,
      extraCertificates: {
        anyOf: [
          { type: 'object', maxProperties: 0 },
          closed({ configMap: text, key: text }, { required: ['configMap', 'key'] }),
        ],
      },
      extraEnv: {
        type: 'array',
        items: {
          type: 'object',
          required: ['name'],
          properties: { name: { type: 'string', pattern: extraName } },
        },
      },
      extraVolumes: objects,
      extraVolumeMounts: objects,
      store: closed({
        persistent: flag,
        size: { type: 'string', pattern: '^[0-9]+(Mi|Gi|Ti)$' },
        storageClass: text,
      }),
      resources: {
        type: 'object',
        required: ['limits'],
        properties: {
          limits: {
            type: 'object',
            required: ['memory'],
            properties: { memory: { type: 'string', pattern: '^[0-9]+(Mi|Gi)$' } },
          },
        },
      },
      terminationMarginSeconds: whole(5, 600),
      probes: closed({ startup: probe, liveness: probe, readiness: probe }),
      restartToken: text,
      workloadAnnotations: texts,
      podLabels: texts,
      podAnnotations: texts,
      nodeSelector: texts,
      tolerations: objects,
      affinity: anyObject,
      topologySpreadConstraints: objects,
      priorityClassName: text,
      podSecurity: closed({ runAsUser: whole(1, 2 ** 31 - 1), runAsGroup: whole(1, 2 ** 31 - 1) }),
      serviceAccount: closed({ create: flag, name: text, annotations: texts }),
      podDisruptionBudget: closed({
        enabled: flag,
        maxUnavailable: { anyOf: [whole(1, REPLICAS_MAX), { type: 'string', pattern: '^([1-9][0-9]?|100)%$' }] },
      }),
      autoscaling: closed({
        keda: closed({
          enabled: flag,
          prometheusUrl: { type: 'string', pattern: '^(https?://.+)?$' },
          authenticationRef: text,
          // The metric comes from the processes themselves: without any there is nothing to scale on.
          minReplicas: whole(1, REPLICAS_MAX),
          maxReplicas: whole(0, REPLICAS_MAX),
          waitingPerReplica: whole(1, 1_000_000),
          pollingIntervalSeconds: whole(5, 3600),
          scaleDownAfterSeconds: whole(60, 3600),
        }),
        hpa: closed({
          enabled: flag,
          minReplicas: whole(1, REPLICAS_MAX),
          maxReplicas: whole(0, REPLICAS_MAX),
          targetCpuPercent: whole(10, 100),
        }),
      }),
      networkPolicy: closed({
        enabled: flag,
        ingressFrom: objects,
        kafkaTo: objects,
        registryTo: objects,
        apiTo: objects,
        extraEgress: objects,
      }),
      serviceMonitor: closed({ enabled: flag, interval: { type: 'string', pattern: '^[0-9]+s$' }, labels: texts }),
      prometheusRule: closed({
        enabled: flag,
        labels: texts,
        alertLabels: texts,
        runbookBaseUrl: { type: 'string', pattern: '^(https?://.+)?$' },
        alerts: { type: 'object', additionalProperties: alertChange },
      }),
      dashboard: closed({ enabled: flag, labels: texts }),
      prepare: closed({
        enabled: flag,
        replicationFactor: whole(0, 10),
        resources: closed({ requests: anyObject, limits: anyObject, claims: objects }),
        settings,
        secretSettings,
        kafkaCertificates: certificates,
      }),
      strimzi: closed({
        apiVersion: { enum: ['kafka.strimzi.io/v1beta2', 'kafka.strimzi.io/v1'] },
        cluster: text,
        namespace: text,
        topics: closed({ enabled: flag, replicationFactor: whole(1, 10) }),
        user: closed({
          enabled: flag,
          name: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' },
          authentication: { enum: ['scram-sha-512', 'tls'] },
        }),
        roles: closed(Object.fromEntries(OTHER_ROLES.map((role) => [role, { type: 'string', pattern: NAME_OR_NONE }]))),
      }),
      global: anyObject,
    },
    { required: ['settings', 'secretSettings'] },
  ),
};

writeOrCheck('helm/values.schema.json', 'packages/contract/src/config.ts', `${JSON.stringify(schema, null, 2)}\n`);
