/** How to call this process's command line. */
import { hostname } from 'node:os';

/** In a pod with a terminal, because `resolve` and `redrive` ask questions. */
export function commandLine(environment: NodeJS.ProcessEnv, host = hostname()): string {
  const isPod = environment['KUBERNETES_SERVICE_HOST'] !== undefined;
  return isPod ? `kubectl exec -it ${host} -- node packages/cli/src/main.ts` : 'npm run cli --';
}
