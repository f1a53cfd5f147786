/** One kind of poison against a processor: it comes to what the table says, and what lies behind it is handled. */
import { createHash } from 'node:crypto';
import type { TopicRecord } from '../../src/consumers/topic-reader.ts';
import { laneOf } from '../../src/records/keys.ts';
import type { ResultEvent } from '../support/journal.ts';
import type { Poison, PoisonKind } from '../support/poison/kinds.ts';
import { LANES } from '../support/stack.ts';
import type { MessagePlace } from './letter-index.ts';
import { RESIDENT_BYTES_MAX, type PoisonBench } from './poison-bench.ts';

/** For everything that is to come of one kind; most take some milliseconds. */
const TRIAL_MS_MAX = 30_000;
/** What a dead letter has of a value that it only refers to. */
const REFERENCE_BYTES = 1_024;
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
  if (problem === null) wrong.push(...judge(bench, kind, poison, place));
  const residentBytes = await bench.residentBytesMax();
  if (residentBytes > RESIDENT_BYTES_MAX) wrong.push(`${Math.round(residentBytes / MEBIBYTE)} MiB resident`);
  const answers = poison.key === null ? [] : bench.answersOf(poison.key);
  const letters = bench.deadLetters(place, poison.message?.key ?? null);
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
    foreignSchemaId: bench.foreignSchemaId,
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

function judge(bench: PoisonBench, { expected, input }: PoisonKind, poison: Poison, place: MessagePlace): string[] {
  const wrong: string[] = [];
  const answers = poison.key === null ? [] : bench.answersOf(poison.key);
  // An observation is answered by nobody; a command of another kind may have had its key.
  const outcome = input === 'observation' ? 'none' : (answers[0]?.value.outcome ?? 'none');
  if (input !== 'observation' && answers.length > 1) wrong.push(`${answers.length} results`);
  if (!(expected.answers as readonly string[]).includes(outcome)) {
    wrong.push(`answered ${outcome}, not ${expected.answers.join(' or ')}`);
  }
  const [letter] = bench.deadLetters(place, poison.message?.key ?? null);
  const reason = letter?.headers['dlq-reason'] ?? 'no';
  if (!(expected.burials as readonly string[]).includes(reason)) {
    wrong.push(`dead letter: ${reason}, not ${expected.burials.join(' or ')}`);
  }
  if (input === 'command' && outcome === 'none' && letter === undefined)
    wrong.push('neither answered nor buried: lost');
  if (letter !== undefined) wrong.push(...judgeCopy(letter, poison, expected.copy));
  for (const key of poison.companions) {
    const found = bench.answersOf(key).map(({ value }) => value.outcome);
    const wanted = expected.companions === 'answered' ? 'ACCEPTED' : '';
    if (found.join() !== wanted) wrong.push(`the good command beside it: ${found.join(', ') || 'no result'}`);
  }
  return wrong;
}

function judgeCopy(letter: TopicRecord, { message }: Poison, copy: PoisonKind['expected']['copy']): string[] {
  const { headers, value } = letter;
  const isReference = headers['dlq-by-reference'] === 'true' && headers['dlq-value-sha256'] !== undefined;
  if (copy !== 'either' && isReference !== (copy === 'reference')) {
    return [`buried ${isReference ? 'by reference' : 'whole'}, not ${copy === 'whole' ? copy : 'by reference'}`];
  }
  if (!isReference) {
    if (message === null) return [];
    if (!isSame(value, message.value)) return ['the dead letter has another value'];
    return isSame(letter.key, message.key) ? [] : ['the dead letter has another key'];
  }
  const wrong: string[] = [];
  const valueBytes = headers['dlq-value-bytes'] ?? '';
  const sha256 = headers['dlq-value-sha256'] ?? '';
  if ((value?.length ?? 0) > REFERENCE_BYTES) wrong.push(`a reference with ${value?.length} bytes`);
  if (!/^\d+$/.test(valueBytes)) wrong.push(`dlq-value-bytes is ${valueBytes}`);
  if (!/^[0-9a-f]{64}$/.test(sha256)) wrong.push(`dlq-value-sha256 is ${sha256}`);
  if (headers['dlq-reason'] === 'UNREADABLE_BATCH') {
    if (!/^\d+$/.test(headers['dlq-last-offset'] ?? '')) wrong.push('dlq-last-offset is no offset');
    if (letter.key !== null) wrong.push('the reference to a batch has a key');
  } else if (message?.value != null) {
    if (valueBytes !== String(message.value.length)) wrong.push('dlq-value-bytes is not the length of the value');
    if (sha256 !== createHash('sha256').update(message.value).digest('hex'))
      wrong.push('dlq-value-sha256 is not of the value');
    if (!isSame(value, message.value.subarray(0, REFERENCE_BYTES))) wrong.push('it does not have the first KiB');
  }
  return wrong;
}

function isSame(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other);
}

function inWords(answers: readonly ResultEvent[], letters: readonly TopicRecord[]): string {
  const [first] = letters;
  const answered = answers.map(({ value }) => value.outcome).join(', ') || 'not answered';
  if (first === undefined) return `${answered}; not buried`;
  const how = first.headers['dlq-by-reference'] === 'true' ? 'by reference' : 'whole';
  return `${answered}; ${letters.length} buried, ${first.headers['dlq-reason']} ${how}`;
}
