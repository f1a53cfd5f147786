/** Upgrades that change the shape of a release, and releases beside each other. */
import { describe, expect, it } from 'vitest';
import { FULL_NAME, LEAST, merged, render, type Values } from '../operations/chart.ts';
import { until, type KubernetesObject } from './api.ts';
import { playNode, type PlayedNode } from './node.ts';
import { Release } from './release.ts';

const HPA: Values = { autoscaling: { hpa: { enabled: true } } };
const KAFKA_TOPICS = 'kafka.strimzi.io/v1beta2';

/** A release with a node beside it. */
async function withRelease(namespace: string, work: (release: Release) => Promise<void>): Promise<void> {
  const release = new Release(namespace);
  await release.prepareNamespaces();
  const node: PlayedNode = playNode(release.api, namespace);
  try {
    await work(release);
  } finally {
    await node.stop();
  }
}

const podsOf = async (release: Release): Promise<Record<string, string | undefined>> =>
  Object.fromEntries(
    (await release.api.list('v1', 'Pod', release.namespace)).map(({ metadata }) => [metadata.name, metadata.uid]),
  );

async function workloadOf(release: Release): Promise<KubernetesObject> {
  const found = await release.api.find('apps/v1', 'StatefulSet', release.namespace, FULL_NAME);
  if (found === null) throw new Error('there is no StatefulSet');
  return found;
}
const replicasOf = async (release: Release): Promise<unknown> => (await workloadOf(release)).spec?.['replicas'];

/** As an autoscaler does it. */
async function scale(release: Release, replicas: number): Promise<void> {
  const path = await release.api.pathOf('apps/v1', 'StatefulSet', release.namespace, FULL_NAME);
  await release.api.patch(`${path}/scale`, { spec: { replicas } });
  await until(`there are ${replicas} pods`, async () => Object.keys(await podsOf(release)).length === replicas);
}

describe('an upgrade', () => {
  it('makes what the values turn on, and deletes what they turn off', () =>
    withRelease('change-toggles', async (release) => {
      const on = merged(LEAST, {
        ...HPA,
        serviceMonitor: { enabled: true },
        prometheusRule: { enabled: true, runbookBaseUrl: 'https://runbooks.example' },
        dashboard: { enabled: true },
      });
      const off = merged(LEAST, {
        networkPolicy: { enabled: false },
        podDisruptionBudget: { enabled: false },
        serviceAccount: { create: false },
      });
      const named = async (values: Values): Promise<string[]> =>
        (await render(values)).map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
      expect(await release.install(off)).toMatchObject({ code: 0 });
      for (const values of [on, off, on]) {
        expect(await release.upgrade(values)).toMatchObject({ code: 0 });
        const objects = (await release.objects()).filter((object) => !object.startsWith('PersistentVolumeClaim '));
        expect(objects).toEqual(await named(values));
      }
    }));

  it('hands the number of processes to an autoscaler without taking one away', () =>
    withRelease('change-autoscaling', async (release) => {
      expect(await release.install(LEAST, '--wait')).toMatchObject({ code: 0 });
      const before = await podsOf(release);
      expect(await release.upgrade(merged(LEAST, HPA))).toMatchObject({ code: 0 });
      expect(await replicasOf(release)).toBe(3);
      expect(await podsOf(release)).toEqual(before);
      await scale(release, 5);
      expect(await release.upgrade(merged(LEAST, { ...HPA, workloadAnnotations: { a: 'b' } }))).toMatchObject({
        code: 0,
      });
      expect(await replicasOf(release)).toBe(5);
      expect(await release.upgrade(merged(LEAST, { replicas: 4 }))).toMatchObject({ code: 0 });
      expect(await replicasOf(release)).toBe(4);
    }));

  it('leaves the number to an autoscaler that had it from the beginning, in a rollback, too', () =>
    withRelease('change-autoscaled', async (release) => {
      const values = merged(LEAST, HPA);
      expect(await release.install(values)).toMatchObject({ code: 0 });
      await scale(release, 4);
      expect(await release.upgrade(merged(values, { workloadAnnotations: { a: 'b' } }))).toMatchObject({ code: 0 });
      expect(await replicasOf(release)).toBe(4);
      expect(await release.rollback(1)).toMatchObject({ code: 0 });
      expect(await replicasOf(release)).toBe(4);
    }));

  it.each<[string, Values, string]>([
    ['size', { store: { size: '20Gi' } }, 'they are 10Gi of storage class "", and would be 20Gi'],
    ['storage class', { store: { storageClass: 'fast' } }, 'would be 10Gi of storage class "fast"'],
    ['presence', { store: { persistent: false } }, 'would be none.'],
  ])("is refused before anything has changed where it changes the volumes' %s", (what, change, reason) =>
    withRelease(`change-volumes-${what.replace(' ', '-')}`, async (release) => {
      expect(await release.install(LEAST)).toMatchObject({ code: 0 });
      const service = await release.api.find('v1', 'Service', release.namespace, FULL_NAME);
      const refused = await release.upgrade(merged(LEAST, { ...change, settings: { HTTP_PORT: 9000 } }));
      expect(refused).toMatchObject({ code: 1, text: expect.stringContaining(reason) as string });
      expect(await release.status()).toBe('1 deployed');
      expect(await release.api.find('v1', 'Service', release.namespace, FULL_NAME)).toEqual(service);
      // The same size in other words is none that changes.
      expect(await release.upgrade(merged(LEAST, { store: { size: '10240Mi' } }))).toMatchObject({ code: 0 });
    }),
  );

  it('is refused before anything has changed where it would add partitions to topics', () =>
    withRelease('change-lanes', async (release) => {
      const values = merged(LEAST, { strimzi: { cluster: 'kafka', topics: { enabled: true } } });
      expect(await release.install(values)).toMatchObject({ code: 0 });
      const topics = await release.api.list(KAFKA_TOPICS, 'KafkaTopic', release.namespace);
      const refused = await release.upgrade(merged(values, { settings: { LANES: 48 } }));
      const reason = 'LANES is 48, but the topic payments.commands.create-quote.v1 has 24 partitions';
      expect(refused).toMatchObject({ code: 1, text: expect.stringContaining(reason) as string });
      expect(await release.api.list(KAFKA_TOPICS, 'KafkaTopic', release.namespace)).toEqual(topics);
      expect(await release.upgrade(merged(values, { workloadAnnotations: { a: 'b' } }))).toMatchObject({ code: 0 });
    }));

  it('changes the volumes of pods to come by the way that the README names, and stops none', () =>
    withRelease('change-volumes', async (release) => {
      expect(await release.install(LEAST, '--wait')).toMatchObject({ code: 0 });
      const before = await podsOf(release);
      const path = await release.api.pathOf('apps/v1', 'StatefulSet', release.namespace, FULL_NAME);
      await release.api.ask('DELETE', path, { propagationPolicy: 'Orphan' });
      await until('the StatefulSet is gone', async () => !(await release.api.answers(path)));
      const values = merged(LEAST, { store: { size: '20Gi' }, replicas: 4 });
      expect(await release.upgrade(values, '--wait')).toMatchObject({ code: 0 });
      expect(await podsOf(release)).toMatchObject(before);
      const sizes = async (): Promise<string[]> =>
        (await release.api.list('v1', 'PersistentVolumeClaim', release.namespace)).map(
          ({ spec }) => (spec?.['resources'] as { requests: { storage: string } }).requests.storage,
        );
      expect(await sizes()).toEqual(['10Gi', '10Gi', '10Gi', '20Gi']);
      // A claim in use goes with its pod.
      const { api, namespace } = release;
      await api.ask('DELETE', await api.pathOf('v1', 'PersistentVolumeClaim', namespace, `store-${FULL_NAME}-0`));
      await api.ask('DELETE', await api.pathOf('v1', 'Pod', namespace, `${FULL_NAME}-0`));
      await until('the first pod has a new volume', async () => (await sizes()).join() === '20Gi,10Gi,10Gi,20Gi');
      expect(await release.uninstall()).toMatchObject({ code: 0 });
      await until('nothing is left', async () => (await release.objects()).length === 0);
    }));
});

