/** The API of Kubernetes over HTTPS, without kubectl: paths by kind from the server's own discovery. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterAccess } from './servers.ts';

/** What is handed to the server. */
export interface Applied {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** An object as the server has it. */
export interface KubernetesObject {
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    generation?: number;
    labels?: Record<string, string>;
    deletionTimestamp?: string;
  };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  [name: string]: unknown;
}

export interface Answer {
  readonly status: number;
  /** What the server warns of although it takes the request: deprecated versions, policies that only warn. */
  readonly warnings: readonly string[];
  readonly body: unknown;
}

interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

const REQUEST_MS_MAX = 20_000;
const UNTIL_MS_MAX = 60_000;
const POLL_MS = 100;
const JSON_TYPE = 'application/json';
const APPLY_TYPE = 'application/apply-patch+yaml';

export class Api {
  readonly #access: ClusterAccess;
  readonly #agent: Agent;
  readonly #resources = new Map<string, Promise<Resource[]>>();

  constructor(access: ClusterAccess) {
    this.#access = access;
    this.#agent = new Agent({ ca: readFileSync(access.caFile), keepAlive: true });
  }

  /** One request; a refusal is an answer. @param token instead of the administrator's */
  async ask(method: string, path: string, body?: unknown, type = JSON_TYPE, token?: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const headers = {
        authorization: `Bearer ${token ?? this.#access.token}`,
        accept: JSON_TYPE,
        ...(text === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
      };
      const options = { method, headers, agent: this.#agent, timeout: REQUEST_MS_MAX };
      const sent = request(new URL(path, this.#access.url), options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const received = Buffer.concat(chunks).toString();
          const isJson = (response.headers['content-type'] ?? '').startsWith(JSON_TYPE);
          const warning = response.headers['warning'];
          resolve({
            status: response.statusCode ?? 0,
            warnings: warning === undefined ? [] : [warning].flat(),
            body: isJson ? (JSON.parse(received) as unknown) : received,
          });
        });
      });
      sent.on('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer in ${REQUEST_MS_MAX} ms`)));
      sent.on('error', reject);
      sent.end(text);
    });
  }

  async answers(path: string): Promise<boolean> {
    return (await this.ask('GET', path)).status === 200;
  }

  /** Strict server-side apply: an unknown or doubled field is refused. */
  async apply(object: Applied, namespace: string, dryRun = false): Promise<Answer> {
    const path = await this.pathOf(object.apiVersion, object.kind, namespace, object.metadata.name);
    const query = `fieldManager=tests&force=true&fieldValidation=Strict${dryRun ? '&dryRun=All' : ''}`;
    return this.ask('PATCH', `${path}?${query}`, object, APPLY_TYPE);
  }

  /** As apply. @throws Error with the server's words when it refuses */
  async make(object: Applied, namespace = ''): Promise<void> {
    const answer = await this.apply(object, namespace);
    if (answer.status > 201) throw new Error(`${object.kind} ${object.metadata.name}: ${JSON.stringify(answer.body)}`);
  }

  async makeNamespace(name: string, labels: Record<string, string> = {}): Promise<void> {
    const metadata = { name, labels };
    await this.make({ apiVersion: 'v1', kind: 'Namespace', metadata });
  }

  /** Without it no pod of the namespace is admitted; a controller makes it. */
  async serviceAccountReady(namespace: string): Promise<void> {
    const path = await this.pathOf('v1', 'ServiceAccount', namespace, 'default');
    await until(`${namespace} has a service account`, () => this.answers(path));
  }

  /** Null where there is none. */
  async find(apiVersion: string, kind: string, namespace: string, name: string): Promise<KubernetesObject | null> {
    const { status, body } = await this.ask('GET', await this.pathOf(apiVersion, kind, namespace, name));
    return status === 200 ? (body as KubernetesObject) : null;
  }

  async list(apiVersion: string, kind: string, namespace: string): Promise<KubernetesObject[]> {
    const { status, body } = await this.ask('GET', await this.pathOf(apiVersion, kind, namespace));
    if (status !== 200) throw new Error(`${kind}: ${JSON.stringify(body)}`);
    return (body as { items: KubernetesObject[] }).items;
  }

  async patch(path: string, change: unknown): Promise<Answer> {
    return this.ask('PATCH', path, change, 'application/merge-patch+json');
  }

  async pathOf(apiVersion: string, kind: string, namespace: string, name?: string): Promise<string> {
    const group = groupPath(apiVersion);
    const found = (await this.#resourcesOf(apiVersion)).find((resource) => resource.kind === kind);
    if (found === undefined) throw new Error(`the API server does not know ${kind} of ${apiVersion}`);
    const parts = [group, ...(found.namespaced ? [`namespaces/${namespace}`] : []), found.name];
    return [...parts, ...(name === undefined ? [] : [name])].join('/');
  }

  async #resourcesOf(apiVersion: string): Promise<Resource[]> {
    const known = this.#resources.get(apiVersion);
    if (known !== undefined) return known;
    const pending = this.ask('GET', groupPath(apiVersion)).then(({ body }) =>
      ((body as { resources?: Resource[] }).resources ?? []).filter(({ name }) => !name.includes('/')),
    );
    this.#resources.set(apiVersion, pending);
    return pending;
  }

  /** Every object of a namespace that can be listed, of every kind, as "Kind name", sorted. */
  async everything(namespace: string): Promise<string[]> {
    const { body } = await this.ask('GET', '/apis');
    const groups = (body as { groups: { preferredVersion: { groupVersion: string } }[] }).groups;
    const versions = ['v1', ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion)];
    const found: string[] = [];
    for (const version of versions) {
      for (const { kind, name, namespaced, verbs } of await this.#resourcesOf(version)) {
        if (!namespaced || !verbs.includes('list') || kind.endsWith('Metrics')) continue;
        const answer = await this.ask('GET', `${groupPath(version)}/namespaces/${namespace}/${name}`);
        const { items = [] } = answer.body as { items?: KubernetesObject[] };
        found.push(...items.map((item) => `${kind} ${item.metadata.name}`));
      }
    }
    return [...new Set(found)].sort();
  }
}

/** Asks until the condition holds. @throws Error that names what did not come about */
export async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const startedAtMs = performance.now();
  while (performance.now() - startedAtMs < UNTIL_MS_MAX) {
    if (await condition()) return;
    await sleep(POLL_MS);
  }
  throw new Error(`within ${UNTIL_MS_MAX / 1000} s it was not so: ${what}`);
}

function groupPath(apiVersion: string): string {
  return apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}
