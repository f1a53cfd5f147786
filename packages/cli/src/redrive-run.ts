/**
 * Redrives planned letters: marks some, publishes them, marks the next, and then waits for the results.
 *
 * Stages: the results are listened to -> (notes are written and read back -> messages are published), a few at a time ->
 * each result comes, or its time is up -> publisher and subscription are closed. Letters that are marked and could not be
 * published are told as such, and no further ones are marked.
 */
import { randomUUID } from 'node:crypto';
import { ResultAwaiter, type AwaitedResult } from 'payment-processor-client/internal/result-awaiter';
import { createRegistry, type ClientSettings } from 'payment-processor-client/internal/settings';
import { messageOf } from 'payment-processor-contract/registry-http';
import type { RecordRegistry } from 'payment-processor-contract/registry';
import { CLI_RETRY, cliKafka, type CliSettings } from './context.ts';
import { CliFailure } from './exit-codes.ts';
import { messageContent } from './message-content.ts';
import { claimRedrives, letterName, noteText, type ClaimedBy, type RedriveNote } from './redrive-notes.ts';
import type { ReadyRedrive } from './redrive-plan.ts';
import { Republisher, withHeaders } from './redrive.ts';

export type AwaitedOutcome =
  | { readonly kind: 'result'; readonly result: AwaitedResult }
  | { readonly kind: 'none-in-time'; readonly problem: string }
  | { readonly kind: 'not-awaited' };

export type RedriveOutcome =
  | {
      readonly kind: 'published';
      readonly partition: number;
      readonly offset: bigint;
      readonly awaited: AwaitedOutcome;
    }
  /** Somebody else was first: nothing was sent. */
  | { readonly kind: 'claimed-by-other'; readonly problem: string }
  /** Marked, and not published or not known to be. */
  | { readonly kind: 'not-known'; readonly problem: string }
  /** Neither marked nor published, for an earlier one could not be. */
  | { readonly kind: 'not-tried' };

export interface RunOptions {
  readonly operator: string;
  readonly notes: ReadonlyMap<string, readonly RedriveNote[]>;
  /** Null: results are not waited for. */
  readonly awaiting: { readonly settings: ClientSettings; readonly timeoutMs: number } | null;
}

/** Letters that are marked before the first of them is published: what a crash leaves marked and unsent. */
const CLAIMED_AT_ONCE = 20;

/** @returns in the order of the plans; what fails once the first may be marked is told of each */
export async function runRedrives(
  settings: CliSettings,
  plans: readonly ReadyRedrive[],
  options: RunOptions,
): Promise<RedriveOutcome[]> {
  const { awaiting } = options;
  const results = awaiting === null ? null : await ResultAwaiter.open(awaiting.settings, { retry: CLI_RETRY });
  const registry = awaiting === null ? null : createRegistry(awaiting.settings);
  try {
    const publisher = await Republisher.open(cliKafka(settings));
    try {
      const claim = (part: readonly ReadyRedrive[]): Promise<ClaimedBy[]> =>
        claimRedrives(settings, options.operator, part.map(claimOf(options)));
      return await redriveEach(plans, { claim, publisher, results, registry, timeoutMs: awaiting?.timeoutMs ?? 0 });
    } finally {
      await publisher.close();
    }
  } finally {
    await results?.close();
  }
}

export interface RedriveParts {
  readonly claim: (plans: readonly ReadyRedrive[]) => Promise<ClaimedBy[]>;
  readonly publisher: Pick<Republisher, 'publish'>;
  /** Null: results are not waited for. */
  readonly results: Pick<ResultAwaiter, 'expect'> | null;
  readonly registry: RecordRegistry | null;
  readonly timeoutMs: number;
}

