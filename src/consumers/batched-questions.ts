/**
 * Collects questions, each about one topic or a partition of it. Those asked in the same turn of the event loop go to the brokers
 * as one request.
 *
 *   asked -> sent, once all of this turn have been asked -> answered
 *                                                        -> refused: each is sent alone, because one topic that is gone or
 *                                                           forbidden must not hide the others
 */
import { kafkaFailure } from 'payment-processor-contract/kafka/kafka-failure';

export class BatchedQuestions<Answer> {
  readonly #send: (topics: readonly string[]) => Promise<ReadonlyMap<string, Answer>>;
  #asked = new Map<string, PromiseWithResolvers<Answer>>();

  /** @param send answers for all of the topics, or rejects */
  constructor(send: (topics: readonly string[]) => Promise<ReadonlyMap<string, Answer>>) {
    this.#send = send;
  }

  /** Asks again each time, except for a question that this turn has already asked. */
  ask(topic: string): Promise<Answer> {
    const asked = this.#asked.get(topic) ?? Promise.withResolvers<Answer>();
    if (this.#asked.size === 0) queueMicrotask(() => void this.#sendAll());
    this.#asked.set(topic, asked);
    return asked.promise;
  }

  async #sendAll(): Promise<void> {
    const asked = this.#asked;
    this.#asked = new Map();
    try {
      await this.#settle(asked);
    } catch (error) {
      const isRefused = asked.size > 1 && kafkaFailure(error).kind !== 'unreachable';
      for (const one of asked) {
        if (isRefused) this.#settle(new Map([one])).catch(one[1].reject);
        else one[1].reject(error);
      }
    }
  }

  async #settle(asked: ReadonlyMap<string, PromiseWithResolvers<Answer>>): Promise<void> {
    const answers = await this.#send([...asked.keys()]);
    for (const [topic, { reject, resolve }] of asked) {
      const answer = answers.get(topic);
      if (answer === undefined) reject(new Error(`the topic ${topic} does not exist`));
      else resolve(answer);
    }
  }
}
