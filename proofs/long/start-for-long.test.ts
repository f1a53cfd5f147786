/**
 * Invariant I5 at the start: a minute in which Kafka stands still leaves no connections behind, and few lines; at every step a
 * process ends in order, and waits for a Kafka that goes away.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, inject, test } from 'vitest';
import { transferInOf } from '../../test/support/commands.ts';
import { connectionsHeldTo } from '../../test/support/held-connections.ts';
import { KafkaGate } from '../../test/support/kafka-gate.ts';
import type { LogLine } from '../../test/support/processor.ts';
import { saysWhy, useStarts } from '../../test/support/start-steps.ts';
import { useStack } from '../../test/support/test-stack.ts';
import { eventually } from '../../test/support/watch.ts';

const stack = useStack({ name: 'start-for-long', lanes: 6 });
const starts = useStarts(stack);

/** Of a process that has opened its lanes. */
const CONNECTIONS_MAX = 8;
const AWAY_MS = 4_000;
const isOfStep = (line: LogLine): boolean => line['step'] === 'opening the ledger';

test('a minute in which Kafka stands still leaves no connections behind, and few lines', async () => {
  const gate = await KafkaGate.to(inject('kafkaBrokers')[0] ?? '');
  const shut = gate.until('still', ({ clientId }) => clientId.endsWith('-ledger-start'));
  const processor = await stack().spawnProcessor({ KAFKA_BROKERS: gate.address });
  await shut;
  await delay(60_000);
  const { reasons } = await processor.readiness();
  expect(reasons[0]).toMatch(
    /opening the ledger.*\d+ tr(y|ies) failed: Kafka at .*, or one of its brokers, does not answer/,
  );
  await eventually(
    async () => connectionsHeldTo(gate.port),
    (held) => held <= CONNECTIONS_MAX,
    'few connections',
  );
  const told = processor.log().filter(({ event }) => event === 'kafka-not-answering');
  expect(told.length).toBeGreaterThan(0);
  expect(told.length).toBeLessThanOrEqual(4);
  expect(told.find(isOfStep)).toMatchObject({ waitsFor: `Kafka at ${gate.address}` });
  await gate.open();
  await processor.ready();
  await stack().publisher.publish('transfer-in', 'after-a-minute', transferInOf('after-a-minute'));
  expect((await stack().journal.result('after-a-minute')).value.outcome).toBe('ACCEPTED');
  await eventually(
    async () => processor.log().filter(({ event }) => event === 'start-continues'),
    (goesOn) => goesOn.some(isOfStep),
    'the step to go on',
  );
  await stack().endProcessors();
  await gate.close();
});

test('at every step, a process that waits for a stalled Kafka ends in order when asked to', async () => {
  const waiting = await starts.upToEach('still');
  await Promise.all(waiting.map(saysWhy));
  await starts.allEnd(waiting);
});

test('at every step, a Kafka that goes away is waited for, and the processors go on by themselves', async () => {
  const waiting = await starts.upToEach('away');
  await Promise.all(waiting.map(saysWhy));
  await delay(AWAY_MS);
  await starts.allGoOn(waiting, 'away');
});
