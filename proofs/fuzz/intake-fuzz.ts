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
import { ObservationReader } from '../../src/lanes/observations.ts';
import { topicOf } from '../../test/support/poison/kinds.ts';
import { Draws } from '../simulation/draws.ts';
import { simulatedRegistry } from '../simulation/simulated-registry.ts';
import { randomMessage, randomTarget, type RandomMessage, type RandomTarget } from './random-messages.ts';

export interface IntakeReport {
  inputs: number;
  /** By what they came to. */
  counts: Record<string, number>;
  /** What was wrong, with the number of the input; bounded. */
  wrong: { input: number; problem: string }[];
}

const LANES = 3;
const WRONG_MAX = 20;
const STACK_LINES = 4;
const NOW_MS = Date.parse('2026-01-01T12:00:00Z');
const HOUR_MS = 3_600_000;
const TOPICS = topicNames('fuzz');
const CLOCK = { nowMs: () => NOW_MS, monotonicMs: () => 0 };

/** @param first number of the first input; each input depends on the seed and its number alone */
export async function fuzzIntake(options: { seed: number; first: number; inputs: number }): Promise<IntakeReport> {
  const report: IntakeReport = { inputs: 0, counts: {}, wrong: [] };
  const registry = simulatedRegistry(recordOfTopic(TOPICS));
  const intake: IntakeOptions = {
    registry,
    laneCount: LANES,
    maxAgeMs: Object.fromEntries(COMMAND_TYPES.map((type) => [type, HOUR_MS])) as Record<CommandType, number>,
  };
  for (let index = 0; index < options.inputs; index += 1) {
    const number = options.first + index;
    const draws = new Draws(options.seed, `input ${number}`);
    const target = randomTarget(draws);
    const topic = topicOf(TOPICS, target);
    const message = await randomMessage(draws, target, `key-${number}`, (record) => registry.encode(topic, record));
    report.inputs += 1;
    try {
      const outcome = await read(intake, target, message);
      report.counts[outcome] = (report.counts[outcome] ?? 0) + 1;
      const again = await read(intake, target, message);
      if (again !== outcome) note(report, number, `read once more, it came to ${again}, not ${outcome}`);
    } catch (error) {
      report.counts['thrown'] = (report.counts['thrown'] ?? 0) + 1;
      note(
        report,
        number,
        `${target.input} ${target.commandType}: ${error instanceof Error ? error.stack?.split('\n', STACK_LINES).join(' ') : String(error)}`,
      );
    }
  }
  return report;
}

function note(report: IntakeReport, input: number, problem: string): void {
  if (report.wrong.length < WRONG_MAX) report.wrong.push({ input, problem });
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
  const received = { key, value, timestamp: String(NOW_MS), attributes: 0, offset: '17', headers: asReceived(headers) };
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

/** Headers as the patched client hands them over: all of one name, in order. */
function asReceived(headers: RandomMessage['headers']): Record<string, Buffer | null | (Buffer | null)[]> {
  const received = Object.create(null) as Record<string, Buffer | null | (Buffer | null)[]>;
  for (const [name, value] of headers) {
    const text = name.toString();
    const bytes = value === null ? null : Buffer.from(value);
    const known = received[text];
    if (known === undefined) received[text] = bytes;
    else if (Array.isArray(known)) known.push(bytes);
    else received[text] = [known, bytes];
  }
  return received;
}
