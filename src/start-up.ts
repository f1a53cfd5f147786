/**
 * What must be there before the first command is read: our schemas in the registry, the topics as the contract has them.
 *
 * What is missing or wrong ends the process, with every problem and what to do; what cannot be asked just now is asked
 * again, for an outage is no failure (invariant I5).
 */
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { kafkajsProblem } from './consumers/mended-kafkajs.ts';
import { createKafka, LANE_RETRY } from './producers/kafka-client.ts';
import { checkTopics } from './producers/topic-admin.ts';
import { RegistryError, type RecordRegistry } from './records/registry.ts';
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
  await untilAnswered('registry-not-answering', log, isEnding, () =>
    registry.prepare([topics.results, topics.transactionStatusChanged, topics.quoteStatusChanged]),
  );
  await untilAnswered('kafka-not-answering', log, isEnding, async () => {
    const problems = await checkTopics(kafka, config, { sandboxCommands: config.SANDBOX_COMMANDS });
    if (problems.length > 0) throw new StartUpProblems(problems.map(({ message }) => message));
  });
}

async function untilAnswered(
  event: string,
  log: Logger,
  isEnding: () => boolean,
  ask: () => Promise<void>,
): Promise<void> {
  while (!isEnding()) {
    try {
      await ask();
      return;
    } catch (error) {
      if (error instanceof StartUpProblems) throw error;
      if (error instanceof RegistryError && error.missing) throw new StartUpProblems([error.message]);
      log.warn({ event, err: error });
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  }
}
