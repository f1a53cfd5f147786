/** What a node would do, as far as the API server sees it: pods run and are ready, the pods of the Job end. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Api, KubernetesObject } from './api.ts';

const POLL_MS = 100;
/** Long ago, so that `minReadySeconds` has passed. */
const READY_SINCE = '2000-01-01T00:00:00Z';

export interface PlayedNode {
  /** Names of the pods of the Job that were seen. */
  readonly jobPods: Set<string>;
  stop(): Promise<void>;
}

/** @param jobs how the pods of the Job end; `never`: they are left pending, as when no node takes them */
export function playNode(api: Api, namespace: string, jobs: 'succeed' | 'fail' | 'never' = 'succeed'): PlayedNode {
  let stopped = false;
  const jobPods = new Set<string>();
  const visit = async (pod: KubernetesObject): Promise<void> => {
    const isOfJob = pod.metadata.labels?.['app.kubernetes.io/component'] === 'prepare';
    if (isOfJob) jobPods.add(pod.metadata.name);
    if (pod.metadata.deletionTimestamp !== undefined || pod.status?.['phase'] !== 'Pending') return;
    if (isOfJob && jobs === 'never') return;
    const ended = jobs === 'fail' ? 'Failed' : 'Succeeded';
    const ready = { type: 'Ready', status: 'True', lastTransitionTime: READY_SINCE };
    const status = isOfJob ? { phase: ended } : { phase: 'Running', conditions: [ready] };
    const path = await api.pathOf('v1', 'Pod', namespace, pod.metadata.name);
    // A pod that is gone by now needs nothing.
    await api.patch(`${path}/status`, { status });
  };
  const playing = (async () => {
    while (!stopped) {
      for (const pod of await api.list('v1', 'Pod', namespace)) await visit(pod);
      await sleep(POLL_MS);
    }
  })();
  return {
    jobPods,
    async stop() {
      stopped = true;
      await playing;
    },
  };
}
