/** Dead letters by the message that they are about, for they come by the thousand. */
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';

export interface MessagePlace {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

export class LetterIndex {
  readonly #letters: readonly TopicRecord[];
  readonly #byName = new Map<string, TopicRecord[]>();
  #seen = 0;

  /** @param letters may grow, and never shrinks */
  constructor(letters: readonly TopicRecord[]) {
    this.#letters = letters;
  }

  /** Those that name its place, or have its key: what a message says of its first place counts for its dead letter. */
  about(place: MessagePlace, key: Buffer | null): TopicRecord[] {
    this.#catchUp();
    const atPlace = this.#byName.get(placeName(place.topic, place.partition, place.offset)) ?? [];
    if (key === null) return atPlace;
    const ofKey = this.#byName.get(keyName(place.topic, key)) ?? [];
    return [...new Set([...atPlace, ...ofKey])];
  }

  #catchUp(): void {
    for (; this.#seen < this.#letters.length; this.#seen += 1) {
      const letter = this.#letters[this.#seen];
      if (letter === undefined) return;
      const { headers, key } = letter;
      const topic = headers['dlq-topic'] ?? '';
      this.#add(placeName(topic, Number(headers['dlq-partition']), BigInt(headers['dlq-offset'] ?? -1)), letter);
      if (key !== null) this.#add(keyName(topic, key), letter);
    }
  }

  #add(name: string, letter: TopicRecord): void {
    const known = this.#byName.get(name);
    if (known === undefined) this.#byName.set(name, [letter]);
    else known.push(letter);
  }
}

function placeName(topic: string, partition: number, offset: bigint): string {
  return `${topic}/${partition}@${offset}`;
}

function keyName(topic: string, key: Buffer): string {
  return `${topic} ${key.toString('latin1')}`;
}
