/**
 * Which redrives may be of one payment. A redriven message that is buried again is a dead letter of its own, under its new key:
 * redrives connect the two keys. Pure.
 */
import { notedLetter, type RedriveNote } from './redrive-note.ts';

/** A dead letter by its place, or a command by its key alone. */
type Letter =
  { readonly place: string; readonly ownKey: string | null } | { readonly place: null; readonly ownKey: string };

export class RedriveFamilies {
  readonly #notes: readonly RedriveNote[];
  /** By new key: what was redriven under it. */
  readonly #origins = new Map<string, string>();
  /** What was published first, by what was redriven. */
  readonly #firsts = new Map<string, string>();

  constructor(notes: readonly RedriveNote[]) {
    this.#notes = notes;
    for (const note of notes) if (note.because === null) this.#origins.set(note.key, originOf(note));
  }

  /** Whether the notes are about letters that may be the same payment. */
  areRelated(left: RedriveNote, right: RedriveNote): boolean {
    return this.#firstOf(originOf(left)) === this.#firstOf(originOf(right));
  }

  /** Notes of other letters that may be the same payment, oldest first in each partition; without those that led to this letter. */
  othersOf(letter: Letter): RedriveNote[] {
    const { ownKey, place } = letter;
    const own = this.#pathOf(place === null ? ownKey : (ownKey ?? nameOf(place)));
    const ledHere = (note: RedriveNote): boolean =>
      note.because === null && own.includes(note.key) && own.slice(1).includes(originOf(note));
    return this.#notes.filter(
      (note) => notedLetter(note) !== place && this.#firstOf(originOf(note)) === own.at(-1) && !ledHere(note),
    );
  }

  #firstOf(origin: string): string {
    const first = this.#firsts.get(origin) ?? this.#pathOf(origin).at(-1) ?? origin;
    this.#firsts.set(origin, first);
    return first;
  }

  /** From what was redriven last to what was published first. */
  #pathOf(origin: string): string[] {
    const path = new Set<string>();
    for (let next: string | undefined = origin; next !== undefined && !path.has(next); next = this.#origins.get(next))
      path.add(next);
    return [...path];
  }
}

function originOf(note: RedriveNote): string {
  return note.letterKey ?? nameOf(notedLetter(note));
}

/** No key has a blank. */
function nameOf(letter: string): string {
  return `letter ${letter}`;
}
