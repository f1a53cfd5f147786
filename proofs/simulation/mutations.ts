/**
 * Protections of the processor that can be removed, one at a time, to see that histories notice. Each mutation replaces an
 * expression in a function. The expression must occur exactly once, in any file and with any formatting.
 */
import { globSync, readFileSync } from 'node:fs';
import type { Disturbance } from './disturbances.ts';
import { CALL_MUTATIONS } from './mutations/call-mutations.ts';
import { DECISION_MUTATIONS } from './mutations/decision-mutations.ts';
import { HOLD_MUTATIONS } from './mutations/hold-mutations.ts';
import { INTAKE_MUTATIONS } from './mutations/intake-mutations.ts';
import { INPUT_MUTATIONS } from './mutations/input-mutations.ts';
import { MEMBER_MUTATIONS } from './mutations/member-mutations.ts';
import { PRODUCER_MUTATIONS } from './mutations/producer-mutations.ts';
import { STATUS_MUTATIONS } from './mutations/status-mutations.ts';
import { STORE_MUTATIONS } from './mutations/store-mutations.ts';
import { OWNERSHIP_MUTATIONS } from './mutations/ownership-mutations.ts';

export interface Mutation {
  readonly name: string;
  /** The file to change, if the expression occurs in several. */
  readonly file?: string;
  readonly find: string;
  /** Absent: the expression is removed. */
  readonly replace?: string;
  /** The disturbances of every history that tries it; absent: as drawn. */
  readonly among?: readonly Disturbance[];
  /**
   * The test file that notices, for no history reaches this protection: an earlier one acts first, or the simulation lacks the
   * danger. It stays because the earlier protection may change.
   */
  readonly toldBy?: string;
  /** Runs only tests of that file with this in their name: the others start processes, which a busy machine may delay. */
  readonly toldByTest?: string;
}

export const MUTATIONS: readonly Mutation[] = [
  ...CALL_MUTATIONS,
  ...DECISION_MUTATIONS,
  ...HOLD_MUTATIONS,
  ...INTAKE_MUTATIONS,
  ...INPUT_MUTATIONS,
  ...MEMBER_MUTATIONS,
  ...PRODUCER_MUTATIONS,
  ...STATUS_MUTATIONS,
  ...OWNERSHIP_MUTATIONS,
  ...STORE_MUTATIONS,
];

interface Place {
  readonly file: string;
  /** Where the expression begins in the file's text. */
  readonly start: number;
  readonly end: number;
}

export const ROOT = new URL('../../', import.meta.url);
/** The sources that the processor runs. */
const SOURCES = '{src,packages/contract/src}/**/*.ts';
let sources: ReadonlyMap<string, Bare> | null = null;

/** The places of a mutation's expression in the sources; there must be exactly one. */
export function placesOf({ file, find }: Mutation): Place[] {
  sources ??= new Map(
    globSync(SOURCES, { cwd: ROOT }).map((name) => [name, bareOf(readFileSync(new URL(name, ROOT), 'utf8'))] as const),
  );
  const endsList = find.trimEnd().endsWith(',');
  const wanted = bareOf(endsList ? find.trimEnd().slice(0, -1) : find).text;
  const places = [...sources].flatMap(([name, bare]): Place[] => {
    const found: Place[] = [];
    for (let at = bare.text.indexOf(wanted); at >= 0; at = bare.text.indexOf(wanted, at + 1)) {
      const end = bare.at(at + wanted.length - 1) + 1;
      const comma = endsList ? (/^\s*,/.exec(bare.source.slice(end))?.[0].length ?? 0) : 0;
      found.push({ file: name, start: bare.at(at), end: end + comma });
    }
    return found;
  });
  return places.length > 1 && file !== undefined ? places.filter((place) => place.file.endsWith(`/${file}`)) : places;
}

/** A text without white space and trailing commas, which a formatter decides. */
interface Bare {
  readonly source: string;
  readonly text: string;
  /** The position in the source of a character of the bare text. */
  at(index: number): number;
}

function bareOf(source: string): Bare {
  const kept = [...source.matchAll(/,(?!\s*[)\]}])|[^\s,]/g)];
  return { source, text: kept.map(([character]) => character).join(''), at: (index) => kept[index]?.index ?? NaN };
}

/** A mutation whose place is found. */
export interface Change extends Place {
  readonly replace: string;
}

/** @throws if the sources do not have the expression exactly once */
export function changeOf(name: string): Change {
  const mutation = MUTATIONS.find((candidate) => candidate.name === name);
  if (mutation === undefined) throw new Error(`there is no mutation ${name}`);
  const [place, ...others] = placesOf(mutation);
  if (place === undefined || others.length > 0)
    throw new Error(
      `the sources have the expression of "${name}" ${others.length + (place === undefined ? 0 : 1)} times, not once`,
    );
  return { ...place, replace: mutation.replace ?? '' };
}
