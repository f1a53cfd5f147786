/** Metrics and store have exactly what a lane's transaction committed, whatever happened to the broker's answer. */
import { expect, test } from 'vitest';
import { transferInOf } from '../../test/support/commands.ts';
import type { Disturber, Trouble } from './simulated-network.ts';
import { judgeStores } from './store-judgement.ts';
import type { VirtualProcessor } from './virtual-processor.ts';
import { VirtualStack } from './virtual-stack.ts';

const COMMANDS = 60;
const LANES = 3;
const APART_MS = 100;
/** Longer than the session timeout. */
const COUNTED_OUT_MS = 7_000;
/** Before the commit's deadline. */
const ANSWERED_MS = 9_000;
const NONE: Trouble = { kind: 'none' };
const SETTINGS = { KAFKA_SESSION_TIMEOUT_MS: '6000', KAFKA_HEARTBEAT_INTERVAL_MS: '500' };

/** @param troubleAt of commits by their number from 1, and of all other requests */
function disturber(troubleAt: (point: string, commits: number) => Trouble): Disturber & { commits: number } {
  return {
    commits: 0,
    troubleAt(_owner, point) {
      if (point === 'commit') this.commits += 1;
      return troubleAt(point, this.commits);
    },
    kill: () => undefined,
    freeze: () => undefined,
  };
}

/** Each result once, in metrics and in the topic, and the store as the ledger is. */
function counted(
  disturbed: Disturber,
  started: (processor: VirtualProcessor) => void = () => undefined,
): Promise<void> {
  return VirtualStack.run(
    { name: 'counted', lanes: LANES, settings: SETTINGS },
    async (stack) => {
      started(await stack.startProcessor());
      const keys = Array.from({ length: COMMANDS }, (_, index) => `key-${index}`);
      for (const key of keys) {
        await stack.publisher.publish('transfer-in', key, transferInOf(key));
        await new Promise((resolve) => setTimeout(resolve, APART_MS));
      }
      await stack.journal.resultsOfAll(keys);
      await new Promise((resolve) => setTimeout(resolve, ANSWERED_MS));
      expect(stack.journal.results()).toHaveLength(COMMANDS);
      expect(stack.resultsCounted()).toBe(COMMANDS);
      expect(judgeStores(stack.stores(), await stack.readLedger())).toEqual([]);
    },
    disturbed,
  );
}

test.each([
  ['the answer to a commit is lost: the ledger says that it was committed', 'answer-lost'],
  ['a commit is lost: what was in it is done again', 'request-lost'],
] as const)('%s, and each result is counted once', async (_name, kind) => {
  for (const lost of [6, 10, 20]) {
    const disturbed = disturber((point, commits) => (point === 'commit' && commits === lost ? { kind } : NONE));
    await counted(disturbed);
    expect(disturbed.commits).toBeGreaterThan(lost);
  }
});

test('a lane that is counted out between the end of its transaction and the answer: its store is as the ledger is', async () => {
  let processor: VirtualProcessor | null = null;
  /** It was given its lanes anew, and has not opened them since. */
  const isTakingLanes = (): boolean => {
    const count = (name: string): number => processor?.log().filter(({ event }) => event === name).length ?? 0;
    return count('lanes-assigned') > 1 && count('lane-open') === LANES;
  };
  let wasLostAtAnswer = false;
  let isCutOff = false;
  const disturbed = disturber((point, commits) => {
    if (point === 'Heartbeat' && isCutOff) return { kind: 'request-lost' };
    if (point !== 'commit' || commits !== 10) return NONE;
    isCutOff = true;
    setTimeout(() => (isCutOff = false), COUNTED_OUT_MS);
    setTimeout(() => (wasLostAtAnswer = isTakingLanes()), ANSWERED_MS);
    return { kind: 'slow', thereMs: 0, backMs: ANSWERED_MS };
  });
  await counted(disturbed, (started) => (processor = started));
  expect(wasLostAtAnswer).toBe(true);
});
