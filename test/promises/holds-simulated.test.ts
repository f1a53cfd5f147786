/** An operator's hold in virtual time: once the ledger has it in every lane, no call that it forbids begins, in any member. */
import { expect } from 'vitest';
import { decodeHolds, type HoldOrder } from '../../src/ledger/holds.ts';
import { HOLD_KEY } from '../../src/ledger/ledger-records.ts';
import {
  createQuoteOf,
  executionOf,
  keysOfLane,
  publishTransfers,
  rejectionOf,
  transferInOf,
} from '../support/commands.ts';
import { LANES } from '../support/stack-options.ts';
import { unfinishedByLane } from '../support/unfinished.ts';
import { eventually } from '../support/watch.ts';
import { stackTests } from '../support/with-stack.ts';

const { stack, test } = stackTests({ name: 'holds' });

const LONG_MS = 5_000;
let orders = 0;

/** Written, and not awaited. */
async function order(change: Partial<HoldOrder> = {}): Promise<string> {
  orders += 1;
  const reason = `order ${orders}`;
  const at = new Date().toISOString();
  await stack().publishHold({ action: 'HOLD', commandTypes: [], operator: 'ada', reason, until: null, at, ...change });
  return reason;
}

/** As many lanes as say so in their ledgers. */
async function heldLanes(reason: string, type = 'transfer-in'): Promise<number> {
  const records = (await stack().readLedger()).filter(({ key }) => key?.toString() === HOLD_KEY);
  const last = new Map(records.map(({ partition, value }) => [partition, decodeHolds(value ?? undefined)]));
  return [...last.values()].filter(({ holds }) => holds[type]?.reason === reason).length;
}

/** Until every lane says so. */
async function hold(change: Partial<HoldOrder> = {}): Promise<void> {
  const reason = await order(change);
  const [type] = change.commandTypes ?? [];
  await eventually(
    () => heldLanes(reason, type),
    (lanes) => lanes === LANES,
    'every lane to hold',
  );
}

async function release(): Promise<void> {
  await order({ action: 'RELEASE' });
}

const publish = (name: string, count = 1): Promise<string[]> => publishTransfers(stack(), name, count);

async function expectAccepted(keys: readonly string[]): Promise<void> {
  const results = await stack().journal.resultsOfAll(keys);
  expect(results.map(({ key, value }) => [key, value.outcome])).toEqual(keys.map((key) => [key, 'ACCEPTED']));
}

async function expectNoCalls(before: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, LONG_MS));
  expect(await stack().service.callsMade()).toBe(before);
}

test('a hold of all types keeps commands of each in Kafka; a release lets them go on', async () => {
  const { publisher } = stack();
  const execution = await executionOf(stack(), 'execute');
  const rejection = await rejectionOf(stack(), 'reject');
  await stack().startProcessor();
  await hold();
  const before = await stack().service.callsMade();
  const transfers = await publish('transfer');
  await publisher.publish('create-quote', 'quote', createQuoteOf('quote'));
  await publisher.publish('execute-quote', 'execute', execution);
  await publisher.publish('reject-transaction', 'reject', rejection);
  await expectNoCalls(before);
  expect(stack().journal.results()).toEqual([]);
  await release();
  await expectAccepted([...transfers, 'quote', 'execute', 'reject']);
});

test('calls that were about to begin do not, what is in doubt is not called again, and answers are committed', async () => {
  const { journal, service } = stack();
  await service.addFaults({ kind: 'drop-after', operation: 'transfer-in', key: 'doubtful-0' });
  await stack().startProcessor({ API_MAX_CONCURRENCY: '1' });
  await publish('doubtful');
  await eventually(
    () => stack().service.callsMade(),
    (count) => count > 0,
    'the first call',
  );
  const keys = await publish('busy', 30);
  await hold();
  const before = await stack().service.callsMade();
  await expectNoCalls(before);
  expect(journal.results('doubtful-0')).toEqual([]);
  expect(journal.results().length).toBeLessThan(keys.length);
  await service.clearFaults();
  await release();
  await expectAccepted(['doubtful-0', ...keys]);
});

test('a hold of one type leaves the others alone, and one of executions keeps quotes from being made that lead to one', async () => {
  const { publisher } = stack();
  await stack().startProcessor();
  await hold({ commandTypes: ['execute-quote'] });
  const [immediate = '', plain = ''] = keysOfLane('quote', 0, 2);
  const transfers = await publish('transfer');
  await publisher.publish('create-quote', immediate, { ...createQuoteOf(immediate), immediatelyExecute: true });
  // Behind it, in the same lane.
  await publisher.publish('create-quote', plain, createQuoteOf(plain));
  await expectAccepted([...transfers, plain]);
  await expectNoCalls(await stack().service.callsMade());
  expect(stack().journal.results(immediate)).toEqual([]);
  await release();
  await expectAccepted([immediate]);
});

