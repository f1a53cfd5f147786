/** An engine of three brokers, as `npm run local -- --brokers 3` and the chaos runs have it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startEngine, type Engine } from 'payment-processor-local-kafka/start';
import { clientOf, highOffset, makeTopic, publish } from '../../packages/local-kafka/test/topics.ts';

/** Starts of JVMs on a loaded machine. */
const START_MS_MAX = 120_000;

describe('an engine of three brokers', () => {
  let engine: Engine;

  beforeAll(async () => {
    engine = await startEngine({ brokers: 3 });
  }, START_MS_MAX);

  afterAll(async () => engine.stop());

  test(
    'replicates, and takes acknowledged writes while one broker is down',
    async () => {
      const kafka = clientOf(engine);
      await makeTopic(kafka, 'replicated');
      const admin = kafka.admin();
      await admin.connect();
      const { topics } = await admin.fetchTopicMetadata({ topics: ['replicated'] });
      await admin.disconnect();
      expect(topics[0]?.partitions[0]?.replicas).toHaveLength(3);

      await engine.broker(2).stop();
      await publish(kafka, 'replicated', 'two are enough');
      expect(await highOffset(kafka, 'replicated')).toBe('1');

      await engine.broker(2).start();
      await publish(kafka, 'replicated', 'all three');
      expect(await highOffset(kafka, 'replicated')).toBe('2');
    },
    START_MS_MAX,
  );
});
