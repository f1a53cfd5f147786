/** How to produce each cause of lag while commands wait: the processors' settings, and what to do to the rest. */
import { setTimeout as delay } from 'node:timers/promises';
import { laneOf } from 'payment-processor-contract/keys';
import type { Engine } from 'payment-processor-local-kafka/start';
import type { NotAdmittedCause } from '../../src/ops/lag.ts';
import type { CommandEncoder } from '../chaos/unseen-schema.ts';
import { createQuoteOf, keysOfLane, transferInOf } from '../../test/support/commands.ts';
import { deleteRecords } from './deleted-records.ts';
import { faultyFor, LANES, type Stack } from '../../test/support/stack.ts';
import type { RunningProcessor } from '../../test/support/processor.ts';

export interface LagScene {
  readonly stack: Stack;
  readonly engine: Engine;
  readonly processors: readonly RunningProcessor[];
  /** Writes commands under a schema that no processor has seen. */
  readonly encodeUnseen: CommandEncoder;
  /** Stalls fetches of this topic in all processors; null: ends that. */
  readonly stall: (topic: string | null) => Promise<void>;
}

export interface LagTrial {
  /** Null: nothing waits. */
  readonly cause: NotAdmittedCause | null;
  readonly name: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** Per type, if more than usual are needed. */
  readonly commands?: number;
  /** Before the commands are published. */
  readonly before?: (scene: LagScene) => Promise<unknown>;
  /** Once they are. */
  readonly after?: (scene: LagScene) => Promise<unknown>;
  /** Once our parts are read and the processors are frozen: Kafka must answer. */
  readonly beforeKafkaIsAsked?: (scene: LagScene) => Promise<unknown>;
  /** Repairs everything, so that every command gets its result. */
  readonly end?: (scene: LagScene) => Promise<unknown>;
  /** The commands are written under an unseen schema. */
  readonly isUnseen?: true;
  /** Commands of one lane never get a result. */
  readonly isLast?: true;
}

/** Duration of a call: long enough that nothing moves while we ask Kafka, short enough to wait for. */
const LONG_MS = 30_000;
const TIMEOUT_MS = 40_000;
/** More calls than a breaker needs to open, in each of two processes, plus time for their answers. */
const OPENING_COMMANDS = 30;
const OPENING_MS = 3_000;
/** Found in the wrong partition and moved by a transaction, whose marker is then the last record of their lane. */
const MOVED_COMMANDS = 12;
/** Longer than partition ends are cached, plus the time that a lane needs to pass the markers. */
const SETTLED_MS = 5_000;
const BUG_KEY = 'lag-bug';
/** How long the bug lasts: enough to observe it. */
const BUG_MS = 18_000;
const STOPPED_LANE = 0;

const slow: LagTrial = {
  cause: 'no-slot',
  name: 'calls that take long, few slots',
  settings: { API_MAX_CONCURRENCY: '1', API_TIMEOUT_MS: String(TIMEOUT_MS) },
  before: ({ stack }) => stack.service.addFaults({ kind: 'delay', delayMs: LONG_MS }),
  end: ({ stack }) => stack.service.clearFaults(),
};

export const LAG_TRIALS: readonly LagTrial[] = [
  {
    cause: 'held',
    name: 'credentials refused',
    before: ({ stack }) => stack.service.addFaults({ kind: 'status', httpStatus: 401 }),
    end: ({ stack }) => stack.service.clearFaults(),
  },
  {
    cause: 'breaker',
    name: 'changes answered 500',
    before: async ({ stack }) => {
      await stack.service.addFaults(
        { kind: 'status', operation: 'transfer-in', httpStatus: 500 },
        { kind: 'status', operation: 'create-quote', httpStatus: 500 },
      );
      for (let index = 0; index < OPENING_COMMANDS; index += 1) {
        const key = `opens-breaker-${index}`;
        await stack.publisher.publish('transfer-in', key, transferInOf(key));
        await stack.publisher.publish('create-quote', `${key}-quote`, createQuoteOf(`${key}-quote`));
      }
      await delay(OPENING_MS);
    },
    // Long enough that no trial moves anything meanwhile.
    settings: { BREAKER_RESET_MS: '20000' },
    end: ({ stack }) => stack.service.clearFaults(),
  },
  slow,
  {
    ...slow,
    cause: 'unconfirmed',
    name: 'the broker stands still past the session timeout',
    after: async ({ engine }) => engine.broker(0).pause(),
    beforeKafkaIsAsked: async ({ engine }) => engine.broker(0).resume(),
  },
  {
    cause: 'rate-limit',
    name: 'one call per second for the group, executions',
    settings: { API_MAX_RPS: '1', API_IDEMPOTENT_OPERATIONS: '' },
    // Admission continues, so enough must be left when we ask Kafka.
    commands: 60,
  },
  {
    cause: 'lane-full',
    name: 'two unfinished commands per lane, told to wait',
    settings: { MAX_UNFINISHED_PER_LANE: '2' },
    before: ({ stack }) => stack.service.addFaults({ kind: 'status', httpStatus: 429, retryAfter: 10 }),
    end: ({ stack }) => stack.service.clearFaults(),
  },
  {
    cause: 'registry',
    name: 'registry down, schema not seen before',
    isUnseen: true,
    before: ({ engine }) => engine.registry.kill(),
    end: ({ engine }) => engine.registry.start(),
  },
  {
    cause: 'failed',
    name: 'a bug of our own, tried again',
    settings: { ...faultyFor(BUG_KEY), FAULTY_FOR_MS: String(BUG_MS) },
    before: ({ stack }) =>
      stack.publishRaw('transfer-in', {
        key: BUG_KEY,
        value: '{"amount":"no amount"}',
        headers: { 'content-type': 'application/json' },
      }),
  },
  {
    cause: 'catching-up',
    name: 'nothing is fetched, by a bug',
    before: ({ stack, stall }) => stall(stack.topics.commands['transfer-in']),
    end: async ({ stack, stall }) => {
      await stall(null);
      // A stalled fetch stays stalled for the life of the process.
      await stack.endProcessors();
      await stack.spawnProcessor();
    },
  },
  {
    cause: null,
    name: 'nothing waits; the last records of lanes are marks of transactions',
    after: async ({ stack }) => {
      const keys = Array.from({ length: MOVED_COMMANDS }, (_, index) => `lag-moved-${index}`);
      const messages = keys.map((key) => ({
        key,
        value: JSON.stringify({ ...transferInOf(key), amount: 100 }),
        headers: { 'content-type': 'application/json' },
        partition: (laneOf(key, LANES) + 1) % LANES,
      }));
      await stack.publishRaw('transfer-in', ...messages);
      await stack.journal.resultsOfAll(keys);
      await delay(SETTLED_MS);
    },
  },
  {
    cause: 'lane-not-open',
    name: 'a lane is stopped: commands deleted before they were admitted',
    isLast: true,
    before: async ({ processors, stack }) => {
      await Promise.all(processors.map((processor) => processor.stop()));
      const topic = stack.topics.commands['transfer-in'];
      for (const key of keysOfLane('deleted', STOPPED_LANE, 3)) {
        await stack.publishRaw('transfer-in', { key, value: 'never read' });
      }
      await deleteRecords(stack.kafka, topic, STOPPED_LANE);
    },
  },
];
