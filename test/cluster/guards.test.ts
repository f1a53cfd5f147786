/** What a well-kept namespace asks of its pods: security standards, quotas, and service accounts without rights. */
import { describe, expect, it } from 'vitest';
import { FULL_NAME, LEAST, merged, type Values } from '../operations/chart.ts';
import { until, type Applied } from './api.ts';
import { playNode } from './node.ts';
import { Release, RESTRICTED } from './release.ts';

const PREPARED = merged(LEAST, { prepare: { enabled: true } });
const podOf = (change: Values): Applied & { spec: Values } => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'any' },
  spec: merged({ containers: [{ name: 'any', image: 'any' }] }, change),
});
const quotaOf = (hard: Record<string, string>): Applied & { spec: Values } => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name: 'quota' },
  spec: { hard },
});
const CPU_DEFAULTS: Applied & { spec: Values } = {
  apiVersion: 'v1',
  kind: 'LimitRange',
  metadata: { name: 'defaults' },
  spec: { limits: [{ type: 'Container', default: { cpu: '1' }, defaultRequest: { cpu: '100m' } }] },
};
const USUAL_QUOTAS = { 'requests.cpu': '20', 'limits.memory': '20Gi', 'requests.memory': '20Gi' };
const QUOTAS = { ...USUAL_QUOTAS, 'limits.cpu': '20' };

async function isAdmitted(namespace: string, values: Values, ...kept: Applied[]): Promise<void> {
  const release = new Release(namespace);
  await release.prepareNamespaces();
  for (const object of kept) await release.api.make(object, namespace);
  const node = playNode(release.api, namespace);
  try {
    expect(await release.install(values, '--wait')).toMatchObject({ code: 0 });
    expect(node.jobPods.size).toBe(1);
  } finally {
    await node.stop();
  }
}

describe('a namespace of the standard "restricted"', () => {
  it('refuses pods of another kind, so that those of the chart mean something in it', async () => {
    const { api } = new Release('guards-restricted');
    await api.makeNamespace('guards-restricted', RESTRICTED);
    await api.serviceAccountReady('guards-restricted');
    const refused = await api.apply(podOf({}), 'guards-restricted', true);
    expect(refused.status).toBe(403);
    expect(JSON.stringify(refused.body)).toContain('violates PodSecurity');
  });
});

describe('a namespace with quotas', () => {
  const withLimits = merged(PREPARED, {
    resources: { limits: { cpu: '1' } },
    prepare: { resources: { limits: { cpu: '1' } } },
  });

  it('on memory and requests admits the pods as they are', () =>
    isAdmitted('guards-quota', PREPARED, quotaOf(USUAL_QUOTAS)));

  it('on the CPU limit admits the pods with such limits, or with those of a LimitRange', async () => {
    await isAdmitted('guards-quota-cpu', withLimits, quotaOf(QUOTAS));
    await isAdmitted('guards-quota-default', PREPARED, quotaOf(QUOTAS), CPU_DEFAULTS);
  });

  it('on the CPU limit refuses pods without one, and says so in the events', async () => {
    const release = new Release('guards-quota-refuses');
    await release.prepareNamespaces();
    await release.api.make(quotaOf(QUOTAS), release.namespace);
    expect(await release.install(LEAST)).toMatchObject({ code: 0 });
    await until('the refusal is told', async () => {
      const events = await release.api.list('v1', 'Event', release.namespace);
      return events.some(({ message }) => String(message).includes('must specify limits.cpu'));
    });
  });
});

describe('the service account of the pods', () => {
  it('may do nothing, and its token is not mounted', async () => {
    const release = new Release('guards-account');
    await release.prepareNamespaces();
    const { api, namespace } = release;
    const node = playNode(api, namespace);
    try {
      expect(await release.install(PREPARED, '--wait')).toMatchObject({ code: 0 });
    } finally {
      await node.stop();
    }
    const account = await api.pathOf('v1', 'ServiceAccount', namespace, FULL_NAME);
    const { body } = await api.ask('POST', `${account}/token`, { spec: {} });
    const { token } = (body as { status: { token: string } }).status;
    const asAccount = async (path: string) => (await api.ask('GET', path, undefined, undefined, token)).status;
    expect(await asAccount('/version')).toBe(200);
    for (const kind of ['Secret', 'ConfigMap', 'Pod', 'Service']) {
      expect([kind, await asAccount(await api.pathOf('v1', kind, namespace))]).toEqual([kind, 403]);
    }
    const tokenVolume = '"kube-api-access-';
    expect(JSON.stringify((await api.apply(podOf({}), namespace, true)).body)).toContain(tokenVolume);
    const pods = await api.list('v1', 'Pod', namespace);
    expect(pods).toHaveLength(3);
    expect(JSON.stringify(pods)).not.toContain(tokenVolume);
    expect(new Set(pods.map(({ spec }) => spec?.['serviceAccountName']))).toEqual(new Set([FULL_NAME]));
  });
});
