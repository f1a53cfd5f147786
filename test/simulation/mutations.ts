/**
 * Protections of src/ that can be taken out, one at a time, to see that histories tell. Each is a change of the source as
 * it is loaded: a text that is there once, and what stands in its place.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

export interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** No history reaches what it protects from: the direct checks tell. */
  readonly isToldDirectly?: true;
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'the inbox takes batches from any offset',
    file: 'consumers/inbox.ts',
    find: 'if (batch.fetchedOffset > expected || batch.lastOffset + 1n < expected) {',
    replace: 'if (Number.isNaN(0)) {',
  },
  {
    name: 'the inbox does not step over filtered records',
    file: 'consumers/inbox.ts',
    find: 'this.#expected !== null && firstOffset <= this.#expected && lastOffset >= this.#expected',
    replace: 'Number.isNaN(0)',
  },
  {
    name: 'the gate does not ask for a heartbeat',
    file: 'lanes/attempts.ts',
    find: "if (!isConfirmed()) return 'the last confirmed heartbeat is too old';",
    replace: '',
  },
  {
    name: 'a heartbeat is timed by its answer',
    file: 'consumers/group-member.ts',
    find: 'const sinceSentMs = Math.max(0, clock.nowMs() - this.#lastRequestSentWallMs);',
    replace: 'this.#lastRequestSentWallMs = clock.nowMs(); const sinceSentMs = 0;',
  },
  {
    name: 'the gate is not asked at the socket',
    file: 'api/perform.ts',
    find: 'own.objection = options.beforeSending?.() ?? null',
    replace: 'own.objection = null',
  },
  {
    name: 'a new owner fences nobody',
    file: 'lanes/lane.ts',
    find: 'makeProducer(lane, transactionalId)',
    replace: 'makeProducer(lane, `${transactionalId}-${this.#parts.processId}`)',
  },
  {
    name: 'a new owner does not read the ledger to its end',
    file: 'lanes/ownership.ts',
    find: '  await seen;\n',
    replace: '',
  },
  {
    name: 'the progress of the group is asked for after the lane is taken',
    file: 'lanes/lane.ts',
    find: 'const positions = await this.#inputs.startPositions(starts, index.position(lane), isWanted);',
    replace:
      'const known = index.position(lane); const positions = await this.#inputs.startPositions(await this.#inputs.starts(), known, isWanted);',
  },
  {
    name: 'an orphaned call is settled at once',
    file: 'lanes/attempts.ts',
    find: 'clock.nowMs() + sessionTimeoutMs + phase.timeoutMs',
    replace: 'clock.nowMs() - 3_600_000',
  },
  {
    name: 'a call in doubt is settled at once',
    file: 'ledger/settlement.ts',
    find: 'return endedMs + policy.settlingTimeMs;',
    replace: 'return endedMs;',
  },
  {
    name: 'finished entries are forgotten',
    file: 'lanes/memory.ts',
    find: 'this.unfinished.get(key) ?? this.#done.get(key)?.value ?? this.#index.entry(this.#lane, key)',
    replace: 'this.unfinished.get(key)',
  },
  {
    name: 'finished entries are known only once the index shows them',
    file: 'lanes/memory.ts',
    find: 'this.unfinished.get(key) ?? this.#done.get(key)?.value ?? this.#index.entry(this.#lane, key)',
    replace: 'this.unfinished.get(key) ?? this.#index.entry(this.#lane, key)',
  },
  {
    name: 'the index is believed for another owner’s commits',
    file: 'lanes/memory.ts',
    find: 'if (token !== this.#token) return;',
    replace: '',
    isToldDirectly: true,
  },
  {
    name: 'begun calls of a lost lane are forgotten',
    file: 'lanes/calls.ts',
    find: 'if (wasBegun(attempt)) this.#remember(attempt);',
    replace: 'if (wasBegun(attempt)) this.#forget(attemptId, attempt);',
  },
  {
    name: 'any intent counts as our own',
    file: 'lanes/attempts.ts',
    find: "phase.processId === processId ? calls.adopt(phase.attemptId, this.#ownerOf(entry)) : 'unknown'",
    replace: 'calls.adopt(phase.attemptId, this.#ownerOf(entry))',
  },
  {
    name: 'an intent that is committed again is called again',
    file: 'lanes/calls.ts',
    find: "if (attempt.stage !== 'claimed') return;",
    replace: '',
  },
  {
    name: 'a call begins before its intent is committed',
    file: 'lanes/tenure.ts',
    find: 'const { producer, token } = this.#ownership;',
    replace:
      "const { producer, token } = this.#ownership; for (const entry of transaction.entries()) if (entry.phase.state === 'INTENT') this.#laneCalls.begin(entry);",
  },
  {
    name: 'an answer counts for whatever attempt is under way',
    file: 'ledger/decide.ts',
    find: "if (phase.state !== 'INTENT' || phase.attemptId !== event.attemptId) return UNCHANGED;\n  const settlement",
    replace: "if (phase.state !== 'INTENT') return UNCHANGED;\n  const settlement",
    isToldDirectly: true,
  },
  {
    name: 'a transfer in is repeated where its key is not honoured',
    file: 'ledger/settlement.ts',
    find: "    case 'transfer-in':\n      return keyHonoured ? 'SAME_KEY' : 'NONE';",
    replace: "    case 'transfer-in':\n      return 'SAME_KEY';",
  },
  {
    name: 'each attempt has a key of its own',
    file: 'lanes/attempts.ts',
    find: '...callOf(entry)',
    replace: 'request: callOf(entry).request, idempotencyKey: `${callOf(entry).idempotencyKey}-${entry.attempts}`',
  },
  {
    name: 'stale observations count',
    file: 'status/reducer.ts',
    find: "if (order === 'stale') return { state, event: null };",
    replace: '',
  },
  {
    name: 'a decision is not held against its revision',
    file: 'ledger/operator.ts',
    find: 'if (order.expectedRevision !== entry.revision) {',
    replace: 'if (Number.isNaN(0)) {',
  },
];

export function isToldDirectly(name: string): boolean {
  return MUTATIONS.find((mutation) => mutation.name === name)?.isToldDirectly ?? false;
}

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
