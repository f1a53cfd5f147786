/** One kind of poison against a processor: it comes to what the table says, and what lies behind it is handled. */
import { POISONED_MIB_MAX } from '../bench/process-memory.ts';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { ResultEvent } from '../../test/support/journal.ts';
import { judgePoison } from '../../test/support/poison/judgement.ts';
import type { Poison, PoisonKind } from '../../test/support/poison/kinds.ts';
import type { MessagePlace } from './letter-index.ts';
import type { PoisonBench } from './poison-bench.ts';

/** For everything that is to come of one kind; most take some milliseconds. */
const TRIAL_MS_MAX = 30_000;

export interface Trial {
  /** Empty: it came to what it should. */
  readonly wrong: readonly string[];
  /** What it came to, in a few words. */
  readonly seen: string;
}

/** @param lane whose poison it is, unless the kind is about a key of its own */
export async function tryPoison(bench: PoisonBench, kind: PoisonKind, lane: number): Promise<Trial> {
  const aim = bench.writer.aim(kind, bench.keyOf(lane));
  const { lane: ownLane, partition, topic } = aim;
  const { poison, produced } = await bench.writer.write(kind, aim);
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
  const resident = bench.residentMiBMax();
  if (resident > POISONED_MIB_MAX) wrong.push(`${resident} MiB resident`);
  const answers = poison.key === null ? [] : bench.answersOf(poison.key);
  const letters = bench.deadLetters(place, poison.message?.key ?? null);
  if (problem === null) wrong.push(...judgePoison(kind, poison, letters, (key) => bench.answersOf(key)));
  return { wrong, seen: `${inWords(answers, letters)}; ${resident} MiB at most` };
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
