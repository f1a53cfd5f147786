/** How the command line of this process is called. */
import { hostname } from 'node:os';

/** In a pod with a terminal, for `resolve` and `redrive` ask. */
export function commandLine(environment: NodeJS.ProcessEnv, host = hostname()): string {
  const isPod = environment['KUBERNETES_SERVICE_HOST'] !== undefined;
  return isPod ? `kubectl exec -it ${host} -- node packages/cli/src/main.ts` : 'npm run cli --';
}
