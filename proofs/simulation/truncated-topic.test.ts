/**
 * Invariant I1 when a leader that was not in sync loses a topic's last records, and the topic grows past them again before
 * the processor checks: the newly published messages must not count as redeliveries.
 */
import { expect, test } from 'vitest';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { publishTransfers } from '../../test/support/commands.ts';
import { eventually } from '../../test/support/watch.ts';
import type { VirtualProcessor } from './virtual-processor.ts';
import { VirtualStack } from './virtual-stack.ts';

/** Time for a check, its waiting time and the end of the lane. */
const STOPPED_MS_MAX = 60_000;
/** How many commands the lane begins with. */
const COMMANDS = 20;
const LOST = 5;

const inStack = (body: (stack: VirtualStack) => Promise<void>): Promise<void> =>
  VirtualStack.run({ name: 'cut', lanes: 1 }, body);

async function answered(stack: VirtualStack): Promise<VirtualProcessor> {
  const processor = await stack.startProcessor();
  await stack.journal.resultsOfAll(await publishTransfers(stack, 'before', COMMANDS));
  return processor;
}

/** @param lost how many of the last records the new leader lacks */
function moveLeader(stack: VirtualStack, lost: number): void {
  const log = stack.broker.log(stack.topics.commands['transfer-in'], 0);
  log.newLeader(log.nextOffset() - lost);
}

async function stopReason(processor: VirtualProcessor): Promise<string> {
  await processor.logged('lanes-assigned');
  const { reasons } = await eventually(
    () => processor.readiness(),
    (told) => told.reasons.some((reason) => reason.includes('is stopped')),
    'a stopped lane',
    STOPPED_MS_MAX,
  );
  return reasons.join();
}

test('between two runs: the lane stops, says so, and stays stopped', () =>
  inStack(async (stack) => {
    await (await answered(stack)).stop();
    moveLeader(stack, LOST);
    await publishTransfers(stack, 'after', COMMANDS);
    const told =
      /read up to offset 20, but the topic has records of leader epoch \d+ only up to offset 15, and then records of another epoch: it was truncated/;
    const processor = await stack.spawnProcessor();
    expect(await stopReason(processor)).toMatch(told);
    await processor.stop();
    expect(await stopReason(await stack.spawnProcessor())).toMatch(told);
  }));

test('a first start on a topic that lost its first records, killed before its first commit, is no lost ledger', () => {
  let isSlow = false;
  const troubleAt = (_owner: unknown, point: string) => {
    const isHit = isSlow && ['add', 'produce', 'commit'].includes(point);
    // The first commit is the claim's.
    isSlow ||= point === 'commit';
    return isHit ? ({ kind: 'slow', thereMs: 6_000, backMs: 0 } as const) : ({ kind: 'none' } as const);
  };
  const disturber = { troubleAt, kill: () => undefined, freeze: () => undefined };
  const body = async (stack: VirtualStack): Promise<void> => {
    await publishTransfers(stack, 'old', LOST);
    const partitions = [{ partition: 0, offset: String(LOST) }];
    const topic = stack.topics.commands['transfer-in'];
    await withAdmin(stack.kafka, (admin) => admin.deleteTopicRecords({ topic, partitions }));
    const first = await stack.spawnProcessor();
    await first.logged('lane-open');
    // Group offsets are written every second.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await first.kill9();
    isSlow = false;
    disturber.troubleAt = () => ({ kind: 'none' });
    await stack.startProcessor();
    await stack.journal.resultsOfAll(await publishTransfers(stack, 'new', 1));
  };
  return VirtualStack.run({ name: 'low', lanes: 1 }, body, disturber);
});

test('under an open lane: it stops', () =>
  inStack(async (stack) => {
    const processor = await answered(stack);
    moveLeader(stack, LOST);
    await publishTransfers(stack, 'after', COMMANDS);
    expect(await stopReason(processor)).toContain('it was truncated');
  }));

test('the process is lost before it looks, with a sound change of leaders in between: the next one knows', () =>
  inStack(async (stack) => {
    const processor = await answered(stack);
    moveLeader(stack, 0);
    await stack.journal.resultsOfAll(await publishTransfers(stack, 'of-the-second', COMMANDS));
    moveLeader(stack, LOST);
    await publishTransfers(stack, 'of-the-third', LOST);
    await stack.journal.resultsOfAll(await publishTransfers(stack, 'beyond', COMMANDS));
    await processor.kill9();
    expect(await stopReason(await stack.spawnProcessor())).toMatch(/only up to offset 35/);
  }));

test('leaders that have everything stop nothing, whether or not anything is published meanwhile', () =>
  inStack(async (stack) => {
    let processor = await answered(stack);
    for (const name of ['second', 'third']) {
      moveLeader(stack, 0);
      moveLeader(stack, 0);
      await stack.journal.resultsOfAll(await publishTransfers(stack, name, COMMANDS));
      await new Promise((resolve) => setTimeout(resolve, STOPPED_MS_MAX));
      moveLeader(stack, 0);
      await processor.stop();
      processor = await stack.startProcessor();
    }
    await stack.journal.resultsOfAll(await publishTransfers(stack, 'last', COMMANDS));
  }));
