/**
 * The pure intake under random messages: whatever comes in, it comes to one of the outcomes that the types name. Nothing
 * is thrown, what is to be buried or moved can be written, and the same message is read the same way again.
 */
import { inputMessage } from '../../src/consumers/input-message.ts';
import { readDecision } from '../../src/consumers/decision-intake.ts';
import { readMessage, type IntakeOptions } from '../../src/consumers/command-intake.ts';
import { deadLetterRecord } from '../../src/producers/dead-letters.ts';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { laneOf } from 'payment-processor-contract/keys';
import { recordOfTopic, topicNames } from 'payment-processor-contract/topics';
import { ObservationReader } from '../../src/lanes/inputs/observations.ts';
import { topicOf } from '../../test/support/poison/kinds.ts';
import { Draws } from '../simulation/draws.ts';
import { decodedHeaders } from '../simulation/simulated-consumer.ts';
import { simulatedRegistry } from '../simulation/simulated-registry.ts';
import { randomMessage, randomTarget, type RandomMessage, type RandomTarget } from './random-messages.ts';

const LANES = 3;
const NOW_MS = Date.parse('2026-01-01T12:00:00Z');
const HOUR_MS = 3_600_000;
const TOPICS = topicNames('fuzz');
const CLOCK = { nowMs: () => NOW_MS, monotonicMs: () => 0 };

/**
 * Each input depends on the seed and its number alone.
 * @throws of the first input that is not read, or not read the same way again; its cause is what the intake threw
 */
export async function fuzzIntake(options: { seed: number; inputs: number }): Promise<void> {
  const registry = simulatedRegistry(recordOfTopic(TOPICS));
  const intake: IntakeOptions = {
    registry,
    laneCount: LANES,
    maxAgeMs: Object.fromEntries(COMMAND_TYPES.map((type) => [type, HOUR_MS])) as Record<CommandType, number>,
  };
  for (let number = 0; number < options.inputs; number += 1) {
    const draws = new Draws(options.seed, `input ${number}`);
    const target = randomTarget(draws);
    const topic = topicOf(TOPICS, target);
    const message = await randomMessage(draws, target, `key-${number}`, (record) => registry.encode(topic, record));
    const named = `input ${number} (${target.input} ${target.commandType})`;
    const readOnce = async (): Promise<string> =>
      read(intake, target, message).catch((error: unknown) => {
        throw new Error(`${named} cannot be read`, { cause: error });
      });
    const [outcome, again] = [await readOnce(), await readOnce()];
    if (again !== outcome) throw new Error(`${named}: read once more, it came to ${again}, not ${outcome}`);
  }
}

/** @returns what it came to */
async function read(
  intake: IntakeOptions,
  target: RandomTarget,
  { key, value, headers }: RandomMessage,
): Promise<string> {
  const { input, commandType } = target;
  const topic = topicOf(TOPICS, target);
  const lane = key === null ? 0 : laneOf(key, LANES);
  const stored = headers.map(([name, text]) => [name.toString(), text === null ? null : Buffer.from(text)] as const);
  const given = { key, value, headers: decodedHeaders(stored) };
  const received = { ...given, timestamp: String(NOW_MS), attributes: 0, offset: '17' };
  const message = inputMessage(received as Parameters<typeof inputMessage>[0]);
  switch (input) {
    case 'observation': {
      const reader = new ObservationReader({ laneCount: LANES, clock: CLOCK });
      const outcome = reader.read({ topic, lane }, message);
      if (outcome.kind === 'unavailable') return 'observation: of an unknown schema';
      if (outcome.kind === 'dead-letter') deadLetterRecord(TOPICS.deadLetters, lane, outcome.letter);
      return `observation: ${outcome.kind}`;
    }
    case 'decision': {
      const outcome = await readDecision(intake, { topic, lane }, message);
      if (outcome.kind === 'dead-letter') deadLetterRecord(TOPICS.deadLetters, lane, outcome.letter);
      return `decision: ${outcome.kind}`;
    }
    case 'command': {
      const place = { topic, lane, commandType };
      const outcome = await readMessage(intake, place, message, NOW_MS);
      if (outcome.kind === 'dead-letter') deadLetterRecord(TOPICS.deadLetters, lane, outcome.letter);
      return outcome.kind === 'arrival' ? `command: ${outcome.arrival.content.kind}` : `command: ${outcome.kind}`;
    }
  }
}
