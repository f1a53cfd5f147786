/** A stack for the tests of one file: opened before the first, closed after the last, its logs shown when one fails. */
import { afterAll, afterEach, beforeAll, inject } from 'vitest';
import { Stack, type StackOptions } from './stack.ts';

type EngineAt = Pick<StackOptions, 'kafkaBrokers' | 'schemaRegistryUrl'>;

const sharedEngine = (): EngineAt => ({
  kafkaBrokers: inject('kafkaBrokers'),
  schemaRegistryUrl: inject('schemaRegistryUrl'),
});

/**
 * @param at the engine to use, once it runs; by default the shared one
 * @returns a function that gives the open stack
 */
export function useStack(options: Omit<StackOptions, keyof EngineAt>, at = sharedEngine): () => Stack {
  let stack: Stack | null = null;
  beforeAll(async () => {
    stack = await Stack.open({ ...options, ...at() });
  });
  afterEach((context) => {
    if (context.task.result?.state === 'fail' && stack !== null) console.error(stack.logs());
  });
  afterAll(async () => {
    await stack?.close();
  });
  return () => {
    if (stack === null) throw new Error('the stack is not open yet');
    return stack;
  };
}
