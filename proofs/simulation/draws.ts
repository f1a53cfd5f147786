/** Random draws from one stream of a seed. Each part of a simulation has its own stream. */
import { seededRandom } from 'payment-processor-sandbox/faults';

export class Draws {
  readonly random: () => number;

  constructor(seed: number, stream: string) {
    let mixed = seed | 0;
    for (const letter of stream) mixed = Math.imul(mixed ^ letter.charCodeAt(0), 0x01000193);
    this.random = seededRandom(mixed);
    this.random();
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  between(least: number, most: number): number {
    return least + this.random() * (most - least);
  }

  pick<Item>(items: readonly [Item, ...Item[]] | readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  }
}
