/**
 * Judges the commands on which operators decided. Each decision is refused, or makes one revision that names it. Each
 * revision was true when it was written, unless an operator was wrong.
 */
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { DECISION_HEADER } from '../../src/producers/result-events.ts';
import type { ChaosCommand } from '../chaos/chaos-commands.ts';
import { MOVES_NOTHING } from '../chaos/chaos-judgement.ts';
import type { ResultEvent } from '../../test/support/journal.ts';
import type { GivenDecision } from './operators.ts';
import type { Effect, ServiceState } from './service-state.ts';

/** Decisions that were not refused with a dead letter. */
export function carriedOut(given: readonly GivenDecision[], deadLetters: readonly TopicRecord[]): GivenDecision[] {
  const refused = new Set(
    deadLetters
      .filter(({ headers }) => headers['dlq-reason'] === 'REFUSED_DECISION')
      .map(({ headers }) => `${headers['dlq-partition']}/${headers['dlq-offset']}`),
  );
  return given.filter(({ offset, partition }) => !refused.has(`${partition}/${offset}`));
}

/** Decisions that are neither refused nor followed by a result. Of several on one revision, only one gets a result. */
export function unsettled(
  given: readonly GivenDecision[],
  { deadLetters, results }: { deadLetters: readonly TopicRecord[]; results: readonly ResultEvent[] },
): GivenDecision[] {
  const followed = new Set<string>();
  return carriedOut(given, deadLetters).filter(({ expectedRevision, key }) => {
    const revision = `${key} ${expectedRevision}`;
    const isFirst = !followed.has(revision);
    followed.add(revision);
    return !isFirst || !results.some((result) => result.key === key && result.value.revision > expectedRevision);
  });
}

export function judgeDecided(
  command: ChaosCommand,
  decisions: readonly GivenDecision[],
  results: readonly ResultEvent[],
  service: ServiceState,
): string[] {
  const { key, type } = command;
  const own = results.filter((result) => result.key === key && result.value.outcome !== 'CONFLICT');
  const revisions = own.filter(({ headers }) => headers['replayed'] !== 'true');
  const effects = service.effectsOf(command);
  const wrong: string[] = [];
  const numbers = revisions.map(({ value }) => value.revision);
  const wanted = Array.from({ length: decisions.length + 1 }, (_, index) => index + 1);
  if (numbers.join() !== wanted.join())
    wrong.push(`${key}: revisions ${numbers.join()} after ${decisions.length} decisions that were carried out`);
  decisions.forEach(({ decision, expectedRevision }, index) => {
    if (expectedRevision !== index + 1)
      wrong.push(`${key}: ${decision} of revision ${expectedRevision} was carried out`);
  });
  for (const { headers, value } of own) {
    const named = headers[DECISION_HEADER];
    if (named !== decisions[value.revision - 2]?.id)
      wrong.push(`${key}: revision ${value.revision} names the decision ${String(named)}`);
  }
  for (const replay of own.filter(({ headers }) => headers['replayed'] === 'true'))
    if (!revisions.some(({ id }) => id === replay.id)) wrong.push(`${key}: a copy was answered with ${replay.id}`);
  // A second effect does no harm: an unexecuted quote moves no money, and a simulated payment is only the sandbox's.
  const isHarmless = type === 'create-quote' || type === 'simulate-uma-receive';
  if (effects.length > 1 && !isHarmless && !hasLied(decisions, effects))
    wrong.push(`${key}: took effect ${effects.length} times, after ${decisions.map(said).join()}`);
  if (type !== 'create-quote')
    for (const result of revisions)
      wrong.push(...judgeTruth(result, decisions, effects).map((line) => `${key}: ${line}`));
  return wrong;
}

/** Compares a result with the books at the time it was written. A call in flight at that time counts as well. */
function judgeTruth(
  { timestampMs, value: { outcome, revision } }: ResultEvent,
  decisions: readonly GivenDecision[],
  effects: readonly Effect[],
): string[] {
  const before = decisions.slice(0, revision - 1);
  const decided = before.at(-1)?.decision;
  if (decided === 'EXECUTED') return outcome === 'ACCEPTED' ? [] : [`decided EXECUTED, and ${outcome}`];
  if (decided === 'NOT_EXECUTED') return outcome === 'EXPIRED' ? [] : [`decided NOT_EXECUTED, and ${outcome}`];
  const isSaidBefore = hasLied(before, effects);
  const sent = effects.filter(({ sentMs }) => sentMs <= timestampMs);
  if (MOVES_NOTHING.includes(outcome) && sent.length > 0 && !isSaidBefore)
    return [`revision ${revision} is ${outcome}, but it took effect`];
  if (outcome === 'ACCEPTED' && !effects.some(({ atMs }) => atMs <= timestampMs))
    return [`revision ${revision} is ACCEPTED, without an effect`];
  return [];
}

/** Whether an operator decided NOT_EXECUTED although a call had been sent that took effect, then or later. */
function hasLied(decisions: readonly GivenDecision[], effects: readonly Effect[]): boolean {
  return decisions.some(
    ({ atMs, decision }) => decision === 'NOT_EXECUTED' && effects.some(({ sentMs }) => sentMs <= atMs),
  );
}

function said({ decision, expectedRevision }: GivenDecision): string {
  return `${decision} of ${expectedRevision}`;
}
