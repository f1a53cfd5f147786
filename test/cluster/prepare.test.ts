/** The Job before installation and upgrade: what Helm says and what stays when it fails. */
import { describe, expect, it } from 'vitest';
import { FULL_NAME, LEAST, merged } from '../operations/chart.ts';
import { until } from './api.ts';
import { playNode } from './node.ts';
import { Release } from './release.ts';

const JOB = `Job ${FULL_NAME}-prepare`;
/** Of the Job alone. Helm up to 3.17 leaves it beside a Job that failed. */
const POLICY = `NetworkPolicy ${FULL_NAME}-prepare`;
const values = merged(LEAST, { prepare: { enabled: true } });

/** Changes the Job as soon as it is there. */
async function changeJob(release: Release, spec: Record<string, unknown>): Promise<void> {
  const path = await release.api.pathOf('batch/v1', 'Job', release.namespace, `${FULL_NAME}-prepare`);
  await until('the Job is there', () => release.api.answers(path));
  expect(await release.api.patch(path, { spec })).toMatchObject({ status: 200 });
}

async function besidePolicy(release: Release): Promise<string[]> {
  return (await release.objects()).filter((object) => object !== POLICY);
}

/** Its first failure is the last: Kubernetes would take more than a minute over four of them. */
const WITHOUT_REPETITION = { backoffLimit: 0 };

describe('the Job before the pods', () => {
  it('ends an installation where it fails, stays alone for its log, and goes with the next that succeeds', async () => {
    const release = new Release('prepare-fails');
    await release.prepareNamespaces();
    const failing = playNode(release.api, release.namespace, 'fail');
    try {
      const [end] = await Promise.all([release.install(values), changeJob(release, WITHOUT_REPETITION)]);
      const reason = `job ${FULL_NAME}-prepare failed: BackoffLimitExceeded`;
      expect(end).toMatchObject({ code: 1, text: expect.stringContaining(reason) as string });
      expect(await release.status()).toBe('1 failed');
      expect(await besidePolicy(release)).toEqual([JOB]);
      const pods = (await release.api.list('v1', 'Pod', release.namespace)).map(({ metadata }) => metadata.name);
      expect(pods).toEqual([...failing.jobPods]);
    } finally {
      await failing.stop();
    }
    const node = playNode(release.api, release.namespace);
    try {
      expect(await release.upgrade(values, '--install', '--wait')).toMatchObject({ code: 0 });
      expect(await release.status()).toBe('2 deployed');
      const objects = await release.objects();
      expect(objects).toContain(`StatefulSet ${FULL_NAME}`);
      expect(objects.filter((object) => object.endsWith('-prepare'))).toEqual([]);
    } finally {
      await node.stop();
    }
  });

  it('fails an upgrade and leaves what runs as it was', async () => {
    const release = new Release('prepare-fails-upgrade');
    await release.prepareNamespaces();
    const node = playNode(release.api, release.namespace);
    try {
      expect(await release.install(values, '--wait')).toMatchObject({ code: 0 });
    } finally {
      await node.stop();
    }
    const [objects, images] = [await release.objects(), await release.imagesOfPods()];
    const failing = playNode(release.api, release.namespace, 'fail');
    try {
      const changed = merged(values, { image: { tag: '0.2.0' }, networkPolicy: { enabled: false } });
      const [end] = await Promise.all([release.upgrade(changed), changeJob(release, WITHOUT_REPETITION)]);
      expect(end).toMatchObject({ code: 1, text: expect.stringContaining('failed: BackoffLimitExceeded') as string });
      expect(await release.status()).toBe('2 failed');
      expect((await besidePolicy(release)).filter((object) => object !== JOB)).toEqual(objects);
      expect(await release.imagesOfPods()).toEqual(images);
    } finally {
      await failing.stop();
    }
  });

  it('gives up where no node takes it, and after `helm uninstall` Kubernetes removes it in the end', async () => {
    const release = new Release('prepare-waits');
    await release.prepareNamespaces();
    const node = playNode(release.api, release.namespace, 'never');
    try {
      const [end] = await Promise.all([release.install(values), changeJob(release, { activeDeadlineSeconds: 2 })]);
      expect(end).toMatchObject({ code: 1, text: expect.stringContaining('failed: DeadlineExceeded') as string });
      await until('no pod of it is left', async () => {
        return (await release.api.list('v1', 'Pod', release.namespace)).length === 0;
      });
      expect(await release.uninstall()).toMatchObject({ code: 0 });
      expect(await besidePolicy(release)).toEqual([JOB]);
      const job = await release.api.find('batch/v1', 'Job', release.namespace, `${FULL_NAME}-prepare`);
      expect(job?.spec?.['ttlSecondsAfterFinished']).toBe(24 * 60 * 60);
      // As if the day were over.
      await changeJob(release, { ttlSecondsAfterFinished: 1 });
      await until('nothing is left', async () => (await besidePolicy(release)).length === 0);
    } finally {
      await node.stop();
    }
  });
});
