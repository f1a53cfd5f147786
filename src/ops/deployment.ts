/** What tells this deployment from others, and this process's machine. */
import { hostname } from 'node:os';
import type { Config } from '../config.ts';
import type { Deployment } from './processor-state.ts';

export function deploymentOf(
  config: Pick<Config, 'API_BASE_URL' | 'KAFKA_GROUP_ID' | 'TOPIC_PREFIX'>,
  environment: NodeJS.ProcessEnv,
): Deployment {
  const host = hostname();
  const isPod = environment['KUBERNETES_SERVICE_HOST'] !== undefined;
  return {
    prefix: config.TOPIC_PREFIX,
    groupId: config.KAFKA_GROUP_ID,
    service: new URL(config.API_BASE_URL).host,
    host,
    cli: isPod ? `kubectl exec ${host} -- node src/cli/main.ts` : 'npm run cli --',
  };
}
