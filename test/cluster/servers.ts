/**
 * etcd, Kubernetes' API server (RBAC, admission as by default) and its controllers. No scheduler and no kubelet: pods are
 * made and stay pending, and kubelet.ts plays what a node would do.
 */
import { generateKeyPairSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntilReady } from 'payment-processor-local-kafka/readiness';
import { freePort, LOOPBACK } from 'payment-processor-local-kafka/ports';
import { startProcess, type SupervisedProcess } from 'payment-processor-local-kafka/supervised-process';
import { toolPath } from '../../dev/operations/install-tools.ts';
import type { KubernetesProgram } from '../../dev/operations/kubernetes-servers.ts';
import { Api } from './api.ts';

/** How a test reaches the API server, as its administrator. */
export interface ClusterAccess {
  readonly url: string;
  readonly token: string;
  /** Paths. */
  readonly caFile: string;
  readonly kubeconfig: string;
}

const ADMINISTRATOR = 'administrator-of-the-tests';
const END_MS_MAX = 10_000;

export async function startServers(): Promise<{ access: ClusterAccess; stop: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'payments-cluster-'));
  const started: SupervisedProcess[] = [];
  const start = async (title: KubernetesProgram, parameters: readonly string[], ready: () => Promise<boolean>) => {
    const server = await startProcess({
      title,
      program: join(toolPath('kubernetes'), title),
      arguments: parameters,
      logFile: join(folder, `${title}.log`),
      workingDirectory: folder,
    });
    started.unshift(server);
    await waitUntilReady(server, ready);
  };
  const stop = async (): Promise<void> => {
    for (const server of started) await server.end(END_MS_MAX);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [etcdPort, peerPort, apiPort] = [await freePort(), await freePort(), await freePort()];
    const url = `https://${LOOPBACK}:${apiPort}`;
    const paths = {
      tokens: join(folder, 'tokens.csv'),
      serviceAccountKey: join(folder, 'service-account.key'),
      certificates: join(folder, 'certificates'),
      kubeconfig: join(folder, 'kubeconfig.json'),
    };
    // Made by the API server for itself, with the authority behind it.
    const caFile = join(paths.certificates, 'apiserver.crt');
    const access = { url, token: ADMINISTRATOR, caFile, kubeconfig: paths.kubeconfig };
    await mkdir(paths.certificates);
    await writeFile(paths.tokens, `${ADMINISTRATOR},administrator,1,"system:masters"\n`, { mode: 0o600 });
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = privateKey.export({ type: 'pkcs1', format: 'pem' });
    await writeFile(paths.serviceAccountKey, key, { mode: 0o600 });
    await writeFile(paths.kubeconfig, JSON.stringify(kubeconfigOf(access)), { mode: 0o600 });

    const etcdUrl = `http://${LOOPBACK}:${etcdPort}`;
    const peerUrl = `http://${LOOPBACK}:${peerPort}`;
    await start(
      'etcd',
      [
        ...['--data-dir', join(folder, 'etcd'), '--unsafe-no-fsync', '--listen-peer-urls', peerUrl],
        ...['--initial-advertise-peer-urls', peerUrl, '--initial-cluster', `default=${peerUrl}`],
        ...['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl],
      ],
      async () => (await fetch(`${etcdUrl}/health`).catch(() => null))?.ok ?? false,
    );
    await start(
      'kube-apiserver',
      [
        ...['--etcd-servers', etcdUrl, '--bind-address', LOOPBACK, '--secure-port', String(apiPort)],
        ...['--cert-dir', paths.certificates, '--token-auth-file', paths.tokens, '--authorization-mode', 'RBAC'],
        ...['--service-account-issuer', 'https://kubernetes.default.svc', '--service-cluster-ip-range', '10.0.0.0/24'],
        ...['--service-account-signing-key-file', paths.serviceAccountKey],
        ...['--service-account-key-file', paths.serviceAccountKey],
      ],
      async () => existsSync(caFile) && new Api(access).answers('/readyz').catch(() => false),
    );
    const api = new Api(access);
    await start(
      'kube-controller-manager',
      [
        ...['--kubeconfig', paths.kubeconfig, '--service-account-private-key-file', paths.serviceAccountKey],
        ...['--leader-elect=false', '--secure-port', '0', '--concurrent-gc-syncs', '5'],
      ],
      // Its first deed: without this service account no pod is admitted.
      async () => api.answers('/api/v1/namespaces/default/serviceaccounts/default'),
    );
    return { access, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function kubeconfigOf({ url, token, caFile }: Omit<ClusterAccess, 'kubeconfig'>): unknown {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'tests', cluster: { server: url, 'certificate-authority': caFile } }],
    users: [{ name: 'administrator', user: { token } }],
    contexts: [{ name: 'tests', context: { cluster: 'tests', user: 'administrator' } }],
    'current-context': 'tests',
  };
}
