/**
 * What must be there before the first command is read: our schemas in the registry, the topics as the contract has them.
 *
 * What is missing, wrong or refused (log-in, certificate, rights) ends the process, with every problem and what to do; what
 * cannot be asked just now is asked again, for an outage is no failure (invariant I5).
 */
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { kafkajsProblem } from './consumers/mended-kafkajs.ts';
import { createKafka, LANE_RETRY } from './producers/kafka-client.ts';
import { kafkaAccess, type KafkaAccess } from './producers/kafka-access.ts';
import { failureInWords, kafkaFailure, kafkaRefusal } from './producers/kafka-failure.ts';
import { checkTopics } from './producers/topic-admin.ts';
import { rightsOf } from './records/rights.ts';
import { Repeats } from './repeats.ts';
import type { RecordRegistry } from './records/registry.ts';
import { RegistryError } from './records/registry-failure.ts';
import type { TopicNames } from './records/topics.ts';

/** Between questions to a registry or Kafka that does not answer. */
const ASK_AGAIN_MS = 2_000;

/** The surroundings are wrong, and waiting does not mend them. */
export class StartUpProblems extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.problems = problems;
  }
}

/**
 * @param isEnding asked between tries: the process was told to end
 * @throws StartUpProblems
 */
export async function checkSurroundings(
  config: Config,
  registry: RecordRegistry,
  topics: TopicNames,
  log: Logger,
  isEnding: () => boolean,
): Promise<void> {
  const unmended = kafkajsProblem();
  if (unmended !== null) throw new StartUpProblems([unmended]);
  const kafka = createKafka(config, `${config.KAFKA_GROUP_ID}-start`, { retry: LANE_RETRY });
  await untilAnswered('registry-not-answering', config, log, isEnding, () =>
    registry.prepare([topics.results, topics.transactionStatusChanged, topics.quoteStatusChanged]),
  );
  await untilAnswered('kafka-not-answering', config, log, isEnding, async () => {
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

async function untilAnswered(
  event: string,
  config: Config,
  log: Logger,
  isEnding: () => boolean,
  ask: () => Promise<void>,
): Promise<void> {
  const repeats = new Repeats(() => performance.now());
  const warn = (problem: string): void => {
    const unsaid = repeats.unsaid(problem);
    if (unsaid !== null) log.warn({ event, problem, ...(unsaid === 0 ? {} : { repeated: unsaid }) });
  };
  while (!isEnding()) {
    try {
      await ask();
      return;
    } catch (error) {
      if (error instanceof StartUpProblems) throw error;
      if (error instanceof RegistryError) {
        if (error.refused) throw new StartUpProblems([error.message]);
        warn(error.message);
      } else {
        const problem = kafkaProblem(error, config);
        if (kafkaRefusal(error) !== null) throw new StartUpProblems([problem]);
        warn(problem);
      }
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  }
}

/** Kafka's own words are put into ours; what we say ourselves stays. */
function kafkaProblem(error: unknown, config: Config): string {
  const failure = kafkaFailure(error);
  return failure.kind === 'other' ? failure.detail : failureInWords(failure, config);
}

/**
 * What made the start fail after the surroundings were checked.
 * @returns the refusal of Kafka in words, or null for anything else
 */
export function refusalAtStart(error: unknown, config: Config): string | null {
  const refusal = kafkaRefusal(error);
  return refusal === null ? null : failureInWords(refusal, config);
}
