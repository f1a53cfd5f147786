/**
 * Invariant I1 when a leader that was not in sync loses a topic's last records, and the topic grows past them again before
 * the processor checks: the newly published messages must not count as redeliveries.
 */
import { expect, test } from 'vitest';
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
