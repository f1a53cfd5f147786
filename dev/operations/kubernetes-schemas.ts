/**
 * The strict JSON schemas of Kubernetes, from the wheel that carries them.
 *
 * There they refer to URLs on the network; here they refer to files beside them.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Releases to check the chart against: one close to the oldest that it supports, and the newest in the wheel. */
export const KUBERNETES_RELEASES = ['1.28.0', '1.34.0'] as const;

interface Schema {
  $id?: string;
}

const IN_THE_WHEEL = join('kubernetes_validate', 'kubernetes-json-schema');
const DEFINITIONS_ON_THE_NETWORK = '"/api/_definitions.json#';
const DEFINITIONS_BESIDE = '"_definitions.json#';

/**
 * @param unpacked folder of the unpacked wheel
 * @param target folder that gets a folder per release
 */
export async function takeKubernetesSchemas(unpacked: string, target: string): Promise<void> {
  for (const release of KUBERNETES_RELEASES) {
    const from = join(unpacked, IN_THE_WHEEL, `v${release}-local-strict`);
    const to = join(target, release);
    await mkdir(to, { recursive: true });
    for (const name of await readdir(from)) {
      const text = await readFile(join(from, name), 'utf8');
      const schema = JSON.parse(text.replaceAll(DEFINITIONS_ON_THE_NETWORK, DEFINITIONS_BESIDE)) as Schema;
      delete schema.$id;
      await writeFile(join(to, name), JSON.stringify(schema));
    }
  }
}
