/** A stack over an engine of the file's own, for tests that take brokers away or change their files. */
import { afterAll, beforeAll } from 'vitest';
import { startEngine, type Engine, type EngineOptions } from 'payment-processor-local-kafka/start';
import type { Stack } from '../../test/support/stack.ts';
import { useStack } from '../../test/support/test-stack.ts';

/** Starts of JVMs on a loaded machine. */
const START_MS_MAX = 120_000;

/** @returns functions that give the running engine and the open stack; the stack is closed first */
export function useOwnEngine(
  brokers: number,
  options: Parameters<typeof useStack>[0],
  engineOptions: () => Promise<EngineOptions> = async () => ({}),
): { engine: () => Engine; stack: () => Stack } {
  let running: Engine | null = null;
  const engine = (): Engine => {
    if (running === null) throw new Error('the engine does not run yet');
    return running;
  };
  beforeAll(async () => {
    running = await startEngine({ ...(await engineOptions()), brokers });
  }, START_MS_MAX);
  afterAll(async () => running?.stop());
  const stack = useStack(options, () => ({
    kafkaBrokers: engine().brokers,
    schemaRegistryUrl: engine().registryUrl,
  }));
  return { engine, stack };
}
