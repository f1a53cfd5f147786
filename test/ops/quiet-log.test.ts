/** How quiet the log is when nothing is wrong: no line for commands that went well, and no error in a rolling restart. */
import { expect, test } from 'vitest';
import { publishTransfers, transferInOf } from '../support/commands.ts';
import type { LogLine, RunningProcessor } from '../support/processor.ts';
import { LANES } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';

const COMMANDS = 1_000;
const PAUSE_MS = 50;
const GROUP_MS_MAX = 60_000;
/** A starting process logs where it listens and which lanes it opens, the others which lanes they keep, a stopping one that it stops. */
const LINES_OF_A_RESTART_MAX = 25;

const stack = useStack({
  name: 'quiet-log',
  // On a busy machine a short session may expire and a short timeout may open the breaker: neither is normal operation.
  settings: { KAFKA_SESSION_TIMEOUT_MS: '10000', API_TIMEOUT_MS: '10000', LOG_LEVEL: 'info' },
});

async function haveAllLanes(...processors: RunningProcessor[]): Promise<void> {
  const owned = (): number => processors.flatMap((processor) => processor.assignedLanes()).length;
  await expect.poll(owned, { timeout: GROUP_MS_MAX }).toBe(LANES);
  await Promise.all(processors.map((processor) => processor.ready()));
}

test('a thousand healthy commands log nothing, and a rolling restart of two processes under load logs no error', async () => {
  const { journal, publisher } = stack();
  const old = [await stack().startProcessor(), await stack().startProcessor()] as const;
  await haveAllLanes(...old);
  const before = old.map(({ lines }) => lines.length);

  // So that the registry is asked once, not a thousand times at once.
  await publisher.publish('transfer-in', 'first', transferInOf('first'));
  const keys = await publishTransfers(stack(), 'quiet', COMMANDS);
  const results = await journal.resultsOfAll(keys);
  expect(new Set(results.map(({ value }) => value.outcome))).toEqual(new Set(['ACCEPTED']));
  const ofCommands = old.flatMap(({ lines }, index) => lines.slice(before[index]));
  expect(ofCommands).toEqual([]);

  const load = { isOver: false, keys: [] as string[] };
  const publishing = (async () => {
    for (let index = 0; !load.isOver; index += 1) {
      const key = `restarted-${index}`;
      load.keys.push(key);
      await publisher.publish('transfer-in', key, transferInOf(key));
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  })();
  const marks = old.map(({ lines }) => lines.length);
  const [first, second] = old;
  await first.stop();
  const third = await stack().startProcessor();
  await haveAllLanes(second, third);
  await second.stop();
  const fourth = await stack().startProcessor();
  await haveAllLanes(third, fourth);
  load.isOver = true;
  await publishing;
  await journal.resultsOfAll(load.keys);

  const lines = [
    ...old.flatMap((processor, index) => processor.lines.slice(marks[index])),
    ...third.lines,
    ...fourth.lines,
  ];
  const parsed = lines.map((line) => JSON.parse(line) as LogLine & { level: string });
  expect(parsed.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
  // On a busy machine the Kafka client may retry something; nothing else deserves a warning.
  const warnings = parsed.filter(({ event, level }) => level === 'warn' && event !== 'kafka-client');
  expect(warnings).toEqual([]);
  expect(lines.length).toBeLessThanOrEqual(2 * LINES_OF_A_RESTART_MAX);
});
