/** Loads modules of the installed kafkajs by their paths within it. */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const loadMended = (path: string): unknown => require(`kafkajs/${path}`);
