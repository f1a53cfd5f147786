/** Tells the API server of the operators' resources, by the definitions that their projects publish. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { toolPath } from '../../dev/operations/install-tools.ts';
import { Api, until, type Applied } from './api.ts';
import type { ClusterAccess } from './servers.ts';

const FOLDERS = ['prometheusOperatorResources', 'kedaResources', 'strimziResources'] as const;
const WANTED = ['ServiceMonitor', 'PrometheusRule', 'ScaledObject', 'KafkaTopic', 'KafkaUser'];

interface Definition extends Applied {
  readonly spec: { readonly names: { readonly kind: string } };
}

export async function installDefinitions(access: ClusterAccess): Promise<void> {
  const api = new Api(access);
  for (const folder of FOLDERS.map((name) => toolPath(name))) {
    for (const name of await readdir(folder)) {
      const definition = parse(await readFile(join(folder, name), 'utf8')) as Definition;
      const { kind } = definition.spec.names;
      if (!WANTED.includes(kind)) continue;
      await api.make(definition);
      await until(`${kind} is served`, async () => {
        const found = await api.find(
          'apiextensions.k8s.io/v1',
          'CustomResourceDefinition',
          '',
          definition.metadata.name,
        );
        const conditions = (found?.status?.['conditions'] ?? []) as { type: string; status: string }[];
        return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
      });
    }
  }
}