describe('two releases', () => {
  it('live in one namespace, and the end of one leaves the other as it was', () =>
    withRelease('beside', async (one) => {
      const other = new Release(one.namespace, 'refunds');
      const values = merged(LEAST, { prepare: { enabled: true } });
      expect(await one.install(values, '--wait')).toMatchObject({ code: 0 });
      const before = await one.objects();
      expect(await other.install(merged(values, { settings: { TOPIC_PREFIX: 'refunds' } }), '--wait')).toMatchObject({
        code: 0,
      });
      expect(await other.uninstall()).toMatchObject({ code: 0 });
      await until('one release is left', async () => (await one.objects()).join() === before.join());
      expect(await one.upgrade(values, '--wait')).toMatchObject({ code: 0 });
    }));

  it('cannot share topics: the second is refused, the first installed again takes up those that were kept', () =>
    withRelease('beside-topics', async (one) => {
      const values = merged(LEAST, { strimzi: { cluster: 'main', topics: { enabled: true } } });
      expect(await one.install(values)).toMatchObject({ code: 0 });
      const objects = await one.objects();
      expect(await one.upgrade(LEAST)).toMatchObject({ code: 0 });
      expect(await one.objects()).toEqual(objects);
      expect(await one.upgrade(values)).toMatchObject({ code: 0 });
      expect(await one.uninstall()).toMatchObject({ code: 0 });
      await until('topics alone are left', async () =>
        (await one.objects()).every((object) => object.startsWith('KafkaTopic ')),
      );
      const other = new Release(one.namespace, 'refunds');
      const refused = await other.install(values);
      expect(refused).toMatchObject({
        code: 1,
        text: expect.stringContaining('cannot be imported into the current release') as string,
      });
      expect((await one.objects()).filter((object) => !object.startsWith('KafkaTopic '))).toEqual([]);
      expect(await one.install(values)).toMatchObject({ code: 0 });
    }));
});

it("has names and labels that Kubernetes takes with Helm's longest release name", async () => {
  const release = new Release('long-names', 'a'.repeat(53));
  await release.prepareNamespaces();
  const node = playNode(release.api, release.namespace);
  try {
    const values = merged(LEAST, { prepare: { enabled: true }, dashboard: { enabled: true }, ...HPA });
    expect(await release.install(values, '--wait')).toMatchObject({ code: 0 });
    expect(node.jobPods.size).toBe(1);
    expect(Object.keys(await podsOf(release))).toEqual([`${'a'.repeat(52)}-0`]);
  } finally {
    await node.stop();
  }
});

it.each(['1pay', 'pay.eu'])('is refused before the Job where the release is called %s', async (name) => {
  const release = new Release(`names-${name.replace('.', '-')}`, name);
  await release.prepareNamespaces();
  const refused = await release.install(merged(LEAST, { prepare: { enabled: true } }));
  expect(refused).toMatchObject({
    code: 1,
    text: expect.stringContaining('cannot be the name of a Service') as string,
  });
  expect(await release.objects()).toEqual([]);
  const named = merged(LEAST, { fullnameOverride: 'pay' });
  expect(await release.install(named)).toMatchObject({ code: 0 });
});
