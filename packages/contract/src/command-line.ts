/** How an operator starts the command line of this process. */
import { hostname } from 'node:os';

/** In a pod it needs a terminal (-it), because `resolve` and `redrive` ask questions. */
export function commandLine(environment: NodeJS.ProcessEnv, host = hostname()): string {
  const isPod = environment['KUBERNETES_SERVICE_HOST'] !== undefined;
  return isPod ? `kubectl exec -it ${host} -- node packages/cli/src/main.ts` : 'npm run cli --';
}
