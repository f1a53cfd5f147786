/**
 * The processor's sources so that one process can try many mutations: each function that has one gets its mutated bodies
 * beside the original, and a switch chooses between them at each call.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import ts from 'typescript';
import { changeOf, ROOT, type Change } from './mutations.ts';

/** Where the loaded code reads the index of the mutation in force; any other value: none. */
const SWITCH = 'mutationInForce';

/**
 * @returns the sources that the mutations change, by URL
 * @throws if the place of a mutation is not found, or not in a function
 */
export function switchedSources(names: readonly string[]): ReadonlyMap<string, string> {
  const changes = names.map((name, index) => ({ ...changeOf(name), name, index }));
  return new Map(
    [...Map.groupBy(changes, ({ file }) => file)].map(([file, ofFile]) => {
      const url = new URL(file, ROOT);
      return [url.href, withSwitches(readFileSync(url, 'utf8'), ofFile)];
    }),
  );
}

export class MutatedSources {
  readonly #names: readonly string[];

  /** Modules that this process loads from now on have the switches. */
  constructor(names: readonly string[]) {
    this.#names = names;
    const sources = switchedSources(names);
    registerHooks({
      load: (url, context, nextLoad) => {
        const loaded = nextLoad(url, context);
        const source = sources.get(url);
        return source === undefined ? loaded : { ...loaded, source };
      },
    });
  }

  /** @param name one of those that were loaded; null: the processor as it is */
  apply(name: string | null): void {
    const index = name === null ? undefined : this.#names.indexOf(name);
    if (index === -1) throw new Error(`the mutation "${name}" was not loaded`);
    Object.assign(globalThis, { [SWITCH]: index });
  }
}

type NumberedChange = Change & { readonly name: string; readonly index: number };

/** The source, each body that has changes replaced by a choice between its versions. */
function withSwitches(source: string, changes: readonly NumberedChange[]): string {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true);
  const changesOf = new Map<ts.Node, NumberedChange[]>();
  for (const change of changes) {
    const body = bodyAround(file, change);
    changesOf.set(body, [...(changesOf.get(body) ?? []), change]);
  }
  const bodies = [...changesOf].map(([node, ofBody]) => ({
    start: node.getStart(),
    end: node.end,
    isBlock: ts.isBlock(node),
    changes: ofBody,
  }));
  bodies.sort((left, right) => left.start - right.start || right.end - left.end);
  const render = (from: number, to: number, among: typeof bodies): string => {
    let text = '';
    let at = from;
    for (const body of among) {
      // Nested ones are rendered with the body around them.
      if (body.start < at) continue;
      const { changes: ofBody, end, isBlock, start } = body;
      const nested = among.filter((other) => other !== body && other.start >= start && other.end <= end);
      const original = render(start, end, nested);
      const mutated = ofBody.map((change): [number, string] => [
        change.index,
        source.slice(start, change.start) + change.replace + source.slice(change.end, end),
      ]);
      text += source.slice(at, start) + choice(isBlock, original, mutated);
      at = end;
    }
    return text + source.slice(at, to);
  };
  return render(0, source.length, bodies);
}

function choice(isBlock: boolean, original: string, mutated: readonly [number, string][]): string {
  const isInForce = (index: number): string => `globalThis.${SWITCH} === ${index}`;
  if (isBlock)
    return `{ ${mutated.map(([index, body]) => `if (${isInForce(index)}) ${body} else `).join('')}${original} }`;
  return `(${mutated.map(([index, body]) => `${isInForce(index)} ? (${body}) : `).join('')}(${original}))`;
}

/** The innermost body of a function that has the whole change. */
function bodyAround(file: ts.SourceFile, { end, file: name, name: mutation, start }: NumberedChange): ts.Node {
  const within = (node: ts.Node): ts.Node | null => {
    if (node.getStart() > start || node.end < end) return null;
    const inner = ts.forEachChild(node, (child) => within(child) ?? undefined) ?? null;
    return inner ?? (isBody(node) ? node : null);
  };
  const body = within(file);
  if (body === null) throw new Error(`"${mutation}" changes ${name} outside of the functions: it would change nothing`);
  return body;
}

function isBody(node: ts.Node): boolean {
  const { parent } = node;
  return ts.isFunctionLike(parent) && 'body' in parent && parent.body === node;
}
