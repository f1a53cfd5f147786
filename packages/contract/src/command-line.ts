/** How an operator starts the command line of this process. */
import { hostname } from 'node:os';

/**
 * In a pod it needs a terminal (-it), because `resolve` and `redrive` ask questions, and the name of the person who pastes it:
 * the pod's own user says nothing.
 */
export function commandLine(environment: NodeJS.ProcessEnv, host = hostname()): string {
  const isPod = environment['KUBERNETES_SERVICE_HOST'] !== undefined;
  if (!isPod) return 'npm run cli --';
  return `kubectl exec -it ${host} -- env PAYMENTS_OPERATOR="$USER" node packages/cli/src/main.ts`;
}
