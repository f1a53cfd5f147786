/**
 * Which redrives may be of one payment. A redriven message that is buried again is a dead letter of its own, under its new key:
 * redrives connect the two keys. Pure.
 */
import { keyProblem } from 'payment-processor-contract/keys';
import { handledText, notedLetter, type RedriveNote } from './redrive-note.ts';

export interface Letter {
  /** Null: it is a command, known by its key alone. */
  readonly place: string | null;
  /** Its key, or the name of its content. */
  readonly origin: string;
}

export class RedriveFamilies {
  readonly #notes: readonly RedriveNote[];
  /** By new key: the keys or contents that were redriven under it. */
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
  ancestorsOf({ origin }: Letter): string[] {
    return [...this.#pathOf(origin)].filter((name) => name !== origin && keyProblem(name) === null);
  }

  /**
   * Notes of other letters that may be the same payment, except redrives that led to this letter. Of notes with the
   * same text only the last.
   */
  othersOf({ origin, place }: Letter): RedriveNote[] {
    const path = this.#pathOf(origin);
    const ledHere = (note: RedriveNote): boolean =>
      note.because === null && path.has(note.key) && path.has(originOf(note)) && originOf(note) !== origin;
    const others = this.#notes.filter(
      (note) => notedLetter(note) !== place && this.#areRelated(originOf(note), origin) && !ledHere(note),
    );
    return [...new Map(others.map((note) => [handledText(note), note])).values()];
  }

  #areRelated(left: string, right: string): boolean {
    const path = this.#pathOf(right);
    return [...this.#pathOf(left)].some((name) => path.has(name));
  }

  /** The key or content itself, and all from which it was redriven. */
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

/** The letter's key, or a name with a blank, which no key has. */
function originOf(note: RedriveNote): string {
  return note.letterKey ?? note.letterContent ?? `letter ${notedLetter(note)}`;
}
