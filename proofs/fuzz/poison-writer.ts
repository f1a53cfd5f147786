/** Puts poison of the kit into a stack's topics, byte for byte. */
import { createRegistry } from 'payment-processor-client/internal/settings';
import { aimed, type Aim, type Poison, type PoisonKind } from '../../test/support/poison/kinds.ts';
import { RawProducer, type Produced } from '../../test/support/raw-produce.ts';
import type { Stack } from '../../test/support/stack.ts';
import { LANES } from '../../test/support/stack-options.ts';

export class PoisonWriter {
  readonly #stack: Stack;
  readonly #producer: RawProducer;
  readonly #registry: ReturnType<typeof createRegistry>;

  constructor(stack: Stack) {
    this.#stack = stack;
    this.#producer = new RawProducer(stack.kafka);
    this.#registry = createRegistry(stack.settings);
  }

  aim(kind: PoisonKind, key: string): Aim {
    return aimed(kind, this.#stack.topics, LANES, key);
  }

  /** @throws when no broker answers in time, or the registry does not */
  async write(kind: PoisonKind, aim: Aim): Promise<{ poison: Poison; produced: Produced }> {
    const encode = async (record: object): Promise<Buffer> => {
      await this.#registry.ready(aim.topic);
      return this.#registry.encode(aim.topic, record);
    };
    const poison = await kind.make({ ...aim, nowMs: Date.now(), encode });
    return { poison, produced: await this.put(aim, poison.batch) };
  }

  put({ partition, topic }: Pick<Aim, 'partition' | 'topic'>, batch: Buffer): Promise<Produced> {
    return this.#producer.produce(topic, partition, batch);
  }
}
