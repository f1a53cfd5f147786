/** A stack of its own for one test, over the Kafka of the test run. */
import { inject } from 'vitest';
import { Stack } from './stack.ts';
import type { TestStackOptions } from './with-stack.ts';

export async function withRealStack(options: TestStackOptions, body: (stack: Stack) => Promise<void>): Promise<void> {
  const [kafkaBrokers, schemaRegistryUrl] = [inject('kafkaBrokers'), inject('schemaRegistryUrl')];
  const stack = await Stack.open({ ...options, kafkaBrokers, schemaRegistryUrl });
  try {
    await body(stack);
  } catch (error) {
    console.error(stack.logs());
    throw error;
  } finally {
    await stack.close();
  }
}
