/** A virtual stack whose Kafka becomes slow: each request of a commit takes longer. */
import type { Trouble } from '../../proofs/simulation/simulated-network.ts';
import { VirtualStack } from '../../proofs/simulation/virtual-stack.ts';

const WRITES = ['add', 'produce', 'commit'];

export interface SlowKafkaOptions {
  readonly lanes: number;
  readonly settings: Readonly<Record<string, string>>;
  /** By how much, each way. */
  readonly slowMs: number;
}

/** @param body gets a function that makes Kafka slow from then on */
export async function withSlowKafka(
  { lanes, settings, slowMs }: SlowKafkaOptions,
  body: (stack: VirtualStack, slowDown: () => void) => Promise<void>,
): Promise<void> {
  let isSlow = false;
  const troubleAt = (_owner: unknown, point: string): Trouble =>
    isSlow && WRITES.includes(point) ? { kind: 'slow', thereMs: slowMs, backMs: slowMs } : { kind: 'none' };
  const disturber = { troubleAt, kill: () => undefined, freeze: () => undefined };
  await VirtualStack.run(
    { name: 'slow-kafka', lanes, settings },
    async (stack) => body(stack, () => (isSlow = true)),
    disturber,
  );
}
