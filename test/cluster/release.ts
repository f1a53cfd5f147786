/** A release of the chart in a namespace of its own, by the real Helm. */
import { inject } from 'vitest';
import { EVERYTHING, LEAST, merged, SMALL, withValuesFile, type Values } from '../operations/chart.ts';
import { runTool, type ToolEnd } from '../operations/tools.ts';
import { Api, until } from './api.ts';

/** How long Helm waits for hooks and pods; less than a tool may take. */
const WAIT_SECONDS = 45;

/** What every namespace has of itself. */
const OF_THE_NAMESPACE = ['ConfigMap kube-root-ca.crt', 'ServiceAccount default'];
/** What controllers make beside an object, and take away with it. */
const BESIDE = /^(Event|Endpoints|EndpointSlice|ControllerRevision|Pod) /;

/** Labels of a namespace that admits pods of the strictest standard alone, and warns of what makes others. */
export const RESTRICTED = {
  'pod-security.kubernetes.io/enforce': 'restricted',
  'pod-security.kubernetes.io/warn': 'restricted',
};

/** The sets of values that the chart is tried with; `strimziNamespace` keeps tests apart. */
export function valueSets(strimziNamespace: string): Record<string, Values> {
  const everything = merged(EVERYTHING, { strimzi: { namespace: strimziNamespace } });
  const certificate = {
    certificate: { secret: 'payment-admin', key: 'tls.crt' },
    privateKey: { secret: 'payment-admin', key: 'tls.key' },
  };
  return {
    least: LEAST,
    everything,
    small: SMALL,
    'topics by the Job': merged(everything, { strimzi: { topics: { enabled: false } } }),
    'an administrator by certificate': merged(LEAST, {
      prepare: { enabled: true, settings: { KAFKA_BROKERS: 'broker-1:9095' }, kafkaCertificates: certificate },
    }),
    'the newer Strimzi, users of every role': merged(everything, {
      strimzi: {
        apiVersion: 'kafka.strimzi.io/v1',
        user: { authentication: 'tls' },
        roles: { operator: 'an-operator', publisher: 'a-publisher', subscriber: 'a-subscriber', 'set-up': 'set-up' },
      },
    }),
    'monitoring without a token': merged(LEAST, {
      serviceMonitor: { enabled: true },
      prometheusRule: { enabled: true, runbookBaseUrl: 'https://runbooks.example' },
      dashboard: { enabled: true },
      networkPolicy: { ingressFrom: [] },
    }),
  };
}

export class Release {
  readonly api = new Api(inject('cluster'));
  readonly name: string;
  readonly namespace: string;

  constructor(namespace: string, name = 'pay') {
    this.namespace = namespace;
    this.name = name;
  }

  /** The namespaces, and the priority class that a set of values names. @param labels of the release's namespace */
  async prepareNamespaces(labels: Record<string, string> = {}, ...others: string[]): Promise<void> {
    await this.api.makeNamespace(this.namespace, labels);
    for (const name of others) await this.api.makeNamespace(name);
    const priority = {
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name: 'high' },
      value: 1,
    };
    await this.api.make(priority);
    await this.api.serviceAccountReady(this.namespace);
  }

  async install(values: Values, ...more: string[]): Promise<ToolEnd> {
    return this.helm(values, 'install', this.name, 'helm', ...more);
  }

  async upgrade(values: Values, ...more: string[]): Promise<ToolEnd> {
    return this.helm(values, 'upgrade', this.name, 'helm', ...more);
  }

  async rollback(revision: number): Promise<ToolEnd> {
    return this.helm(null, 'rollback', this.name, String(revision));
  }

  async uninstall(): Promise<ToolEnd> {
    return this.helm(null, 'uninstall', this.name, '--wait');
  }

  /** Helm's mind, as "revision status". */
  async status(): Promise<string> {
    const { output } = await this.helm(null, 'status', this.name, '--output', 'json');
    const { version, info } = JSON.parse(output) as { version: number; info: { status: string } };
    return `${version} ${info.status}`;
  }

  /** Those of the processor's pods, each once, when all pods are of the newest revision. */
  async imagesOfPods(): Promise<string[]> {
    const images = async (): Promise<string[]> => {
      const pods = (await this.api.list('v1', 'Pod', this.namespace)).filter(
        ({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === 'processor',
      );
      return [...new Set(pods.map(({ spec }) => (spec?.['containers'] as { image: string }[])[0]?.image ?? ''))];
    };
    await until('all pods are of the newest revision', async () => {
      const [workload] = await this.api.list('apps/v1', 'StatefulSet', this.namespace);
      const { currentRevision, updateRevision, observedGeneration } = workload?.status ?? {};
      const isSeen = observedGeneration === workload?.metadata.generation;
      return isSeen && currentRevision === updateRevision && (await images()).length === 1;
    });
    return images();
  }

  async helm(values: Values | null, ...parameters: string[]): Promise<ToolEnd> {
    const isPatient = ['install', 'upgrade', 'rollback', 'uninstall'].includes(parameters[0] ?? '');
    const place = ['--namespace', this.namespace, '--kubeconfig', inject('cluster').kubeconfig];
    const waiting = isPatient ? ['--timeout', `${WAIT_SECONDS}s`] : [];
    if (values === null) return runTool('helm', [...parameters, ...place, ...waiting]);
    return withValuesFile(values, (file) => runTool('helm', [...parameters, ...place, ...waiting, '--values', file]));
  }

  /** What is in a namespace beside what every namespace has, Helm's own records apart. */
  async objects(namespace = this.namespace): Promise<string[]> {
    const found = await this.api.everything(namespace);
    return found.filter(
      (object) =>
        !OF_THE_NAMESPACE.includes(object) && !BESIDE.test(object) && !object.startsWith('Secret sh.helm.release.'),
    );
  }
}
