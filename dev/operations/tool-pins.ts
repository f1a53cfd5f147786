/**
 * The one table of the tools that check chart, alerts and image files, of the game day, and of the tests against
 * Kubernetes' own servers, with their exact versions.
 */

export type ToolName =
  | 'helm'
  | 'kubeconform'
  | 'promtool'
  | 'prometheus'
  | 'kubernetesSchemas'
  | 'billSchemas'
  | 'kubernetes'
  | 'prometheusOperatorResources'
  | 'kedaResources'
  | 'strimziResources';

/** What `npm run test:operations` needs. */
export const OPERATIONS_TOOLS: readonly ToolName[] = [
  'helm',
  'kubeconform',
  'promtool',
  'kubernetesSchemas',
  'billSchemas',
];

/** What `npm run test:cluster` needs. */
export const CLUSTER_TOOLS: readonly ToolName[] = [
  'helm',
  'kubernetes',
  'prometheusOperatorResources',
  'kedaResources',
  'strimziResources',
];

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
  /** Built from its Go modules. */
  | { readonly kind: 'kubernetes'; readonly version: string }
  /** The *.yaml of a folder of a Go module. */
  | { readonly kind: 'goModuleFiles'; readonly module: string; readonly folderInModule: string }
  | { readonly kind: 'strimziResources' }
  /** A folder of an npm package, of which nothing is run. */
  | { readonly kind: 'npmPackageFiles'; readonly npmPackage: string; readonly folderInPackage: string }
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
  billSchemas: {
    kind: 'npmPackageFiles',
    title: "CycloneDX's schemas, of its library 10.3.0",
    folder: 'cyclonedx-schemas-10.3.0',
    path: 'schema',
    npmPackage: '@cyclonedx/cyclonedx-library@10.3.0',
    folderInPackage: 'res/schema',
    expectedSeconds: 5,
  },
  kubernetesSchemas: {
    kind: 'wheel',
    title: 'Kubernetes schemas (kubernetes-validate 1.34.1)',
    folder: 'kubernetes-schemas-1.34.1-two-releases',
    path: 'schemas',
    requirement: 'kubernetes-validate==1.34.1',
    expectedSeconds: 10,
  },
  // etcd has the version that this release asks for, 3.6.8. About 700 MB of modules and 3 GB of build cache for 228 MB.
  kubernetes: {
    kind: 'kubernetes',
    title: 'Kubernetes 1.36.3 (API server and controllers) and etcd',
    folder: 'kubernetes-1.36.3',
    path: '.',
    version: '1.36.3',
    expectedSeconds: 420,
  },
  prometheusOperatorResources: {
    kind: 'goModuleFiles',
    title: 'resources of the Prometheus operator 0.85.0',
    folder: 'prometheus-operator-resources-0.85.0',
    path: 'resources',
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    folderInModule: 'example/prometheus-operator-crd',
    expectedSeconds: 5,
  },
  kedaResources: {
    kind: 'goModuleFiles',
    title: 'resources of KEDA 2.21.0',
    folder: 'keda-resources-2.21.0',
    path: 'resources',
    module: 'github.com/kedacore/keda/v2@v2.21.0',
    folderInModule: 'config/crd/bases',
    expectedSeconds: 5,
  },
  strimziResources: {
    kind: 'strimziResources',
    title: 'resources of Strimzi 0.45.0 (v1beta2) and 1.2.0 (v1)',
    folder: 'strimzi-resources-0.45.0-1.2.0',
    path: 'resources',
    expectedSeconds: 30,
  },
};
