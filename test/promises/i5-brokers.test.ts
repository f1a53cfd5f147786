/** Invariant I5: a process that has its lanes open and loses all brokers goes on by itself once they are back, with all lanes. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, inject, test } from 'vitest';
import { keysOfLane, transferInOf } from '../support/commands.ts';
import { connectionsHeldTo } from '../support/held-connections.ts';
import { KafkaGate } from '../support/kafka-gate.ts';
import type { RunningProcessor } from '../support/processor.ts';
import { LANES } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';

const stack = useStack({ name: 'brokers' });

/** Sessions, transactions and requests have all run out by then, and consumers begun anew more than once. */
const OUTAGE_MS = 40_000;
/** Of a process with its lanes open. */
const CONNECTIONS_MAX = 8;
/** For the client's half-open connections, which it may take a minute to give up, and for a previous owner's release. */
const RECOVERY_MS_MAX = 150_000;
const TEST_MS_MAX = 300_000;

const gates: KafkaGate[] = [];
afterEach(async () => {
  await stack().endProcessors();
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
});

/** One of each lane is published, and answered. */
async function answersAllLanes(name: string): Promise<void> {
  const keys = Array.from({ length: LANES }, (_, lane) => keysOfLane(name, lane, 1)).flat();
  for (const key of keys) await stack().publisher.publish('transfer-in', key, transferInOf(key));
  const results = await stack().journal.resultsOfAll(keys, RECOVERY_MS_MAX);
  expect(results.map(({ value }) => value.outcome)).toEqual(keys.map(() => 'ACCEPTED'));
}

/** A processor with a gate of its own before the broker. */
async function startedBehindGate(): Promise<{ gate: KafkaGate; port: number; processor: RunningProcessor }> {
  const gate = await KafkaGate.to(inject('kafkaBrokers')[0] ?? '');
  gates.push(gate);
  const { port } = gate;
  return { gate, port, processor: await stack().startProcessor({ KAFKA_BROKERS: gate.address }) };
}

test(
  'brokers that are away, or stand still, for long: all lanes are served again, by both processes',
  async () => {
    const [away, still] = [await startedBehindGate(), await startedBehindGate()];
    await answersAllLanes('before');
    still.gate.stall();
    await away.gate.vanish();
    await delay(OUTAGE_MS);
    for (const { port, processor } of [away, still]) {
      expect((await processor.readiness()).ready).toBe(false);
      await eventually(
        async () => connectionsHeldTo(port),
        (held) => held <= CONNECTIONS_MAX,
        'few connections',
      );
    }
    await Promise.all([away.gate.open(), still.gate.open()]);
    await answersAllLanes('after');
    for (const { processor } of [away, still]) {
      await eventually(
        () => processor.readiness(),
        ({ ready }) => ready,
        'the process to be ready again',
      );
      expect(processor.assignedLanes().length).toBeGreaterThan(0);
    }
  },
  TEST_MS_MAX,
);
