/** Loads modules of the installed kafkajs by their paths within it, and what most of them are made with. */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export type Constructor<Made> = new (options: object) => Made;

export const loadPatched = (path: string): unknown => require(`kafkajs/${path}`);
export const silence = (): void => undefined;
export const logger = { namespace: () => logger, debug: silence, error: silence, info: silence, warn: silence };
