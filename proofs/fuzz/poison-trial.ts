/** One kind of poison against a processor: it comes to what the table says, and what lies behind it is handled. */
import { POISONED_BYTES_MAX } from '../bench/process-memory.ts';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { laneOf } from 'payment-processor-contract/keys';
import type { ResultEvent } from '../../test/support/journal.ts';
import { judgePoison } from '../../test/support/poison/judgement.ts';
import type { Poison, PoisonKind } from '../../test/support/poison/kinds.ts';
import { LANES } from '../../test/support/stack.ts';
import type { MessagePlace } from './letter-index.ts';
import type { PoisonBench } from './poison-bench.ts';

/** For everything that is to come of one kind; most take some milliseconds. */
const TRIAL_MS_MAX = 30_000;
const MEBIBYTE = 1024 * 1024;

export interface Trial {
  /** Empty: it came to what it should. */
  readonly wrong: readonly string[];
  /** What it came to, in a few words. */
  readonly seen: string;
}

/** @param lane whose poison it is, unless the kind is about a key of its own */
export async function tryPoison(bench: PoisonBench, kind: PoisonKind, lane: number): Promise<Trial> {
  const ownLane = kind.fixedKey === null ? lane : laneOf(kind.fixedKey, LANES);
  const partition = kind.partition === 'own' ? ownLane : (ownLane + 1) % LANES;
  const topic = bench.topicOf(kind.input, kind.commandType);
  const poison = await makePoison(bench, kind, ownLane);
  const produced = await bench.put(topic, partition, poison.batch);
  const { broker } = kind.expected;
  if (produced.kind === 'refused') {
    const seen = `the broker refuses it (${produced.errorCode}: ${produced.message})`;
    return { wrong: broker === 'takes' ? [seen] : [], seen };
  }
  const place = { topic, partition, offset: produced.baseOffset };
  const behind = await bench.putBehind(kind.input, kind.commandType, [...new Set([partition, ownLane])]);
  const problem = await bench.settled(behind, () => hasComeToAnEnd(bench, kind, poison, place), TRIAL_MS_MAX);
  const wrong = broker === 'refuses' ? ['the broker takes it'] : [];
  if (problem !== null) wrong.push(problem);
  for (const { what, isHandled } of behind) if (!isHandled()) wrong.push(`not handled: ${what}`);
  const residentBytes = await bench.residentBytesMax();
  if (residentBytes > POISONED_BYTES_MAX) wrong.push(`${Math.round(residentBytes / MEBIBYTE)} MiB resident`);
  const answers = poison.key === null ? [] : bench.answersOf(poison.key);
  const letters = bench.deadLetters(place, poison.message?.key ?? null);
  if (problem === null) wrong.push(...judgePoison(kind, poison, letters, (key) => bench.answersOf(key)));
  return { wrong, seen: `${inWords(answers, letters)}; ${Math.round(residentBytes / MEBIBYTE)} MiB at most` };
}

export async function makePoison(bench: PoisonBench, kind: PoisonKind, lane: number): Promise<Poison> {
  const topic = bench.topicOf(kind.input, kind.commandType);
  return kind.make({
    topic,
    lane,
    key: kind.fixedKey ?? bench.keyOf(lane),
    nowMs: Date.now(),
    encode: (record) => bench.encode(topic, record),
  });
}

function hasComeToAnEnd(
  bench: PoisonBench,
  { expected, input }: PoisonKind,
  poison: Poison,
  place: MessagePlace,
): boolean {
  const isAnswered = poison.key !== null && bench.answersOf(poison.key).length > 0;
  const isBuried = bench.deadLetters(place, poison.message?.key ?? null).length > 0;
  if (!expected.answers.includes('none') && !isAnswered) return false;
  if (!expected.burials.includes('no') && !isBuried) return false;
  if (input === 'command' && !isAnswered && !isBuried) return false;
  if (expected.companions === 'buried') return true;
  return poison.companions.every((key) => bench.answersOf(key).length > 0);
}

function inWords(answers: readonly ResultEvent[], letters: readonly TopicRecord[]): string {
  const [first] = letters;
  const answered = answers.map(({ value }) => value.outcome).join(', ') || 'not answered';
  if (first === undefined) return `${answered}; not buried`;
  const how = first.headers['dlq-by-reference'] === 'true' ? 'by reference' : 'whole';
  return `${answered}; ${letters.length} buried, ${first.headers['dlq-reason']} ${how}`;
}
