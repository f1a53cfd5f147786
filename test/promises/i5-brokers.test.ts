/** Invariant I5: a process that has its lanes open and loses all brokers goes on by itself once they are back, with all lanes. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, inject, test } from 'vitest';
import { laneOf } from '../../src/records/keys.ts';
import { transferInOf } from '../support/commands.ts';
import { connectionsHeldTo } from '../support/held-connections.ts';
import { KafkaGate } from '../support/kafka-gate.ts';
import { LANES } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';

const stack = useStack({ name: 'brokers' });

/** Sessions, transactions and requests have all run out by then, and consumers begun anew more than once. */
const OUTAGE_MS = 40_000;
/** Of a process with its lanes open. */
const CONNECTIONS_MAX = 8;

let gate: KafkaGate | null = null;
afterEach(async () => {
  await stack().endProcessors();
  await gate?.close();
});

/** One of each lane is published, and answered. */
async function answersAllLanes(name: string): Promise<void> {
  const candidates = Array.from({ length: 20 * LANES }, (_, index) => `${name}-${index}`);
  const keys = Array.from({ length: LANES }, (_, lane) => candidates.find((key) => laneOf(key, LANES) === lane) ?? '');
  for (const key of keys) await stack().publisher.publish('transfer-in', key, transferInOf(key));
  const results = await stack().journal.resultsOfAll(keys);
  expect(results.map(({ value }) => value.outcome)).toEqual(keys.map(() => 'ACCEPTED'));
}

test.each(['away', 'still'] as const)('brokers that are %s for long: all lanes are served again', async (ending) => {
  gate = await KafkaGate.to(inject('kafkaBrokers')[0] ?? '');
  const { port } = gate;
  const processor = await stack().startProcessor({ KAFKA_BROKERS: gate.address });
  await answersAllLanes(`before-${ending}`);
  if (ending === 'still') gate.stall();
  else await gate.vanish();
  await delay(OUTAGE_MS);
  expect((await processor.readiness()).ready).toBe(false);
  await eventually(
    async () => connectionsHeldTo(port),
    (held) => held <= CONNECTIONS_MAX,
    'few connections',
  );
  await gate.open();
  await answersAllLanes(`after-${ending}`);
});
