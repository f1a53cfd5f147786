/**
 * Checks the prerequisites for reading the first command: the Node version and the patched kafkajs, our schemas in the registry,
 * our rights, topics that match the contract, and a group that no other TOPIC_PREFIX uses.
 *
 * If something is missing, wrong or refused (authentication, certificate, rights), the process names all problems of
 * that step with their remedies and exits. If Kafka or the registry does not answer, it retries: an outage is not a
 * failure (invariant I5).
 */
import type { Config } from 'payment-processor-contract/config';
import { kafkajsProblem } from 'payment-processor-contract/kafka/patched-kafkajs';
import { strangersInGroup } from '../consumers/group-processes.ts';
import { errorText } from '../consumers/message-failures.ts';
import { LaneCountError } from '../lanes/ownership/lane-start.ts';
import { kafkaStep, type StartStep, type StartSteps } from '../lanes/ownership/start-steps.ts';
import { nodeProblem } from './node-version.ts';
import { createKafka, LANE_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { kafkaAccess, type KafkaAccess } from '../producers/rights-check.ts';
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

/** Prerequisites are missing or wrong, and waiting does not fix them. */
export class StartUpProblems extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.problems = problems;
  }
}

/**
 * Resolves once all prerequisites are met, or the process is shutting down.
 * @throws StartUpProblems, or Kafka's error if it refused us
 */
export async function checkPrerequisites(
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
      const isPermanent = error instanceof RegistryError && error.refused;
      throw isPermanent ? new StartUpProblems([error.message]) : error;
    }
  });
  const step = kafkaStep(config, 'checking rights and topics', (error) => error instanceof StartUpProblems);
  await steps.run(step, async () => {
    // Before the topics: one that we have no right to see looks as if it did not exist.
    const access = await processorAccess(config, kafka);
    if (access.kind === 'refused') throw new StartUpProblems(access.problems);
    if (access.kind === 'unknown') throw new Error(access.problem);
    const problems = (await checkTopics(kafka, config, { sandboxCommands: config.SANDBOX_COMMANDS })).map(
      ({ message }) => message,
    );
    const strangers = await strangersInGroup(kafka, config);
    if (strangers !== null) problems.push(strangers);
    if (problems.length > 0) throw new StartUpProblems(problems);
  });
}

/** Whether Kafka authenticates the processor and allows all its operations. Never throws. */
export function processorAccess(
  config: Config,
  kafka = createKafka(config, `${config.KAFKA_GROUP_ID}-access`, { retry: LANE_RETRY }),
): Promise<KafkaAccess> {
  return kafkaAccess(kafka, config, rightsOf('processor', config));
}

/**
 * Explains an error that ended the start.
 * @returns what to correct, in words: Kafka's refusal or a wrong LANES; null for any other error
 */
export function refusalAtStart(error: unknown, config: Config): string | null {
  if (error instanceof LaneCountError) return error.message;
  const refusal = kafkaRefusal(error);
  return refusal === null ? null : failureInWords(refusal, config);
}
