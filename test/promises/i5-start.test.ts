/**
 * Invariant I5 at the start: a Kafka that stands still, or goes away, at whichever step, is waited for. The process stays, says
 * what it waits for, leaves no connection of a failed try behind, and ends in order when it is told to.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { transferInOf } from '../support/commands.ts';
import { connectionsHeldTo } from '../support/held-connections.ts';
import { KafkaGate, KAFKA_API, type GateRequest } from '../support/kafka-gate.ts';
import type { LogLine, RunningProcessor } from '../support/processor.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';

const stack = useStack({ name: 'start' });

/** Longer than one request may take. */
const STILL_MS = 13_000;
const AWAY_MS = 4_000;
/** Some clients wait two seconds between tries, steps up to ten. */
const BACK_MS_MAX = 40_000;
/** Of a process that has opened its lanes. */
const CONNECTIONS_MAX = 8;
const ENDED_MS_MAX = 15_000;

interface Step {
  readonly what: RegExp;
  readonly at: string;
  readonly isFor: (request: GateRequest) => boolean;
}

const isReader = ({ clientId }: GateRequest): boolean => clientId.endsWith('-ledger');
const STEPS: readonly Step[] = [
  {
    what: /rights and topics are checked/,
    at: 'the first request',
    isFor: ({ clientId }) => clientId.endsWith('-group-start'),
  },
  {
    what: /the ledger is opened/,
    at: 'the first question about its topic',
    isFor: ({ clientId }) => clientId.endsWith('-ledger-start'),
  },
  {
    what: /the ledger is opened/,
    at: 'the bounds of its topic, the store being open',
    isFor: ({ apiKey, clientId }) => clientId.endsWith('-ledger-start') && apiKey === KAFKA_API.listOffsets,
  },
  { what: /the ledger is opened/, at: 'the connection of its reader', isFor: isReader },
  {
    // Nothing may be there to be read.
    what: /the ledger is read|the consumer group is joined/,
    at: 'the first fetch',
    isFor: (request) => isReader(request) && request.apiKey === KAFKA_API.fetch,
  },
  {
    what: /the consumer group is joined/,
    at: 'the join itself',
    isFor: (request) => !isReader(request) && request.apiKey === KAFKA_API.joinGroup,
  },
];

let gate: KafkaGate;
beforeEach(async () => {
  gate = await KafkaGate.to(inject('kafkaBrokers')[0] ?? '');
});
afterEach(async () => {
  await stack().endProcessors();
  await gate.close();
});

/** A processor behind the gate, which is shut at the step. */
async function startedUpTo({ isFor }: Step, ending: 'still' | 'away'): Promise<RunningProcessor> {
  const shut = gate.until(ending, isFor);
  const processor = await stack().spawnProcessor({ KAFKA_BROKERS: gate.address });
  await shut;
  return processor;
}

/** What it says first of all that keeps it from being ready; it lives. */
async function saysWhy(processor: RunningProcessor, { what }: Step): Promise<string> {
  const isWaiting = (reason: string): boolean => reason.startsWith('starting: ') && what.test(reason);
  const { reasons } = await eventually(
    () => processor.readiness(),
    ({ ready, reasons }) => !ready && isWaiting(reasons[0] ?? ''),
    `readiness to say that it waits: ${what.source}`,
  );
  expect((await fetch(`${processor.httpUrl}/health/live`)).status).toBe(200);
  return reasons[0] ?? '';
}

async function takesACommand(processor: RunningProcessor, key: string): Promise<void> {
  await processor.ready(BACK_MS_MAX);
  await stack().publisher.publish('transfer-in', key, transferInOf(key));
  const [result] = await stack().journal.resultsOfAll([key]);
  expect(result?.value.outcome).toBe('ACCEPTED');
  await eventually(
    () => processor.readiness(),
    ({ ready, reasons }) => ready && reasons.length === 0,
    'the processor to be ready',
  );
}

async function leavesNothingBehind(): Promise<void> {
  const isUsual = (clients: readonly string[]): boolean => clients.length <= CONNECTIONS_MAX;
  await eventually(async () => gate.connections(), isUsual, 'the usual connections and no others');
}

describe.each(STEPS)('at $at', (step) => {
  test('a Kafka that stands still is waited for, and the processor goes on by itself', async () => {
    const processor = await startedUpTo(step, 'still');
    await delay(STILL_MS);
    expect(await saysWhy(processor, step)).toContain(`Kafka at ${gate.address} has been waited for`);
    expect(gate.connections()).not.toEqual([]);
    await gate.open();
    await takesACommand(processor, `still-${STEPS.indexOf(step)}`);
    await leavesNothingBehind();
  });

  test('a Kafka that goes away is waited for, and the processor goes on by itself', async () => {
    const processor = await startedUpTo(step, 'away');
    await saysWhy(processor, step);
    await delay(AWAY_MS);
    await gate.open();
    await takesACommand(processor, `away-${STEPS.indexOf(step)}`);
    await leavesNothingBehind();
  });

  test('a process that waits for it ends in order, and soon, when it is told to', async () => {
    const processor = await startedUpTo(step, 'still');
    await saysWhy(processor, step);
    const beganMs = performance.now();
    expect(await processor.stop()).toEqual({ code: 0, signal: null });
    expect(performance.now() - beganMs).toBeLessThan(ENDED_MS_MAX);
  });
});

test('a minute in which Kafka stands still leaves no connections behind, and few lines', async () => {
  const step = STEPS[1]!;
  const processor = await startedUpTo(step, 'still');
  await delay(60_000);
  expect(await saysWhy(processor, step)).toMatch(/\d+ tr(y|ies) failed: no broker of KAFKA_BROKERS=.* answers/);
  await eventually(
    async () => connectionsHeldTo(gate.port),
    (held) => held <= CONNECTIONS_MAX,
    'few connections',
  );
  const told = processor.log().filter(({ event }) => event === 'kafka-not-answering');
  const isOfStep = (line: LogLine): boolean => line['step'] === 'the ledger is opened';
  expect(told.length).toBeGreaterThan(0);
  expect(told.length).toBeLessThanOrEqual(4);
  expect(told.find(isOfStep)).toMatchObject({ whom: `Kafka at ${gate.address}` });
  await gate.open();
  await takesACommand(processor, 'after-a-minute');
  await eventually(
    async () => processor.log().filter(({ event }) => event === 'start-goes-on'),
    (goesOn) => goesOn.some(isOfStep),
    'the step to go on',
  );
});
