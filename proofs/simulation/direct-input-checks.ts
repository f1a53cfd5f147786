/** Direct checks of what comes in from Kafka, and of how calls share the slots. */
import avsc from 'avsc';
import { CallScheduler } from '../../src/lanes/call-scheduler.ts';
import { CarefulReading } from '../../src/lanes/careful-reading.ts';
import { EpochTrails } from '../../src/lanes/epoch-trails.ts';
import { ClaimLimits } from '../../src/lanes/claim-limits.ts';
import { readMessage } from '../../src/consumers/command-intake.ts';
import { forcedJumpOf } from '../../src/lanes/forced-jumps.ts';
import { Inputs, type InputHandlers } from '../../src/lanes/inputs.ts';
import type { PositionRecord } from '../../src/ledger/ledger-records.ts';
import type { LaneParts } from '../../src/lanes/parts.ts';
import type { LaneTransaction } from '../../src/lanes/transaction.ts';
import { inputMessage } from '../../src/consumers/input-message.ts';
import { Inbox } from '../../src/consumers/inbox.ts';
import { movedRecord, originalMessage, sizeProblem } from '../../src/consumers/message-origin.ts';
import { readCommandFields } from 'payment-processor-contract/command-fields';
import { JsonMeaningError, parseUnambiguous, stringifyLossless } from 'payment-processor-contract/lossless-json';
import { loadSchema } from 'payment-processor-contract/schemas';
import { topicNames } from 'payment-processor-contract/topics';
import { readerRecord, writerSchema } from 'payment-processor-contract/writer-schema';
import { createQuoteOf, transferInOf } from '../../test/support/commands.ts';
import type { DirectCheck } from './direct-checks.ts';

const SLOTS = 4;
const NOW = { nowMs: 1_000, intervalMs: 0 };
const MANY = 200;
const DEEP = 1_000_000;
/** Many times a command's limit, but small enough that the input keeps it whole. */
const LARGE_BYTES = 500_000;
const silence = (): void => undefined;

/** A batch other than the one that was asked for. */
const otherBatch = {
  topic: 'topic',
  lane: 0,
  messages: [],
  fetchedOffset: 50n,
  lastOffset: 60n,
  leaderEpoch: 0,
  highWatermark: 60n,
};

/** What the patched client delivers for a batch that it cannot read. */
const unreadable = {
  offset: '9',
  timestamp: '0',
  key: null,
  value: null,
  headers: {},
  attributes: 0,
  unreadableBatch: { firstOffset: '5', records: Buffer.from('bytes'), error: new Error('cannot be expanded') },
};

/** A publisher's schema with a field that ours does not have, and a value of it. */
function withUnknownField(): unknown {
  const ours = loadSchema('TransferIn') as { fields: readonly object[] };
  const schema = { ...ours, fields: [...ours.fields, { name: 'ammount', type: 'long' }] };
  const type = avsc.Type.forSchema(schema as avsc.Schema);
  const account = { accountId: 'InternalAccount:1' };
  const bytes = type.toBuffer({ source: account, destination: account, amount: null, ammount: 1_000 });
  return writerSchema([JSON.stringify(schema)], readerRecord('TransferIn', true)).read(bytes);
}

const topics = topicNames('test');
const TRANSFERS = topics.commands['transfer-in'];

/** A lane that has read nine records of one leader, and a topic that has them and more. */
const at9 = {
  ...{ topic: 'topic', lane: 0, boundId: undefined, offsetBefore: 9n, offsetAfter: 9n },
  span: { epoch: 0, end: 9n },
};
const boundsOf9 = { lowOffset: 0n, highOffset: 20n, topicId: null, epochEnd: 9n };

function inputsOf(monotonicMs: () => number): Inputs {
  const parts = {
    lane: 0,
    topics,
    commandTypes: ['transfer-in'],
    member: { seek: silence, resume: silence },
    clock: { monotonicMs },
    ledgerTopicId: () => 'new',
  };
  return new Inputs(parts as unknown as LaneParts, silence);
}

