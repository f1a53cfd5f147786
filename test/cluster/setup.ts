/** One API server for the run; tests keep apart by namespaces of their own. */
import type { TestProject } from 'vitest/node';
import { startServers, type ClusterAccess } from './servers.ts';
import { installDefinitions } from './definitions.ts';

declare module 'vitest' {
  interface ProvidedContext {
    cluster: ClusterAccess;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const servers = await startServers();
  try {
    await installDefinitions(servers.access);
  } catch (error) {
    await servers.stop();
    throw error;
  }
  project.provide('cluster', servers.access);
  return async () => servers.stop();
}
