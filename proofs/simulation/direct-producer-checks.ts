/** Direct checks of the transactional producer: it must survive answers that are rare in histories. */
import { encodeBatches } from '../../src/producers/record-batch.ts';
import { TransactionalProducer } from '../../src/producers/transactional-producer.ts';
import { ScriptedKafka, TOPIC, type Happening } from '../../test/producers/scripted-kafka.ts';
import type { DirectCheck } from './direct-checks.ts';

const ID = 'id';
/** The same node leads both. */
const PARTITIONS = [0, 3];
/** Longer than any deadline. */
const LATE_MS = 60_000;
const DUPLICATE: Happening = { kind: 'error', type: 'DUPLICATE_SEQUENCE_NUMBER' };

interface Told {
  /** How many of the two transactions were certainly committed. */
  readonly certain: number;
  /** The requests, in order. */
  readonly asked: readonly string[];
  /** Committed records of the first partition. */
  readonly values: readonly string[];
}

/** @param disturb called before the first and before the second transaction */
async function told(
  disturb: (kafka: ScriptedKafka, producer: TransactionalProducer, transaction: 1 | 2) => void,
): Promise<Told> {
  let certain = 0;
  let values: string[] = [];
  const asked: string[] = [];
  await ScriptedKafka.run(async (kafka) => {
    const options = { transactionalId: ID, compressedTopics: new Set([TOPIC]) };
    const producer = new TransactionalProducer(kafka.client(), options);
    await producer.open();
    for (const transaction of [1, 2] as const) {
      disturb(kafka, producer, transaction);
      const records = PARTITIONS.map((partition) => {
        return { topic: TOPIC, partition, key: null, value: Buffer.from(`${transaction}`), headers: {} };
      });
      const batches = encodeBatches(records);
      const committing = producer.commit(batches, async () => batches);
      certain += await committing.then(
        () => 1,
        () => 0,
      );
      await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    }
    values = kafka.committed(0);
    asked.push(...kafka.asked);
  });
  return { certain, asked, values };
}

/** The outcome of two transactions, when this happens to the first. */
async function toldAfter(point: string, happening: Happening): Promise<Told> {
  return told((kafka, _producer, transaction) => {
    if (transaction === 1) kafka.happens(point, happening);
  });
}

function timesOf({ asked }: Told, point: string): number {
  return asked.filter((other) => other === point).length;
}

export const PRODUCER_CHECKS: readonly DirectCheck[] = [
  {
    wrong: 'the end of a transaction is asked for again though it may stand: what comes late ends the next one',
    holds: async () => timesOf(await toldAfter('commit', { kind: 'answer-lost' }), 'commit') === 1,
  },
  {
    wrong: 'a batch that the broker never had counts as written',
    holds: async () => (await toldAfter('produce', DUPLICATE)).certain === 0,
  },
  {
    wrong: 'a transaction counts as committed though its coordinator answered with an error',
    holds: async () => (await toldAfter('commit', DUPLICATE)).certain === 0,
  },
  {
    wrong: 'a partition that the coordinator did not answer for counts as registered',
    holds: async () => timesOf(await toldAfter('add', { kind: 'first-alone' }), 'add') === 3,
  },
  {
    wrong: 'a batch that no broker answered for counts as written',
    holds: async () => timesOf(await toldAfter('produce', { kind: 'first-alone' }), 'produce') === 3,
  },
  {
    wrong: 'a producer that was fenced comes back',
    holds: async () => {
      const { values } = await told((kafka, _producer, transaction) => {
        if (transaction === 2) kafka.broker.fence(ID);
      });
      return values.join() === '1';
    },
  },
  {
    wrong: 'a producer that was dropped goes on with its transaction',
    holds: async () => {
      const { asked } = await told((kafka, producer, transaction) => {
        if (transaction === 1) kafka.happens('produce', { kind: 'before', work: () => producer.drop() });
      });
      return asked.at(-1) === 'produce';
    },
  },
];
