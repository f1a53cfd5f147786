/**
 * What must be there before the first command is read: our schemas in the registry, the topics as the contract has them.
 *
 * What is missing, wrong or refused (log-in, certificate, rights) ends the process, with every problem and what to do; what
 * cannot be asked just now is asked again, for an outage is no failure (invariant I5).
 */
import type { Config } from 'payment-processor-contract/config';
import { kafkajsProblem } from 'payment-processor-contract/kafka/mended-kafkajs';
import { errorText } from '../consumers/message-failures.ts';
import { kafkaStep, type StartStep, type StartSteps } from '../lanes/start-steps.ts';
import { nodeProblem } from './node-version.ts';
import { createKafka, LANE_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { kafkaAccess, type KafkaAccess } from '../producers/kafka-access.ts';
import { failureInWords, kafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';
import { checkTopics } from '../producers/topic-admin.ts';
import { rightsOf } from 'payment-processor-contract/rights';
import type { RecordRegistry } from 'payment-processor-contract/registry';
import { RegistryError } from 'payment-processor-contract/registry-failure';
import type { TopicNames } from 'payment-processor-contract/topics';

const REGISTRY_STEP: StartStep = {
  whom: 'the schema registry',
  what: 'looking up our schemas',
  event: 'registry-not-answering',
  inWords: (error) => (error instanceof StartUpProblems ? null : errorText(error)),
};

/** The surroundings are wrong, and waiting does not mend them. */
export class StartUpProblems extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.problems = problems;
  }
}

/**
 * Resolves once all is as it must be, or the process was told to end.
 * @throws StartUpProblems, or the error by which Kafka refused us
 */
export async function checkSurroundings(
  config: Config,
  registry: RecordRegistry,
  topics: TopicNames,
  steps: StartSteps,
): Promise<void> {
  const installation = [nodeProblem(process.versions.node), kafkajsProblem()].filter((problem) => problem !== null);
  if (installation.length > 0) throw new StartUpProblems(installation);
  const kafka = createKafka(config, `${config.KAFKA_GROUP_ID}-start`, { retry: LANE_RETRY });
  await steps.run(REGISTRY_STEP, async () => {
    try {
      await registry.prepare([topics.results, topics.transactionStatusChanged, topics.quoteStatusChanged]);
    } catch (error) {
      const isLasting = error instanceof RegistryError && error.refused;
      throw isLasting ? new StartUpProblems([error.message]) : error;
    }
  });
  const step = kafkaStep(config, 'checking rights and topics', (error) => error instanceof StartUpProblems);
  await steps.run(step, async () => {
    // Before the topics: those that we may not see look as if they did not exist.
    const access = await processorAccess(config, kafka);
    if (access.kind === 'refused') throw new StartUpProblems(access.problems);
    if (access.kind === 'unknown') throw new Error(access.problem);
    const problems = await checkTopics(kafka, config, { sandboxCommands: config.SANDBOX_COMMANDS });
    if (problems.length > 0) throw new StartUpProblems(problems.map(({ message }) => message));
  });
}

/** Whether Kafka lets the processor in, and do all that it does. Never throws. */
export function processorAccess(
  config: Config,
  kafka = createKafka(config, `${config.KAFKA_GROUP_ID}-access`, { retry: LANE_RETRY }),
): Promise<KafkaAccess> {
  return kafkaAccess(kafka, config, rightsOf('processor', config));
}

/**
 * What made the start fail after the surroundings were checked.
 * @returns the refusal of Kafka in words, or null for anything else
 */
export function refusalAtStart(error: unknown, config: Config): string | null {
  const refusal = kafkaRefusal(error);
  return refusal === null ? null : failureInWords(refusal, config);
}
