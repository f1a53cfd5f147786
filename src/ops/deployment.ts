/** Identifies this deployment and this process's machine. */
import { hostname } from 'node:os';
import { commandLine } from 'payment-processor-contract/command-line';
import type { Config } from 'payment-processor-contract/config';
import type { Deployment } from './processor-state.ts';

export function deploymentOf(
  config: Pick<Config, 'API_BASE_URL' | 'KAFKA_GROUP_ID' | 'TOPIC_PREFIX'>,
  environment: NodeJS.ProcessEnv,
): Deployment {
  const host = hostname();
  return {
    prefix: config.TOPIC_PREFIX,
    groupId: config.KAFKA_GROUP_ID,
    service: new URL(config.API_BASE_URL).host,
    host,
    cli: commandLine(environment, host),
  };
}
