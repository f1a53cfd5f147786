/** The one table of the tools that check chart, alerts and image files, and of the game day, with their exact versions. */

export type ToolName = 'helm' | 'kubeconform' | 'promtool' | 'prometheus' | 'kubernetesSchemas';

export type ToolPin = {
  /** As people say it. */
  readonly title: string;
  /** Folder in the cache; it carries the version, so that a changed pin is another folder. */
  readonly folder: string;
  /** What is used of it, below its folder. */
  readonly path: string;
  /** Rough duration on two cores with an empty cache, for the progress line, seconds. */
  readonly expectedSeconds: number;
} & (
  | { readonly kind: 'go'; readonly module: string }
  | { readonly kind: 'debian'; readonly debianPackage: string }
  | { readonly kind: 'wheel'; readonly requirement: string }
);

export const TOOL_PINS: Readonly<Record<ToolName, ToolPin>> = {
  helm: {
    kind: 'go',
    title: 'Helm 3.22.0',
    folder: 'helm-3.22.0',
    path: 'helm',
    module: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
    expectedSeconds: 300,
  },
  kubeconform: {
    kind: 'go',
    title: 'kubeconform 0.8.0',
    folder: 'kubeconform-0.8.0',
    path: 'kubeconform',
    module: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0',
    expectedSeconds: 30,
  },
  // The distribution decides the version: rules and their tests are read alike by 2.x and 3.x.
  promtool: {
    kind: 'debian',
    title: 'promtool (of the prometheus package)',
    folder: 'promtool',
    path: 'usr/bin/promtool',
    debianPackage: 'prometheus',
    expectedSeconds: 10,
  },
  // The same package in the same folder: what is installed for one is there for the other.
  prometheus: {
    kind: 'debian',
    title: 'Prometheus (of the prometheus package)',
    folder: 'promtool',
    path: 'usr/bin/prometheus',
    debianPackage: 'prometheus',
    expectedSeconds: 10,
  },
  // A wheel with the strict JSON schemas of several Kubernetes releases; kubeconform by itself fetches each when needed.
  kubernetesSchemas: {
    kind: 'wheel',
    title: 'Kubernetes schemas (kubernetes-validate 1.34.1)',
    folder: 'kubernetes-schemas-1.34.1-two-releases',
    path: 'schemas',
    requirement: 'kubernetes-validate==1.34.1',
    expectedSeconds: 10,
  },
};