test('a quote parked by an owner whose clock is ahead does not wait at the next one', async () => {
  const ahead = await stack().startProcessor({ CLOCK_AHEAD_MS: '600000' });
  await hold({ commandTypes: ['execute-quote'] });
  await stack().publisher.publish('create-quote', 'early', { ...createQuoteOf('early'), immediatelyExecute: true });
  await eventually(
    () => unfinishedByLane(stack()),
    (lanes) => lanes.includes(1),
    'the quote to be parked',
  );
  await release();
  await ahead.kill9();
  await stack().startProcessor();
  expect((await stack().journal.result('early', 60_000)).value.outcome).toBe('ACCEPTED');
});

test('a held quote with immediatelyExecute is not parked where it would take the only room', async () => {
  const { publisher } = stack();
  await stack().startProcessor({ MAX_UNFINISHED_PER_LANE: '1' });
  await hold({ commandTypes: ['execute-quote'] });
  const [immediate = '', transfer = ''] = keysOfLane('only', 0, 2);
  await publisher.publish('create-quote', immediate, { ...createQuoteOf(immediate), immediatelyExecute: true });
  await publisher.publish('transfer-in', transfer, transferInOf(transfer));
  await expectAccepted([transfer]);
  await release();
  await expectAccepted([immediate]);
});

test('held quotes with immediatelyExecute leave room for other commands of their lane', async () => {
  const { publisher } = stack();
  await stack().startProcessor({ MAX_UNFINISHED_PER_LANE: '4' });
  await hold({ commandTypes: ['execute-quote'] });
  const immediate = keysOfLane('immediate', 0, 4);
  for (const key of immediate)
    await publisher.publish('create-quote', key, { ...createQuoteOf(key), immediatelyExecute: true });
  await eventually(
    () => unfinishedByLane(stack()),
    ([first]) => first === 2,
    'half of the room to be used',
  );
  const [transfer = ''] = keysOfLane('transfer', 0, 1);
  await publisher.publish('transfer-in', transfer, transferInOf(transfer));
  await expectAccepted([transfer]);
  await release();
  await expectAccepted(immediate);
});

test('a hold ends by itself at its instant', async () => {
  await stack().startProcessor();
  await hold({ until: new Date(Date.now() + 2 * LONG_MS).toISOString() });
  const before = await stack().service.callsMade();
  const keys = await publish('later');
  await expectNoCalls(before);
  await expectAccepted(keys);
});

test('commands that wait under a hold grow too old as any do', async () => {
  await stack().startProcessor({ COMMAND_MAX_AGE: 'transfer-in=3s' });
  await hold();
  await publish('old');
  const result = await stack().journal.result('old-0');
  expect(result.value).toMatchObject({ outcome: 'EXPIRED', attempts: 0 });
});

test('what is no order becomes a dead letter and holds nothing; the next order counts', async () => {
  await stack().startProcessor();
  await stack().publishHold({ action: 'HOLD', commandTypes: 'all' } as unknown as HoldOrder);
  await expectAccepted(await publish('free'));
  const isIt = ({ headers }: { headers: Record<string, string> }): boolean =>
    headers['dlq-topic'] === stack().topics.operatorHolds && headers['dlq-reason'] === 'UNREADABLE';
  await stack().journal.until(() => stack().journal.deadLetters().filter(isIt).length === LANES, 'the dead letters');
  await hold();
  const before = await stack().service.callsMade();
  await publish('held');
  await expectNoCalls(before);
});

test('it outlives restarts of every member', async () => {
  await stack().startProcessor();
  await hold();
  const before = await stack().service.callsMade();
  await stack().endProcessors();
  const keys = await publish('restarted', 12);
  await stack().startProcessor();
  await expectNoCalls(before);
  await release();
  await expectAccepted(keys);
});

test('one that was written while nobody owned a lane is read before the first call', async () => {
  const keys = await publish('first', 12);
  await order();
  await stack().startProcessor();
  await expectNoCalls(0);
  await release();
  await expectAccepted(keys);
});

test('a member that was frozen, and one that joins, call nothing once every lane says that it holds', async () => {
  const frozen = await stack().startProcessor();
  const other = await stack().startProcessor();
  const early = await publish('early', 12);
  frozen.freeze();
  const late = await publish('frozen', 12);
  await hold();
  const before = await stack().service.callsMade();
  const held = await publish('held', 12);
  frozen.thaw();
  await stack().startProcessor();
  await expectNoCalls(before);
  await other.stop();
  await expectNoCalls(before);
  await release();
  await expectAccepted([...early, ...late, ...held]);
});
