/**
 * The checks of a start (src/ops/start-up.ts) in this process: what refuses it, or what it waits for. That a refusal ends a
 * process with code 78 and these sentences is shown by one process for each test file that uses this.
 */
import { expect, onTestFinished } from 'vitest';
import { systemClock } from 'payment-processor-contract/clock';
import { readConfig } from 'payment-processor-contract/config';
import { RecordRegistry } from 'payment-processor-contract/registry';
import { recordOfTopic, topicNames } from 'payment-processor-contract/topics';
import { StartSteps } from '../../src/lanes/ownership/start-steps.ts';
import { checkPrerequisites, StartUpProblems } from '../../src/ops/start-up.ts';
import type { LogLine, RunningProcessor } from '../support/processor.ts';

type Environment = Readonly<Record<string, string>>;

/** A process whose start is refused ends with code 78 and this sentence. */
export async function endsRefused(processor: RunningProcessor, sentence: RegExp): Promise<void> {
  const end = await processor.ended;
  expect({ ...end, tail: processor.tail() }).toMatchObject({ code: 78 });
  // A log line is JSON.
  const said = processor.lines.filter((line) => !line.startsWith('{'));
  expect(said).toEqual(['Startup failed. Fix these and retry:', expect.stringMatching(sentence)]);
}

/** @returns a sentence for each problem; none: the start is allowed */
export async function startProblems(environment: Environment): Promise<readonly string[]> {
  try {
    await check(
      environment,
      stepsOf(() => undefined),
    );
    return [];
  } catch (error) {
    if (error instanceof StartUpProblems) return error.problems;
    throw error;
  }
}

/** @returns the line that a start logs which waits */
export async function startWaitsBy(environment: Environment): Promise<LogLine> {
  const waits = Promise.withResolvers<LogLine>();
  const steps = stepsOf(waits.resolve);
  const checked = check(environment, steps);
  const line = await Promise.race([waits.promise, checked.then(() => null)]);
  if (line === null) throw new Error('the start did not wait');
  steps.end();
  await checked;
  return line;
}

function stepsOf(warn: (line: LogLine) => void): StartSteps {
  const steps = new StartSteps({ clock: systemClock, log: { warn, info: () => undefined } as never });
  // A try that should have been the last one is not repeated behind other tests.
  onTestFinished(() => steps.end());
  return steps;
}

async function check(environment: Environment, steps: StartSteps): Promise<void> {
  const read = readConfig(environment);
  if (!read.ok) throw new Error(read.problems.join('; '));
  const { config } = read;
  const topics = topicNames(config.TOPIC_PREFIX);
  const registry = new RecordRegistry({
    url: config.SCHEMA_REGISTRY_URL,
    username: config.SCHEMA_REGISTRY_USERNAME,
    password: config.SCHEMA_REGISTRY_PASSWORD,
    records: recordOfTopic(topics),
  });
  await checkPrerequisites(config, registry, topics, steps);
}
