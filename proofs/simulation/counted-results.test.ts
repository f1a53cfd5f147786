/** Metrics and store have exactly what a lane's transaction committed, whatever happened to the broker's answer. */
import { expect, test } from 'vitest';
import { topicDefinitions } from 'payment-processor-contract/topic-definitions';
import { laneOf } from 'payment-processor-contract/keys';
import { recordOfTopic, topicNames } from 'payment-processor-contract/topics';
import { Draws } from './draws.ts';
import { readHistory } from './history-judgement.ts';
import { brokerTopic } from './history.ts';
import { MemoryIndex } from './memory-index.ts';
import { jsonHeaders } from './publishers.ts';
import { scenarioOf } from './scenario.ts';
import { SimulatedBroker } from './simulated-broker.ts';
import { installKafka } from './simulated-kafkajs.ts';
import { SimulatedNetwork, type Trouble } from './simulated-network.ts';
import { SimulatedProcess, simulatedConfig } from './simulated-process.ts';
import { simulatedRegistry } from './simulated-registry.ts';
import type { SimulatedService } from './simulated-service.ts';
import { judgeStores } from './store-judgement.ts';
import { VirtualTime } from './virtual-time.ts';

const COMMANDS = 60;
const LANES = 3;
const MS_MAX = 60_000;
/** Longer than the session timeout. */
const COUNTED_OUT_MS = 7_000;
/** Before the commit's deadline. */
const ANSWERED_MS = 9_000;
const silence = (): void => undefined;

interface Ran {
  readonly counted: string[];
  readonly written: string[];
  /** Where the store differs from the ledger, which has records of other writers too. */
  readonly unlikeLedger: string[];
}

/** @param commit number of the process's commit, from 1 */
type CommitTrouble = (commit: number, isTakingLanes: () => boolean, time: VirtualTime) => Trouble;

const NONE: Trouble = { kind: 'none' };

/** @param otherTrouble for all requests except commits */
async function ran(commitTrouble: CommitTrouble, otherTrouble: (point: string) => Trouble = () => NONE): Promise<Ran> {
  const time = new VirtualTime();
  const draws = (name: string): Draws => new Draws(1, name);
  const topics = topicNames('simulated');
  const scenario = {
    ...scenarioOf(draws('scenario'), draws('added'), { kind: 'drawn', without: [] }),
    laneCount: LANES,
  };
  const config = simulatedConfig(scenario);
  const broker = new SimulatedBroker(time, draws('broker'));
  for (const definition of topicDefinitions(config)) broker.createTopic(...brokerTopic(definition));
  let commits = 0;
  let process: SimulatedProcess | null = null;
  const network = new SimulatedNetwork(time, draws('network'), {
    troubleAt: (_owner, point) => {
      if (point !== 'commit') return otherTrouble(point);
      commits += 1;
      return commitTrouble(commits, () => process?.isTakingLanes() ?? false, time);
    },
    kill: silence,
    freeze: silence,
  });
  const restore = [time.install(draws('ids')), installKafka(broker, network)];
  const counted: string[] = [];
  const index = new MemoryIndex(LANES);
  try {
    const keys = Array.from({ length: COMMANDS }, (_, index) => `key-${index}`);
    const publish = (key: string): void => {
      const lane = laneOf(key, LANES);
      broker.append(topics.commands['transfer-in'], lane, {
        key: Buffer.from(key),
        value: Buffer.from('{}'),
        headers: jsonHeaders({}),
        timestampMs: time.nowMs,
      });
    };
    const writeOther = (number: number): void => {
      const written = { value: Buffer.of(number), headers: [], timestampMs: time.nowMs };
      broker.append(topics.ledger, number % LANES, { key: Buffer.from(`of-another-${number}`), ...written });
    };
    keys.forEach((key, number) => {
      time.after(number * 100, null, () => publish(key));
      time.after(number * 100 + 3, null, () => writeOther(number));
    });
    process = new SimulatedProcess({
      name: 'process',
      time,
      config,
      registry: simulatedRegistry(recordOfTopic(topics)),
      service: {
        client: () => ({ call: async () => ({ kind: 'never-sent', reason: 'down' }), close: async () => undefined }),
      } as unknown as SimulatedService,
      index,
      clockAheadMs: 0,
      random: draws('random').random,
      log: silence,
      onResult: ({ commandKey }) => void counted.push(commandKey),
      onFatal: silence,
      onFailure: silence,
      onDeath: silence,
    });
    await time.runUntil(() => false, time.nowMs + MS_MAX);
  } finally {
    for (const back of restore) back();
  }
  const { ledger, results } = readHistory(broker, topics);
  return {
    counted: counted.sort(),
    written: results.map(({ key }) => key).sort(),
    unlikeLedger: judgeStores([index], ledger),
  };
}

test.each([
  ['the answer to a commit is lost: the ledger says that it was committed', 'answer-lost'],
  ['a commit is lost: what was in it is done again', 'request-lost'],
] as const)('%s, and each result is counted once', async (_name, kind) => {
  for (const lostCommit of [2, 3, 5]) {
    let commits = 0;
    const { counted, unlikeLedger, written } = await ran((commit) => {
      commits = commit;
      return commit === lostCommit ? { kind } : NONE;
    });
    expect(commits).toBeGreaterThan(lostCommit);
    expect(written).toHaveLength(COMMANDS);
    expect(counted).toEqual(written);
    expect(unlikeLedger).toEqual([]);
  }
});

test('a lane that is counted out between the end of its transaction and the answer: its store is as the ledger is', async () => {
  let isCutOff = false;
  let wasLostAtAnswer = false;
  const { counted, unlikeLedger, written } = await ran(
    (commit, isTakingLanes, time) => {
      if (commit !== 5) return NONE;
      isCutOff = true;
      time.after(COUNTED_OUT_MS, null, () => (isCutOff = false));
      time.after(ANSWERED_MS, null, () => (wasLostAtAnswer = isTakingLanes()));
      return { kind: 'slow', thereMs: 0, backMs: ANSWERED_MS };
    },
    (point) => (isCutOff && point === 'Heartbeat' ? { kind: 'request-lost' } : NONE),
  );
  expect(wasLostAtAnswer).toBe(true);
  expect(written).toHaveLength(COMMANDS);
  expect(counted).toEqual(written);
  expect(unlikeLedger).toEqual([]);
});
