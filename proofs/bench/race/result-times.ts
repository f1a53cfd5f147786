/** When results of committed transactions reach a reader, by key. */
import type { Consumer, Kafka } from 'kafkajs';

const STEP_MS = 20;
/** Without a further result. */
const STALLED_MS_MAX = 120_000;

export class ResultTimes {
  readonly #consumer: Consumer;
  readonly #times = new Map<string, number>();
  #count = 0;
  #lastMs = 0;

  private constructor(consumer: Consumer) {
    this.#consumer = consumer;
  }

  static async open(kafka: Kafka, topic: string): Promise<ResultTimes> {
    const consumer = kafka.consumer({ groupId: `${topic}-times`, maxWaitTimeInMs: 20, readUncommitted: false });
    const times = new ResultTimes(consumer);
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      eachBatch: async ({ batch }) => {
        const nowMs = Date.now();
        for (const { key } of batch.messages) times.#came(key?.toString() ?? '', nowMs);
      },
    });
    return times;
  }

  count(): number {
    return this.#count;
  }

  lastMs(): number {
    return this.#lastMs;
  }

  atMs(key: string): number | undefined {
    return this.#times.get(key);
  }

  /** @throws where results stay out */
  async until(count: number): Promise<void> {
    let [seen, sinceMs] = [this.#count, Date.now()];
    while (this.#count < count) {
      if (this.#count > seen) [seen, sinceMs] = [this.#count, Date.now()];
      if (Date.now() - sinceMs > STALLED_MS_MAX) throw new Error(`${this.#count} of ${count} results came`);
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    }
  }

  async close(): Promise<void> {
    await this.#consumer.disconnect();
  }

  #came(key: string, nowMs: number): void {
    this.#count += 1;
    this.#lastMs = nowMs;
    if (!this.#times.has(key)) this.#times.set(key, nowMs);
  }
}
