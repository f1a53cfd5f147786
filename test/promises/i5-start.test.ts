/**
 * Invariant I5 at the start: a Kafka that stands still, or goes away, at whichever step, is waited for. The process stays, says
 * what it waits for, leaves no connection of a failed try behind, and ends in order when it is told to. One process for each step,
 * all at once, for they mostly wait. A minute of it is a proof of its own (proofs/long/start-for-long.test.ts).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, inject, test } from 'vitest';
import { laneOf } from 'payment-processor-contract/keys';
import { transferInOf } from '../support/commands.ts';
import { KafkaGate, KAFKA_API, type GateRequest } from '../support/kafka-gate.ts';
import type { RunningProcessor } from '../support/processor.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';

/** Longer than one request may take. */
const STILL_MS = 13_000;
const AWAY_MS = 4_000;
/** Some clients wait two seconds between tries, steps up to ten. */
const BACK_MS_MAX = 40_000;
/** Of a process that has opened its lanes. */
const CONNECTIONS_MAX = 10;
const ENDED_MS_MAX = 15_000;

interface Step {
  readonly what: RegExp;
  readonly at: string;
  readonly isFor: (request: GateRequest) => boolean;
}

const stack = useStack({ name: 'start', lanes: 6 });

const isReader = ({ clientId }: GateRequest): boolean => clientId.endsWith('-ledger');
const STEPS: readonly Step[] = [
  {
    what: /checking rights and topics/,
    at: 'the first request',
    isFor: ({ clientId }) => clientId.endsWith('-group-start'),
  },
  {
    what: /opening the ledger/,
    at: 'the first question about its topic',
    isFor: ({ clientId }) => clientId.endsWith('-ledger-start'),
  },
  {
    what: /opening the ledger/,
    at: 'the bounds of its topic, the store being open',
    isFor: ({ apiKey, clientId }) => clientId.endsWith('-ledger-start') && apiKey === KAFKA_API.listOffsets,
  },
  { what: /opening the ledger/, at: 'the connection of its reader', isFor: isReader },
  {
    // Nothing may be there to be read.
    what: /reading the ledger|joining the consumer group/,
    at: 'the first fetch',
    isFor: (request) => isReader(request) && request.apiKey === KAFKA_API.fetch,
  },
  {
    what: /joining the consumer group/,
    at: 'the join itself',
    isFor: (request) => !isReader(request) && request.apiKey === KAFKA_API.joinGroup,
  },
];

interface Waiting {
  readonly step: Step;
  readonly gate: KafkaGate;
  readonly processor: RunningProcessor;
}

const gates: KafkaGate[] = [];
afterEach(async () => {
  await stack().endProcessors();
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
});

/** A processor for each step, behind a gate of its own that is shut there. */
function startedUpToEach(ending: 'still' | 'away'): Promise<Waiting[]> {
  return Promise.all(
    STEPS.map(async (step) => {
      const gate = await KafkaGate.to(inject('kafkaBrokers')[0] ?? '');
      gates.push(gate);
      const shut = gate.until(ending, step.isFor);
      const processor = await stack().spawnProcessor({ KAFKA_BROKERS: gate.address });
      await shut;
      return { step, gate, processor };
    }),
  );
}

/** What it says first of all that keeps it from being ready; it lives. */
async function saysWhy({ processor, step }: Waiting): Promise<string> {
  const isWaiting = (reason: string): boolean => reason.startsWith('starting: ') && step.what.test(reason);
  const { reasons } = await eventually(
    () => processor.readiness(),
    ({ ready, reasons }) => !ready && isWaiting(reasons[0] ?? ''),
    `readiness to say at ${step.at} that it waits: ${step.what.source}`,
  );
  expect((await fetch(`${processor.httpUrl}/health/live`)).status).toBe(200);
  return reasons[0] ?? '';
}

/** All share the lanes then, and answer a command in each. */
async function allGoOn(waiting: readonly Waiting[], name: string): Promise<void> {
  await Promise.all(waiting.map(({ gate }) => gate.open()));
  for (const { processor, step } of waiting) {
    await processor.ready(BACK_MS_MAX);
    const { ready } = await eventually(
      () => processor.readiness(),
      (told) => told.ready,
      `${step.at}: to be ready`,
    );
    expect(ready).toBe(true);
  }
  const lanes = STEPS.length;
  const candidates = Array.from({ length: 20 * lanes }, (_, index) => `${name}-${index}`);
  const keys = STEPS.map((_, lane) => candidates.find((key) => laneOf(key, lanes) === lane) ?? '');
  for (const key of keys) await stack().publisher.publish('transfer-in', key, transferInOf(key));
  const results = await stack().journal.resultsOfAll(keys);
  expect(results.map(({ value }) => value.outcome)).toEqual(keys.map(() => 'ACCEPTED'));
  for (const { gate, step } of waiting) {
    const isUsual = (clients: readonly string[]): boolean => clients.length <= CONNECTIONS_MAX;
    await eventually(async () => gate.connections(), isUsual, `${step.at}: the usual connections and no others`);
  }
}

test('at every step, a Kafka that stands still is waited for, and the processors go on by themselves', async () => {
  const waiting = await startedUpToEach('still');
  await delay(STILL_MS);
  for (const one of waiting) {
    expect(await saysWhy(one)).toMatch(new RegExp(`waited \\d+ s for Kafka at ${one.gate.address}`));
    expect(one.gate.connections()).not.toEqual([]);
  }
  await allGoOn(waiting, 'still');
});

test('at every step, a Kafka that goes away is waited for, and the processors go on by themselves', async () => {
  const waiting = await startedUpToEach('away');
  await Promise.all(waiting.map(saysWhy));
  await delay(AWAY_MS);
  await allGoOn(waiting, 'away');
});

test('at every step, a process that waits for it ends in order, and soon, when it is told to', async () => {
  const waiting = await startedUpToEach('still');
  await Promise.all(waiting.map(saysWhy));
  const beganMs = performance.now();
  const ends = await Promise.all(waiting.map(({ processor }) => processor.stop()));
  expect(ends).toEqual(waiting.map(() => ({ code: 0, signal: null })));
  expect(performance.now() - beganMs).toBeLessThan(ENDED_MS_MAX);
});