/** Whether a lane starts with this position in the ledger, when the group's committed offset is 5. */
async function begins(known: PositionRecord | undefined): Promise<boolean> {
  const start = { lowOffset: 0n, highOffset: 9n, topicId: null, committedOffset: 5n };
  return inputsOf(() => 0)
    .startPositions(new Map([[TRANSFERS, start]]), known, () => true)
    .then(
      () => true,
      () => false,
    );
}

/** A lane's inputs after one of them passed five records that no reader gets. */
function passedOver(): { next: bigint | undefined; wanted: number } {
  let nowMs = 0;
  let wanted = 0;
  const topic = TRANSFERS;
  const inputs = inputsOf(() => nowMs);
  inputs.open(
    new Map([topic, topics.operatorDecisions, topics.operatorHolds, topics.observations].map((name) => [name, 0n])),
    null,
  );
  inputs.moved(inputs.next(new Map()));
  inputs.passFiltered({ topic, lane: 0, firstOffset: 0n, lastOffset: 4n, leaderEpoch: 0 });
  const transaction = {
    beginPhase: silence,
    mayTake: () => true,
    isEmpty: () => wanted === 0,
    commitAnyway: () => (wanted += 1),
  } as unknown as LaneTransaction;
  for (; nowMs <= 60_000; nowMs += 1_000) inputs.admit({} as InputHandlers, transaction, nowMs);
  return { next: inputs.next(new Map()).get(topic), wanted };
}

