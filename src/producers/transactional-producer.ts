/**
 * A transactional producer.
 *
 *   open    connects
 *   commit  one transaction, all or nothing; one at a time. The first initialises the transactional id
 *   fence   instead of these two: only initialises another producer's transactional id
 *   drop    ends it for good
 *
 * During an outage each step is retried until the deadline, except an end whose answer was lost. Any error leaves the
 * transaction's outcome open, so nobody uses the producer after one: lanes read the commits back from the ledger.
 */
import type { Kafka } from 'kafkajs';
import { BrokerAnswerError, type CommitFailure } from './broker-verdicts.ts';
import { createCluster } from './kafka-cluster.ts';
import { ProducerSession, type SessionOptions, type Written } from './producer-session.ts';
import { batchName, type RecordBatch } from './record-batch.ts';
import type { PartitionName } from './transaction-requests.ts';

/** The lane cannot continue with this producer: fenced, or its last transaction's outcome is open. */
export class TransactionFailedError extends Error {
  readonly failure: CommitFailure;

  constructor(message: string, options: ErrorOptions & { failure?: CommitFailure } = {}) {
    super(message, options);
    this.failure = options.failure ?? 'not-committed';
  }
}

/** The broker ends a dead process's transaction after this. Until then readers do not get the results after it. */
export const TRANSACTION_TIMEOUT_MS = 15_000;
/** Longest commit. Well below the transaction timeout, so that we give up on a slow one before the broker does. */
export const COMMIT_DEADLINE_MS = 10_000;
/** Longest connect, and longest initialisation that fences. */
const OPEN_DEADLINE_MS = 15_000;

export class TransactionalProducer {
  readonly #session: ProducerSession;
  #broken = false;

  constructor(kafka: Kafka, options: Omit<SessionOptions, 'transactionTimeoutMs'>) {
    this.#session = new ProducerSession(createCluster(kafka), {
      ...options,
      transactionTimeoutMs: TRANSACTION_TIMEOUT_MS,
    });
  }

  /** @throws TransactionFailedError when Kafka cannot be reached in time, or refuses us */
  async open(): Promise<void> {
    await this.#guarded('open', OPEN_DEADLINE_MS, () => this.#session.connect());
  }

  /**
   * Commits batches in one transaction. The first commit also initialises the transactional id.
   * @param expected partitions that this will almost certainly write, registered early. Each gets a control record, written
   *   or not
   * @param makeBatches called once the coordinator has ended the previous transaction. That takes as long as the rest
   *   of a transaction, so what happens meanwhile can be included. No batch: nothing is written. An error from it means that
   *   the records cannot be written
   * @throws TransactionFailedError whenever it is not certain that all was committed
   */
  async commit(
    expected: readonly PartitionName[],
    makeBatches: () => Promise<readonly RecordBatch[]>,
  ): Promise<Written> {
    return this.#guarded('commit', COMMIT_DEADLINE_MS, async () => {
      const session = this.#session;
      if (!session.isInitialised()) await session.initialise();
      if (expected.length > 0) await session.register(expected);
      const batches = await makeBatches().catch((error: unknown) => {
        throw new TransactionFailedError('the records cannot be written', { cause: error, failure: 'refused' });
      });
      if (batches.length === 0) {
        if (expected.length > 0) await session.end(false);
        return new Map();
      }
      const registered = new Set(expected.map(nameOf));
      const others = batches.filter((batch) => !registered.has(nameOf(batch)));
      if (others.length > 0) await session.register(others);
      const written = await session.write(batches);
      await session.end(true);
      return written;
    });
  }

  /**
   * Ends every producer of the transactional id, this one too: aborts an open transaction, and has later requests refused.
   * @throws TransactionFailedError when that is not certain
   */
  async fence(): Promise<void> {
    try {
      await this.open();
      await this.#guarded('fence', OPEN_DEADLINE_MS, () => this.#session.initialise());
    } finally {
      this.drop();
    }
  }

  /** Closes the connections. The next owner or the broker's timeout ends an open transaction. */
  drop(): void {
    void this.close();
  }

  /** Like drop, but waits until the connections are closed. */
  async close(): Promise<void> {
    this.#broken = true;
    await this.#session.close();
  }

  async #guarded<Value>(what: string, deadlineMs: number, work: () => Promise<Value>): Promise<Value> {
    if (this.#broken) throw new TransactionFailedError(`${what}: the producer was closed`);
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        const { problem } = this.#session;
        const because = problem === null ? '' : ` (${problem.message})`;
        reject(new Error(`timed out after ${deadlineMs} ms${because}`, { cause: problem }));
      }, deadlineMs);
    });
    try {
      return await Promise.race([work(), deadline]);
    } catch (error) {
      this.drop();
      throw new TransactionFailedError(`${what} failed: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
        failure:
          error instanceof TransactionFailedError || error instanceof BrokerAnswerError
            ? error.failure
            : 'not-committed',
      });
    } finally {
      clearTimeout(timer);
    }
  }
}

function nameOf({ partition, topic }: PartitionName): string {
  return batchName(topic, partition);
}
