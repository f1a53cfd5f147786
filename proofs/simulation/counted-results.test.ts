/** What the metrics count of a lane's transaction is what was committed, also where the answer to its commit was lost. */
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
import { VirtualTime } from './virtual-time.ts';

const COMMANDS = 60;
const LANES = 3;
const MS_MAX = 60_000;
const silence = (): void => undefined;

/** @param lostCommit which commit of the process meets the trouble, counted from 1 */
async function countedAndWritten(
  lostCommit: number,
  trouble: Trouble,
): Promise<{ counted: string[]; written: string[] }> {
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
  const network = new SimulatedNetwork(time, draws('network'), {
    troubleAt: (_owner, point) => {
      if (point === 'commit') commits += 1;
      return point === 'commit' && commits === lostCommit ? trouble : { kind: 'none' };
    },
    kill: silence,
    freeze: silence,
  });
  const restore = [time.install(draws('ids')), installKafka(broker, network)];
  const counted: string[] = [];
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
    keys.forEach((key, index) => time.after(index * 100, null, () => publish(key)));
    new SimulatedProcess({
      name: 'process',
      time,
      config,
      registry: simulatedRegistry(recordOfTopic(topics)),
      service: {
        client: () => ({ call: async () => ({ kind: 'never-sent', reason: 'down' }), close: async () => undefined }),
      } as unknown as SimulatedService,
      index: new MemoryIndex(LANES),
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
  expect(commits).toBeGreaterThan(lostCommit);
  return {
    counted: counted.sort(),
    written: readHistory(broker, topics)
      .results.map(({ key }) => key)
      .sort(),
  };
}

test.each([
  ['the answer to a commit is lost: the ledger says that it was committed', 'answer-lost'],
  ['a commit is lost: what was in it is done again', 'request-lost'],
] as const)('%s, and each result is counted once', async (_name, kind) => {
  for (const lostCommit of [2, 3, 5]) {
    const { counted, written } = await countedAndWritten(lostCommit, { kind });
    expect(written).toHaveLength(COMMANDS);
    expect(counted).toEqual(written);
  }
});
