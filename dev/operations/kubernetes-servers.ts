/**
 * Kubernetes' API server and controllers, and the etcd that they need, built from their Go modules.
 *
 * Outside its own repository the module k8s.io/kubernetes refers to its parts as version v0.0.0. A module of ours replaces
 * them with the versions that were published with it.
 */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Runs a program in the folder of the installation. @returns its standard output */
export type RunStep = (
  program: string,
  parameters: readonly string[],
  environment?: Readonly<Record<string, string>>,
) => Promise<string>;

/** Packages by the programs built from them. */
const PROGRAMS = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
} as const;

export type KubernetesProgram = keyof typeof PROGRAMS;

/**
 * @param version of Kubernetes, without the v
 * @param folder gets the programs, built one after the other so that a slow machine shows progress
 */
export async function buildKubernetes(
  version: string,
  folder: string,
  runStep: RunStep,
  onProgress: (line: string) => void,
): Promise<void> {
  const downloaded = await runStep('go', ['mod', 'download', '-json', `k8s.io/kubernetes@v${version}`]);
  const { GoMod: itsModule } = JSON.parse(downloaded) as { GoMod: string };
  await writeFile(join(folder, 'go.mod'), moduleText(version, await readFile(itsModule, 'utf8')));
  const [major, minor] = version.split('.');
  const named = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor };
  // Without these flags the server does not know its release, and Helm would refuse the chart.
  const release = Object.entries(named).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  for (const [program, source] of Object.entries(PROGRAMS)) {
    onProgress(`  building ${program}`);
    const built = join(folder, 'built');
    await mkdir(built);
    const flags = ['-mod=mod', '-trimpath', '-ldflags', ['-s -w', ...release].join(' ')];
    await runStep('go', ['build', ...flags, '-o', join(built, program), source], { CGO_ENABLED: '0' });
    await rename(join(built, program), join(folder, program));
    await rm(built, { recursive: true });
  }
}

function moduleText(version: string, itsModule: string): string {
  const lineOf = (word: string): string => itsModule.split('\n').find((line) => line.startsWith(`${word} `)) ?? '';
  const parts = [...itsModule.matchAll(/^\t(\S+) v0\.0\.0$/gm)].map(([, name]) => name);
  const partVersion = `v0.${version.split('.').slice(1).join('.')}`;
  return [
    'module payment-processor/kubernetes',
    lineOf('go'),
    lineOf('godebug'),
    `require k8s.io/kubernetes v${version}`,
    ...parts.map((name) => `replace ${name} => ${name} ${partVersion}`),
    '',
  ].join('\n');
}