/** Never rejects once a letter may be marked. */
export async function redriveEach(plans: readonly ReadyRedrive[], parts: RedriveParts): Promise<RedriveOutcome[]> {
  // Before the first is marked: where the registry does not answer, nothing was sent.
  const fingerprints: (string | null)[] = [];
  for (const plan of plans) fingerprints.push(await fingerprintOf(parts.registry, plan));
  const outcomes: Promise<RedriveOutcome>[] = [];
  let isBroken = false;
  for (let first = 0; first < plans.length; first += CLAIMED_AT_ONCE) {
    const part = plans.slice(first, first + CLAIMED_AT_ONCE);
    let claims: readonly ClaimedBy[] = [];
    let unclaimed: string | null = null;
    try {
      if (!isBroken) claims = await parts.claim(part);
    } catch (error) {
      isBroken = true;
      unclaimed = messageOf(error);
    }
    for (const [index, plan] of part.entries()) {
      const earlier = claims[index];
      if (unclaimed !== null) {
        const problem = `its message was not published, and the dead letter may be marked (${unclaimed}): see \`dead-letters show ${letterName(plan.letter)}\`; if it is, redrive it by its place with --again-may-pay-twice`;
        outcomes.push(Promise.resolve({ kind: 'not-known', problem }));
      } else if (earlier === undefined) outcomes.push(Promise.resolve({ kind: 'not-tried' }));
      else if (earlier !== null) {
        const problem = `somebody else was first: it was ${noteText(earlier)}; nothing was sent`;
        outcomes.push(Promise.resolve({ kind: 'claimed-by-other', problem }));
      } else if (isBroken) {
        const problem =
          'the dead letter is marked as redriven, and its message was not published, for an earlier one could not be: ' +
          'redrive it by its place with --again-may-pay-twice';
        outcomes.push(Promise.resolve({ kind: 'not-known', problem }));
      } else {
        const published = await publishOne(plan, fingerprints[first + index] ?? null, parts);
        isBroken = published.isBroken;
        outcomes.push(published.outcome);
      }
    }
  }
  return Promise.all(outcomes);
}

function claimOf({ notes }: RunOptions) {
  return ({ letter, target }: ReadyRedrive) => ({
    letter,
    key: target.key,
    knownNotes: notes.get(letterName(letter)) ?? [],
  });
}

/** Null: its result is not waited for, it is no command, or it cannot be read here. */
async function fingerprintOf(
  registry: RecordRegistry | null,
  { letter, target }: ReadyRedrive,
): Promise<string | null> {
  const { commandType, topic } = target;
  if (registry === null || commandType === null) return null;
  const headers = Object.fromEntries(Object.entries(letter.headers).map(([name, values]) => [name, [...values]]));
  const content = await messageContent(registry, { topic, headers, value: letter.value }, commandType);
  return content.kind === 'fields' ? content.fingerprint : null;
}

/** @param fingerprint of its command; null: its result is known by its id alone */
async function publishOne(
  { letter, target }: ReadyRedrive,
  fingerprint: string | null,
  { publisher, results, timeoutMs }: RedriveParts,
): Promise<{ isBroken: boolean; outcome: Promise<RedriveOutcome> }> {
  const ownId = letter.headers['ce_id']?.[0]?.toString();
  // By its id the result is known as that of this message.
  const commandId = ownId ?? randomUUID();
  const named = ownId === undefined ? withHeaders(letter, new Map([['ce_id', commandId]])) : letter;
  // A decision's answer is a revision or a dead letter, which its own key's story tells.
  const asked = { commandId, timeoutMs, ...(fingerprint === null ? {} : { fingerprint }) };
  const awaited =
    results === null || target.commandType === null
      ? null
      : results.expect(target.key, { ...asked, type: target.commandType });
  try {
    const at = await publisher.publish(named, target);
    return { isBroken: false, outcome: outcomeOf(at, awaited) };
  } catch (error) {
    if (!(error instanceof CliFailure)) throw error;
    return { isBroken: true, outcome: Promise.resolve({ kind: 'not-known', problem: error.message }) };
  }
}

async function outcomeOf(
  at: { partition: number; offset: bigint },
  awaited: Promise<AwaitedResult> | null,
): Promise<RedriveOutcome> {
  if (awaited === null) return { kind: 'published', ...at, awaited: { kind: 'not-awaited' } };
  try {
    return { kind: 'published', ...at, awaited: { kind: 'result', result: await awaited } };
  } catch (error) {
    return { kind: 'published', ...at, awaited: { kind: 'none-in-time', problem: messageOf(error) } };
  }
}