export const INPUT_CHECKS: readonly DirectCheck[] = [
  {
    wrong: 'a class of work is idle as long as others have enough to do',
    holds: () => {
      const scheduler = new CallScheduler(SLOTS);
      for (let index = 0; index < MANY; index += 1) scheduler.queue(`execution-${index}`, 'execution', 0);
      while (scheduler.next(NOW) !== null);
      scheduler.queue('transfer', 'transfer', 0);
      for (let index = 0; index < SLOTS; index += 1) {
        scheduler.free('execution');
        const step = scheduler.next(NOW);
        if (step?.kind === 'begin' && step.attemptId === 'transfer') return true;
      }
      return false;
    },
  },
  {
    wrong: 'the slot of an intent that was not committed is lost',
    holds: () => {
      const scheduler = new CallScheduler(1);
      scheduler.ask('execution', 0, 1, NOW.nowMs);
      scheduler.next(NOW);
      if (!scheduler.take('execution', 'execution', 0, NOW.nowMs)) return false;
      scheduler.cancel('execution');
      scheduler.queue('transfer', 'transfer', 0);
      return scheduler.next(NOW)?.kind === 'begin';
    },
  },
  {
    wrong: 'two-step quotes are made, however many wait for their execution',
    holds: () => {
      const api = { closure: () => null, allowance: () => Infinity };
      const limits = new ClaimLimits({ api, slots: SLOTS, isConfirmed: () => true });
      const claim = { operation: 'create-quote' as const, workClass: 'quote-to-execute' as const, lane: 0 };
      return limits.refusal({ ...claim, quotesOpen: MANY }) === 'no-slot';
    },
  },
  {
    wrong: 'those who wait for their turn when careful reading is over wait for ever',
    holds: () => {
      const careful = new CarefulReading(null);
      for (let offset = 0n; !careful.isOver(); offset += 1n) {
        careful.before('one', offset);
        careful.committed(new Map([['one', offset + 1n]]));
      }
      // From here on, nobody reports commits to it.
      careful.before('one', 1_000n);
      return careful.before('two', 0n).kind === 'read';
    },
  },
  {
    wrong: 'a message of any size is moved whole to its lane',
    holds: () => {
      const message = inputMessage({
        ...unreadable,
        unreadableBatch: undefined,
        value: Buffer.alloc(LARGE_BYTES),
      } as never);
      const original = originalMessage({ topic: TRANSFERS, lane: 0 }, 2, message);
      return (movedRecord(1, original, sizeProblem(message) !== null).value?.length ?? 0) < LARGE_BYTES / 2;
    },
  },
  {
    wrong: 'a lane goes on with a ledger that was made again',
    holds: async () => {
      const known = { token: 'token', commit: 1, next: { [TRANSFERS]: 5n }, epochs: {} };
      const isSameRead = await begins({ ...known, topicIds: { [topics.ledger]: 'new' } });
      return isSameRead && !(await begins({ ...known, topicIds: { [topics.ledger]: 'former' } }));
    },
  },
  {
    wrong: 'a lane begins anew where the group has read on, for the ledger has no position',
    holds: async () => !(await begins(undefined)),
  },
  {
    wrong: 'records that are for no reader stay in front of what the ledger says of a lane',
    holds: () => passedOver().next === 5n,
  },
  {
    wrong: 'the ledger is told of records that are for no reader only with the next command',
    holds: () => passedOver().wanted > 0,
  },
  {
    wrong: 'a topic that ends before where its lane stands is read on',
    holds: () => {
      return forcedJumpOf(at9, { ...boundsOf9, highOffset: 5n })?.kind === 'truncated';
    },
  },
  {
    wrong: 'a topic that lost what its lane has read, and has grown beyond it again, is read on',
    holds: () => {
      const [kept, lost, unknown] = [9n, 5n, -1n].map((epochEnd) => forcedJumpOf(at9, { ...boundsOf9, epochEnd }));
      return kept === null && lost?.kind === 'truncated' && unknown?.kind === 'truncated';
    },
  },
  {
    wrong: 'what was read of a leader is forgotten with the first record of the next',
    holds: () => {
      const trails = new EpochTrails();
      trails.read('topic', 0, 5n);
      trails.read('topic', 1, 9n);
      const first = trails.first('topic');
      if (first?.end !== 5n) return false;
      trails.held('topic', first);
      return trails.first('topic')?.end === 9n;
    },
  },
  {
    wrong: 'a lane that gets nothing of what it asks for asks without a pause',
    holds: () => {
      let seeks = 0;
      const inbox = new Inbox({
        topic: 'topic',
        lane: 0,
        read: () => ({ kind: 'read' }),
        seek: () => void (seeks += 1),
        resume: silence,
        onRedelivered: silence,
        wake: silence,
      });
      inbox.open(5n);
      for (let index = 0; index < MANY; index += 1) inbox.offer(otherBatch);
      return seeks < MANY;
    },
  },
  {
    wrong: 'a batch that cannot be read is taken for a message',
    holds: async () => {
      const options = { registry: { decode: () => Promise.reject(new Error('asked')) }, laneCount: 1, maxAgeMs: null };
      const place = { topic: 'topic', lane: 0, commandType: 'transfer-in' as const };
      const read = await readMessage(options as never, place, inputMessage(unreadable), 0);
      return read.kind === 'dead-letter' && read.letter.reason === 'UNREADABLE_BATCH';
    },
  },
  {
    wrong: 'a name that cannot be passed on is left out without a word',
    holds: () => {
      const fields = { ...createQuoteOf('key'), destination: { destinationType: 'UMA_ADDRESS' }, lookupId: 'Lookup:1' };
      const text = stringifyLossless(fields).replace(/}$/, ',"senderCustomerInfo":{"__proto__":"x"}}');
      return !readCommandFields('create-quote', parseUnambiguous(text)).ok;
    },
  },
  {
    wrong: 'a publisher’s field that our schema does not have is dropped without a word',
    holds: () => !readCommandFields('transfer-in', withUnknownField()).ok,
  },
  {
    wrong: 'JSON that is nested beyond any stack ends its parser',
    holds: () => {
      try {
        parseUnambiguous('['.repeat(DEEP) + ']'.repeat(DEEP));
      } catch (error) {
        return error instanceof JsonMeaningError;
      }
      return false;
    },
  },
  {
    wrong: 'a result tells of any number of problems',
    holds: () => {
      const unknown = Array.from({ length: MANY }, (_, index) => [`f${index}`, null]);
      const read = readCommandFields('transfer-in', { ...transferInOf('key'), ...Object.fromEntries(unknown) });
      return !read.ok && read.problems.length < MANY;
    },
  },
  {
    wrong: 'a whole command is refused',
    holds: () => readCommandFields('transfer-in', parseUnambiguous(stringifyLossless(transferInOf('key')))).ok,
  },
];
