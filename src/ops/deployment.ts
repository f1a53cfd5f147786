/** What tells this deployment from others, and this process's machine. */
import { hostname } from 'node:os';
import { commandLine } from '../command-line.ts';
import type { Config } from '../config.ts';
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
