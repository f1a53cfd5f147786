/** Validates rendered objects against Kubernetes' strict JSON schemas: a field that a release does not know is a problem. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js';
import { toolPath } from '../../dev/operations/install-tools.ts';
import type { Manifest } from './chart.ts';

const DEFINITIONS = '_definitions.json';

export class KubernetesSchemas {
  readonly #folder: string;
  // Formats such as int32 are Kubernetes' own.
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false });

  constructor(release: string) {
    this.#folder = join(toolPath('kubernetesSchemas'), release);
    this.#ajv.addSchema(this.#read(DEFINITIONS), DEFINITIONS);
  }

  /** Null: Kubernetes itself does not know this kind. Empty: the object is valid. */
  problemsOf(manifest: Manifest): string[] | null {
    const [group, version] = manifest.apiVersion.includes('/')
      ? manifest.apiVersion.split('/')
      : ['', manifest.apiVersion];
    const parts = [manifest.kind, group?.split('.')[0] ?? '', version ?? ''].filter((part) => part !== '');
    const file = `${parts.join('-').toLowerCase()}.json`;
    if (!existsSync(join(this.#folder, file))) return null;
    if (this.#ajv.getSchema(file) === undefined) this.#ajv.addSchema(this.#read(file), file);
    if (this.#ajv.validate(file, manifest)) return [];
    return (this.#ajv.errors ?? []).map(({ instancePath, message, params }) =>
      [manifest.kind, instancePath, message, JSON.stringify(params)].join(' '),
    );
  }

  #read(file: string): AnySchema {
    return JSON.parse(readFileSync(join(this.#folder, file), 'utf8')) as AnySchema;
  }
}
