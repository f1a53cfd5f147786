/**
 * Which redrives may be of one payment. A redriven message that is buried again is a dead letter of its own, under its new key:
 * redrives connect the two keys. Pure.
 */
import { keyProblem } from 'payment-processor-contract/keys';
import { handledText, notedLetter, type RedriveNote } from './redrive-note.ts';

/** A dead letter by its place, or a command by its key alone. */
export type Letter =
  | { readonly place: string; readonly ownKey: string | null; readonly content: string | null }
  | { readonly place: null; readonly ownKey: string; readonly content: null };

export class RedriveFamilies {
  readonly #notes: readonly RedriveNote[];
  /** By new key: what was redriven under it. */
  readonly #origins = new Map<string, Set<string>>();
  readonly #paths = new Map<string, ReadonlySet<string>>();

  constructor(notes: readonly RedriveNote[]) {
    this.#notes = notes;
    for (const note of notes)
      if (note.because === null)
        this.#origins.set(note.key, new Set([...(this.#origins.get(note.key) ?? []), originOf(note)]));
  }

  /** Whether the notes are about letters that may be the same payment. */
  areRelated(left: RedriveNote, right: RedriveNote): boolean {
    return this.#areRelated(originOf(left), originOf(right));
  }

  /** Keys of the commands from which the letter's own message was redriven. */
  ancestorsOf(letter: Letter): string[] {
    const own = originOfLetter(letter);
    return [...this.#pathOf(own)].filter((name) => name !== own && keyProblem(name) === null);
  }

  /**
   * Notes of other letters that may be the same payment, without those that led to this letter; of those that say the same, the
   * last.
   */
  othersOf(letter: Letter): RedriveNote[] {
    const own = originOfLetter(letter);
    const path = this.#pathOf(own);
    const ledHere = (note: RedriveNote): boolean =>
      note.because === null && path.has(note.key) && path.has(originOf(note)) && originOf(note) !== own;
    const others = this.#notes.filter(
      (note) => notedLetter(note) !== letter.place && this.#areRelated(originOf(note), own) && !ledHere(note),
    );
    return [...new Map(others.map((note) => [handledText(note), note])).values()];
  }

  #areRelated(left: string, right: string): boolean {
    const path = this.#pathOf(right);
    return [...this.#pathOf(left)].some((name) => path.has(name));
  }

  /** What was redriven last, and all from which it came. */
  #pathOf(origin: string): ReadonlySet<string> {
    const known = this.#paths.get(origin);
    if (known !== undefined) return known;
    const path = new Set([origin]);
    // A set also yields what is added meanwhile.
    for (const name of path) for (const earlier of this.#origins.get(name) ?? []) path.add(earlier);
    this.#paths.set(origin, path);
    return path;
  }
}

/** No key has a blank. */
function originOfLetter(letter: Letter): string {
  return letter.ownKey ?? letter.content ?? `letter ${letter.place}`;
}

function originOf(note: RedriveNote): string {
  return originOfLetter({ place: notedLetter(note), ownKey: note.letterKey, content: note.letterContent });
}
