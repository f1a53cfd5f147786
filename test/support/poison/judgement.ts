/** Checks a poison's answer, its dead letter and the good commands beside it against what its kind expects. */
import { createHash } from 'node:crypto';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { ResultEvent } from '../journal.ts';
import type { Poison, PoisonKind } from './kinds.ts';

/** How much of a key or value a dead letter by reference contains. */
const REFERENCE_BYTES = 1_024;

/**
 * @returns what is wrong with the outcome of one poison
 * @param letters the dead letters about it
 * @param answersOf results of a key, without replays and conflicts
 */
export function judgePoison(
  { expected, input }: Pick<PoisonKind, 'expected' | 'input'>,
  poison: Poison,
  letters: readonly TopicRecord[],
  answersOf: (key: string) => readonly ResultEvent[],
): string[] {
  const wrong: string[] = [];
  const answers = poison.key === null ? [] : answersOf(poison.key);
  // Observations get no answer, but a command may have used the same key.
  const outcome = input === 'observation' ? 'none' : (answers[0]?.value.outcome ?? 'none');
  if (input !== 'observation' && answers.length > 1) wrong.push(`${answers.length} results`);
  if (!(expected.answers as readonly string[]).includes(outcome)) {
    wrong.push(`answered ${outcome}, not ${expected.answers.join(' or ')}`);
  }
  const [letter] = letters;
  const reason = letter?.headers['dlq-reason'] ?? 'no';
  if (!(expected.burials as readonly string[]).includes(reason)) {
    wrong.push(`dead letter: ${reason}, not ${expected.burials.join(' or ')}`);
  }
  if (input === 'command' && outcome === 'none' && letter === undefined)
    wrong.push('neither answered nor buried: lost');
  if (letter !== undefined) wrong.push(...judgeCopy(letter, poison, expected.copy));
  for (const key of poison.companions) {
    const found = answersOf(key).map(({ value }) => value.outcome);
    const wanted = expected.companions === 'answered' ? 'ACCEPTED' : '';
    if (found.join() !== wanted) wrong.push(`the good command beside it: ${found.join(', ') || 'no result'}`);
  }
  return wrong;
}

function judgeCopy(letter: TopicRecord, { message }: Poison, copy: PoisonKind['expected']['copy']): string[] {
  const { headers, value } = letter;
  const cut = ['dlq-key-sha256', 'dlq-value-sha256', 'dlq-headers-left-out'].filter(
    (name) => headers[name] !== undefined,
  );
  const isReference = headers['dlq-by-reference'] === 'true' && cut.length > 0;
  if (copy !== 'either' && isReference !== (copy === 'reference')) {
    return [`buried ${isReference ? 'by reference' : 'whole'}, not ${copy === 'whole' ? copy : 'by reference'}`];
  }
  if (!isReference) {
    if (headers['dlq-by-reference'] !== undefined) return ['it says that it is a reference, and is none'];
    if (message === null) return [];
    if (!isSame(value, message.value)) return ['the dead letter has another value'];
    return isSame(letter.key, message.key) ? [] : ['the dead letter has another key'];
  }
  const wrong: string[] = [];
  if (headers['dlq-reason'] === 'UNREADABLE_BATCH') {
    wrong.push(...judgeCut(headers, 'value', value, null));
    if (!/^\d+$/.test(headers['dlq-last-offset'] ?? '')) wrong.push('dlq-last-offset is no offset');
    if (letter.key !== null) wrong.push('the reference to a batch has a key');
    return wrong;
  }
  for (const part of ['key', 'value'] as const) {
    const original = message?.[part] ?? null;
    if (cut.includes(`dlq-${part}-sha256`)) wrong.push(...judgeCut(headers, part, letter[part], original));
    else if (message !== null && !isSame(letter[part], original)) wrong.push(`the dead letter has another ${part}`);
  }
  return wrong;
}

/** @param original null: not known */
function judgeCut(
  headers: Readonly<Record<string, string>>,
  part: 'key' | 'value',
  kept: Buffer | null,
  original: Buffer | null,
): string[] {
  const wrong: string[] = [];
  const bytes = headers[`dlq-${part}-bytes`] ?? '';
  const sha256 = headers[`dlq-${part}-sha256`] ?? '';
  if ((kept?.length ?? 0) > REFERENCE_BYTES) wrong.push(`a reference with ${kept?.length} bytes of its ${part}`);
  if (!/^\d+$/.test(bytes)) wrong.push(`dlq-${part}-bytes is ${bytes}`);
  if (!/^[0-9a-f]{64}$/.test(sha256)) wrong.push(`dlq-${part}-sha256 is ${sha256}`);
  if (original === null) return wrong;
  if (bytes !== String(original.length)) wrong.push(`dlq-${part}-bytes is not the length of the ${part}`);
  if (sha256 !== createHash('sha256').update(original).digest('hex'))
    wrong.push(`dlq-${part}-sha256 is of other bytes`);
  if (!isSame(kept, original.subarray(0, REFERENCE_BYTES))) wrong.push(`it does not have the first KiB of the ${part}`);
  return wrong;
}

function isSame(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other);
}
