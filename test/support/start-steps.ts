/** Six processors, each held at a different step of its start by a gate to Kafka that shuts there. */
import { afterEach, expect, inject } from 'vitest';
import { keysOfLane, transferInOf } from './commands.ts';
import { KafkaGate, KAFKA_API, type GateRequest } from './kafka-gate.ts';
import type { RunningProcessor } from './processor.ts';
import type { Stack } from './stack.ts';
import { eventually } from './watch.ts';

/** Some clients wait 2 s between retries, and start steps up to 10 s. */
const BACK_MS_MAX = 40_000;
/** The most connections of a process that has opened its lanes. */
const CONNECTIONS_MAX = 10;
const ENDED_MS_MAX = 15_000;

interface Step {
  readonly what: RegExp;
  readonly at: string;
  readonly isFor: (request: GateRequest) => boolean;
}

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
    // If the ledger is empty, the start may already be at the next step.
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

export interface WaitingStart {
  readonly step: Step;
  readonly gate: KafkaGate;
  readonly processor: RunningProcessor;
}

/** @returns the first reason why it is not ready, while liveness is OK */
export async function saysWhy({ processor, step }: WaitingStart): Promise<string> {
  const isWaiting = (reason: string): boolean => reason.startsWith('starting: ') && step.what.test(reason);
  const { reasons } = await eventually(
    () => processor.readiness(),
    ({ ready, reasons }) => !ready && isWaiting(reasons[0] ?? ''),
    `readiness to say at ${step.at} that it waits: ${step.what.source}`,
  );
  expect((await fetch(`${processor.httpUrl}/health/live`)).status).toBe(200);
  return reasons[0] ?? '';
}

export interface Starts {
  upToEach(ending: 'still' | 'away'): Promise<WaitingStart[]>;
  allGoOn(waiting: readonly WaitingStart[], name: string): Promise<void>;
  allEnd(waiting: readonly WaitingStart[]): Promise<void>;
}

/** @param stack with one lane per step; its processors are ended after each test */
export function useStarts(stack: () => Stack): Starts {
  const gates: KafkaGate[] = [];
  afterEach(async () => {
    await stack().endProcessors();
    await Promise.all(gates.splice(0).map((gate) => gate.close()));
  });

  /** Starts one processor per step, behind its own gate, which shuts at that step. */
  const upToEach = (ending: 'still' | 'away'): Promise<WaitingStart[]> => {
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
  };

  /** Opens all gates; the processors then share the lanes and answer a command in each. */
  const allGoOn = async (waiting: readonly WaitingStart[], name: string): Promise<void> => {
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
    const keys = STEPS.flatMap((_, lane) => keysOfLane(name, lane, 1, STEPS.length));
    for (const key of keys) await stack().publisher.publish('transfer-in', key, transferInOf(key));
    const results = await stack().journal.resultsOfAll(keys);
    expect(results.map(({ value }) => value.outcome)).toEqual(keys.map(() => 'ACCEPTED'));
    for (const { gate, step } of waiting) {
      const isUsual = (clients: readonly string[]): boolean => clients.length <= CONNECTIONS_MAX;
      await eventually(async () => gate.connections(), isUsual, `${step.at}: the usual connections and no others`);
    }
  };

  /** On SIGTERM, all end in order and soon. */
  const allEnd = async (waiting: readonly WaitingStart[]): Promise<void> => {
    const beganMs = performance.now();
    const ends = await Promise.all(waiting.map(({ processor }) => processor.stop()));
    expect(ends).toEqual(waiting.map(() => ({ code: 0, signal: null })));
    expect(performance.now() - beganMs).toBeLessThan(ENDED_MS_MAX);
  };
  return { upToEach, allGoOn, allEnd };
}
