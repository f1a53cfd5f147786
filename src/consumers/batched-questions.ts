/**
 * Collects questions. A question's name is its topic, or begins with its topic and a slash (`topic/partition/epoch`).
 * Those asked before the next microtask go to the brokers as one request.
 *
 *   asked -> sent, in the next microtask -> answered
 *                                        -> failed: all are, if no broker can be reached or they are about one topic
 *                                        -> refused: sent again, one request per topic, because one topic that is
 *                                           gone or forbidden must not hide the others
 */
import { kafkaFailure } from 'payment-processor-contract/kafka/kafka-failure';

/** Brokers answered, but not about this: it does not exist. */
export class MissingAnswerError extends Error {}

export class BatchedQuestions<Answer> {
  readonly #send: (names: readonly string[]) => Promise<ReadonlyMap<string, Answer>>;
  #asked = new Map<string, PromiseWithResolvers<Answer>>();

  /** @param send answers by name, and leaves out what does not exist; or rejects */
  constructor(send: (names: readonly string[]) => Promise<ReadonlyMap<string, Answer>>) {
    this.#send = send;
  }

  /** Asks again each time, except for a question that waits to be sent. */
  ask(name: string): Promise<Answer> {
    const asked = this.#asked.get(name) ?? Promise.withResolvers<Answer>();
    if (this.#asked.size === 0) queueMicrotask(() => void this.#sendAll());
    this.#asked.set(name, asked);
    return asked.promise;
  }

  async #sendAll(): Promise<void> {
    const asked = this.#asked;
    this.#asked = new Map();
    try {
      await this.#settle(asked);
    } catch (error) {
      const byTopic = Map.groupBy(asked, ([name]) => name.split('/')[0]);
      const isRefused = byTopic.size > 1 && kafkaFailure(error).kind !== 'unreachable';
      for (const some of isRefused ? byTopic.values() : [])
        void this.#settle(new Map(some)).catch((cause: unknown) => rejectAll(some, cause));
      if (!isRefused) rejectAll(asked, error);
    }
  }

  async #settle(asked: ReadonlyMap<string, PromiseWithResolvers<Answer>>): Promise<void> {
    const answers = await this.#send([...asked.keys()]);
    for (const [name, { reject, resolve }] of asked) {
      const answer = answers.get(name);
      if (answer === undefined)
        reject(new MissingAnswerError(`${name} does not exist: the brokers' answer does not mention it`));
      else resolve(answer);
    }
  }
}

function rejectAll(asked: Iterable<readonly [string, { reject: (reason: unknown) => void }]>, reason: unknown): void {
  for (const [, { reject }] of asked) reject(reason);
}
