/** What every simulation has over one virtual time: brokers, processes and the service, until they are judged. */
import { topicDefinitions } from 'payment-processor-contract/topic-definitions';
import { recordOfTopic, topicNames, type TopicNames } from 'payment-processor-contract/topics';
import type { Config } from 'payment-processor-contract/config';
import { laneSettings } from '../../src/lanes/lane-settings.ts';
import { heldForMsMax } from '../../src/lanes/poller-link.ts';
import type { Draws } from './draws.ts';
import { judgeHistory, readHistory, type GivenHistory } from './history-judgement.ts';
import type { Scenario } from './scenario.ts';
import { brokerTopic, type SimulatedBroker } from './simulated-broker.ts';
import { SimulatedFleet } from './simulated-fleet.ts';
import { installKafka } from './simulated-kafkajs.ts';
import { SimulatedNetwork, type Disturber } from './simulated-network.ts';
import { simulatedRegistry } from './simulated-registry.ts';
import { SimulatedService, type ServiceOptions } from './simulated-service.ts';
import type { VirtualTime } from './virtual-time.ts';

const PREFIX = 'simulated';

/** What the persons and the upkeep of a simulation act by, each with draws of its own. */
export interface Surroundings {
  readonly scenario: Scenario;
  readonly time: VirtualTime;
  readonly draws: Draws;
  readonly broker: SimulatedBroker;
  readonly topics: TopicNames;
  readonly log: (line: string) => void;
}

export interface WorldOptions<Broker extends SimulatedBroker> {
  readonly scenario: Scenario;
  readonly config: Config;
  readonly time: VirtualTime;
  readonly broker: Broker;
  readonly draws: (stream: string) => Draws;
  readonly log: (line: string) => void;
  /** What is particular to its service. */
  readonly service: Pick<ServiceOptions, 'troubleOf' | 'pageDelayMs' | 'isLeftOut' | 'onLost'>;
}

export class SimulatedWorld<Broker extends SimulatedBroker = SimulatedBroker> {
  readonly topics: TopicNames = topicNames(PREFIX);
  readonly fleet: SimulatedFleet;
  readonly service: SimulatedService;
  readonly #options: WorldOptions<Broker>;

  constructor(options: WorldOptions<Broker>) {
    this.#options = options;
    const { broker, config, draws, log, scenario, service, time } = options;
    for (const definition of topicDefinitions(config)) broker.createTopic(...brokerTopic(definition));
    const registry = simulatedRegistry(recordOfTopic(this.topics));
    this.fleet = new SimulatedFleet({ scenario, time, draws: draws('faults'), config, registry, log });
    this.service = new SimulatedService({
      ...service,
      time,
      draws: draws('service'),
      disturber: this.fleet,
      honourKeys: scenario.honourKeys,
      dialShare: scenario.dialShare,
      log,
    });
  }

  /** @returns a function that restores kafkajs and the globals */
  install(disturber: Disturber = this.fleet, queuedShare?: number): () => void {
    const { broker, draws, time } = this.#options;
    const restoreTime = time.install(draws('ids'));
    const restoreKafka = installKafka(broker, new SimulatedNetwork(time, draws('network'), disturber, queuedShare));
    return () => {
      restoreKafka();
      restoreTime();
    };
  }

  judged(
    given: Omit<
      GivenHistory,
      'broker' | 'fleet' | 'heldForMsMax' | 'honourKeys' | 'laneCount' | 'read' | 'service' | 'topics'
    >,
  ): ReturnType<typeof judgeHistory> {
    const { broker, config, scenario } = this.#options;
    return judgeHistory({
      ...given,
      topics: this.topics,
      read: readHistory(broker, this.topics),
      broker,
      service: this.service,
      fleet: this.fleet,
      laneCount: scenario.laneCount,
      honourKeys: scenario.honourKeys,
      heldForMsMax: heldForMsMax(laneSettings(config)),
    });
  }
}
