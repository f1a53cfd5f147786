/**
 * Protections of src/ that can be taken out, one at a time, to see that histories tell. Each is a change of the source as
 * it is loaded: a text that is there once, and what stands in its place.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import type { Disturbance } from './disturbances.ts';
import { CALL_MUTATIONS } from './mutations/call-mutations.ts';
import { DECISION_MUTATIONS } from './mutations/decision-mutations.ts';
import { INTAKE_MUTATIONS } from './mutations/intake-mutations.ts';
import { INPUT_MUTATIONS } from './mutations/input-mutations.ts';
import { MEMBER_MUTATIONS } from './mutations/member-mutations.ts';
import { STATUS_MUTATIONS } from './mutations/status-mutations.ts';
import { OWNERSHIP_MUTATIONS } from './mutations/ownership-mutations.ts';

export interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** In every history by which it is to be noticed; absent: as drawn. */
  readonly among?: readonly Disturbance[];
  /** No history reaches what it protects from: the direct checks tell, and no history is run. */
  readonly isToldDirectly?: true;
}

export const MUTATIONS: readonly Mutation[] = [
  ...CALL_MUTATIONS,
  ...DECISION_MUTATIONS,
  ...INTAKE_MUTATIONS,
  ...INPUT_MUTATIONS,
  ...MEMBER_MUTATIONS,
  ...STATUS_MUTATIONS,
  ...OWNERSHIP_MUTATIONS,
];

/** How often the source has the text of a mutation; it must be once. */
export function placesOf({ file, find }: Mutation): number {
  return readFileSync(sourceUrl(file), 'utf8').split(find).length - 1;
}

function sourceUrl(file: string): URL {
  return new URL(`../../src/${file}`, import.meta.url);
}

/**
 * From now on modules are loaded with the mutation.
 * @throws when the source does not have the text, or has it more than once
 */
export function applyMutation(name: string): void {
  const mutation = MUTATIONS.find((candidate) => candidate.name === name);
  if (mutation === undefined) throw new Error(`there is no mutation ${name}`);
  const { file, find, replace } = mutation;
  if (placesOf(mutation) !== 1)
    throw new Error(`${file} has the text of "${name}" ${placesOf(mutation)} times, not once`);
  const target = sourceUrl(file).href;
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      if (url !== target) return loaded;
      return { ...loaded, source: sourceOf(loaded.source).split(find).join(replace) };
    },
  });
}

function sourceOf(source: string | ArrayBuffer | NodeJS.TypedArray | undefined): string {
  return typeof source === 'string' ? source : new TextDecoder().decode(source);
}
