/**
 * The whole life of a release, with every set of values, against Kubernetes' own API server and controllers, in
 * namespaces that enforce the strictest of the standards for pods.
 */
import { describe, expect, it } from 'vitest';
import { merged, render, type Manifest } from '../operations/chart.ts';
import { until } from './api.ts';
import { playNode } from './node.ts';
import { Release, RESTRICTED, valueSets } from './release.ts';

const SETS = Object.keys(valueSets(''));
const isHook = ({ metadata }: Manifest): boolean => metadata.annotations?.['helm.sh/hook'] !== undefined;
const isOfStrimzi = ({ kind }: Manifest): boolean => kind.startsWith('Kafka');
const named = (manifests: readonly Manifest[]): string[] =>
  manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();

describe.each(SETS)('the chart with the value set "%s"', (set) => {
  const namespace = `life-${SETS.indexOf(set)}`;
  const kafka = `${namespace}-kafka`;
  const values = valueSets(kafka)[set]!;

  it('has nothing that the API server does not know or warns of', async () => {
    const { api } = new Release(namespace);
    await api.makeNamespace(`${namespace}-strict`, RESTRICTED);
    await api.makeNamespace(kafka);
    for (const manifest of await render(values)) {
      const place = isOfStrimzi(manifest) ? kafka : `${namespace}-strict`;
      const { status, warnings, body } = await api.apply(manifest, place, true);
      expect([manifest.kind, status, warnings, status > 201 ? body : null]).toEqual([manifest.kind, 201, [], null]);
    }
  });

  it('is installed, upgraded, rolled back and removed, and leaves topics alone behind', async () => {
    const release = new Release(namespace);
    await release.prepareNamespaces(RESTRICTED, kafka);
    const node = playNode(release.api, namespace);
    const manifests = (await render(values)).filter((manifest) => !isHook(manifest));
    const objects = named(manifests.filter((manifest) => !isOfStrimzi(manifest)));
    const ofStrimzi = named(manifests.filter(isOfStrimzi));
    const withoutVolumes = async (): Promise<string[]> =>
      (await release.objects()).filter((object) => !object.startsWith('PersistentVolumeClaim '));
    try {
      expect(await release.install(values, '--wait')).toMatchObject({ code: 0 });
      expect(await withoutVolumes()).toEqual(objects);
      expect(await release.objects(kafka)).toEqual(ofStrimzi);
      expect(node.jobPods.size > 0).toBe((values['prepare'] as { enabled?: boolean } | undefined)?.enabled === true);

      const changed = merged(values, { image: { tag: '0.2.0', digest: '' }, restartToken: 'another' });
      expect(await release.upgrade(changed, '--dry-run=server')).toMatchObject({ code: 0 });
      expect(await release.upgrade(changed, '--wait')).toMatchObject({ code: 0 });
      expect(await release.imagesOfPods()).toEqual([expect.stringMatching(/:0\.2\.0$/)]);
      expect(await release.rollback(1)).toMatchObject({ code: 0 });
      expect(await release.imagesOfPods()).toEqual([expect.not.stringMatching(/:0\.2\.0$/)]);
      expect(await withoutVolumes()).toEqual(objects);

      const removed = await release.uninstall();
      expect(removed).toMatchObject({ code: 0 });
      const pods = async (): Promise<unknown[]> => release.api.list('v1', 'Pod', namespace);
      await until('nothing is left', async () => [...(await release.objects()), ...(await pods())].length === 0);
      const topics = ofStrimzi.filter((object) => object.startsWith('KafkaTopic '));
      expect(await release.objects(kafka)).toEqual(topics);
      for (const topic of topics) expect(removed.text).toContain(topic.replace(/^KafkaTopic /, ''));
    } finally {
      await node.stop();
    }
  });
});
