/** Judges a chaos run by the topics and by the service's own books, which count effects, not calls. */
import { POISONED_MIB_MAX } from '../bench/process-memory.ts';
import type { Outcome } from 'payment-processor-contract/commands';
import type { CommandResult } from 'payment-processor-contract/types';
import { STARTING_BALANCE } from '../../test/support/commands.ts';
import type { ResultEvent } from '../../test/support/journal.ts';
import type { EffectsReport } from '../../test/support/sandbox-control.ts';
import type { ChaosCommand, ChaosMessage } from './chaos-commands.ts';
import type { JudgedEvidence } from './chaos-evidence.ts';
import { judgePoisons, NO_POISON } from './poison-load.ts';
import { judgeStatusEvents } from './status-judgement.ts';

export interface ChaosJudgement {
  /** Every promise that was broken, in words; empty: all held. */
  wrong: string[];
  outcomes: Record<string, number>;
  effects: Record<string, number>;
  unknown: { total: number; tookEffect: number; byType: Record<string, number> };
  replays: number;
  conflicts: number;
}

export const MOVES_NOTHING: readonly string[] = ['REFUSED', 'INVALID', 'EXPIRED', 'FAILED'] satisfies Outcome[];
/** The memory limit of one processor without poison, MiB; includes the local store's mapped pages. */
const RESIDENT_MIB_MAX = 400;

export function judgeChaos(given: JudgedEvidence): ChaosJudgement {
  const { wrong: poisonWrong, ...found } = judgePoisons(given);
  const evidence: JudgedEvidence = { ...given, ...found };
  const wrong: string[] = [...poisonWrong];
  const outcomes: Record<string, number> = {};
  const effects: Record<string, number> = {};
  const unknown: ChaosJudgement['unknown'] = { total: 0, tookEffect: 0, byType: {} };
  const count = (record: Record<string, number>, name: string, by = 1): void => {
    record[name] = (record[name] ?? 0) + by;
  };
  const { firsts, replays, conflicts } = sortResults(evidence, wrong);
  const balances = new Map(evidence.books.balances.map(({ account, balance }) => [account, BigInt(balance)]));
  for (const command of evidence.plan.commands) {
    const { key, type } = command;
    const found = firsts.get(key) ?? [];
    firsts.delete(key);
    if (found.length !== 1) wrong.push(`${key}: ${found.length} results (${found.map(described).join('; ')}), not one`);
    const outcome = found[0]?.value.outcome ?? 'LOST';
    count(outcomes, outcome);
    const times = effectsOf(command, evidence.effects);
    count(effects, type, times);
    wrong.push(...judgeOutcome(evidence, command, found[0]?.value, times));
    if (outcome === 'UNKNOWN') {
      unknown.total += 1;
      if (times > 0) unknown.tookEffect += 1;
      count(unknown.byType, type);
    }
    const moved = movedOf(command, balances);
    if (moved !== null && moved !== command.effectAmount * BigInt(times)) {
      wrong.push(`${key}: ${moved} moved on ${command.account}, not ${command.effectAmount} times ${times}`);
    }
    for (const { id, value } of replays.get(key) ?? [])
      if (id !== found[0]?.id || value.revision !== 1)
        wrong.push(`${key}: a copy was answered with another event (${id})`);
  }
  for (const key of firsts.keys()) wrong.push(`${key}: a result of a command that was never published`);
  wrong.push(
    ...judgeAnswered(evidence.plan.messages, evidence.results),
    ...judgeDeadLetters(evidence),
    ...judgeStatusEvents(evidence),
    ...judgeProcesses(evidence),
  );
  if (!evidence.books.balanced) wrong.push(`the books are out: ${JSON.stringify(evidence.books.totals)}`);
  return { wrong, outcomes, effects, unknown, replays: [...replays.values()].flat().length, conflicts };
}

interface SortedResults {
  /** Results that are not replays, by key. */
  firsts: Map<string, ResultEvent[]>;
  replays: Map<string, ResultEvent[]>;
  conflicts: number;
}

function sortResults({ plan, results }: JudgedEvidence, wrong: string[]): SortedResults {
  const conflictIds = new Set(plan.messages.filter(({ kind }) => kind === 'conflict').map(({ id }) => id));
  const sorted: SortedResults = { firsts: new Map(), replays: new Map(), conflicts: 0 };
  const seen = new Set<string>();
  for (const event of results) {
    const repliesTo = event.headers['in-reply-to'] ?? '';
    const isReplay = event.headers['replayed'] === 'true';
    if (event.value.outcome === 'CONFLICT') {
      sorted.conflicts += 1;
      if (!conflictIds.has(repliesTo)) wrong.push(`${event.key}: CONFLICT for ${repliesTo}, which is none`);
      continue;
    }
    if (conflictIds.has(repliesTo)) wrong.push(`${event.key}: ${event.value.outcome} for a conflicting message`);
    const target = isReplay ? sorted.replays : sorted.firsts;
    target.set(event.key, [...(target.get(event.key) ?? []), event]);
    if (isReplay) continue;
    if (event.value.revision !== 1) wrong.push(`${event.key}: a result with revision ${event.value.revision}`);
    if (event.id === null || seen.has(event.id)) wrong.push(`${event.key}: the event id ${event.id} comes twice`);
    if (event.id !== null) seen.add(event.id);
  }
  return sorted;
}

/** Each message of a command has an answer. */
export function judgeAnswered(messages: readonly ChaosMessage[], results: readonly ResultEvent[]): string[] {
  const answered = new Set(results.map(({ headers }) => headers['in-reply-to']));
  return messages
    .filter(({ id }) => !answered.has(id))
    .map(({ command, id, kind }) => `${command.key}: its ${kind} message ${id} was not answered`);
}

function judgeOutcome(
  evidence: JudgedEvidence,
  command: ChaosCommand,
  result: CommandResult | undefined,
  times: number,
): string[] {
  const { key, type, allowed } = command;
  const outcome = result?.outcome ?? 'LOST';
  const wrong: string[] = [];
  // A second effect does no harm: an unexecuted quote moves no money, and a simulated payment is only the sandbox's.
  const isHarmless = type === 'create-quote' || type === 'simulate-uma-receive';
  if (times > 1 && !isHarmless) wrong.push(`${key}: took effect ${times} times`);
  if (outcome === 'ACCEPTED' && times < 1) wrong.push(`${key}: ACCEPTED, but ${times} effects`);
  if (MOVES_NOTHING.includes(outcome) && times > 0 && type !== 'create-quote') {
    wrong.push(`${key}: ${outcome}, but it took effect`);
  }
  if (outcome === 'UNKNOWN') {
    if (!mayBeUnknown(evidence, command)) wrong.push(`${key}: UNKNOWN, although its doubt could be settled`);
    else if (!wasInDoubt(evidence, key, result)) {
      wrong.push(`${key}: UNKNOWN, although each of its calls was answered and no process was killed over it`);
    }
  } else if (outcome !== 'LOST' && !(allowed as readonly string[]).includes(outcome)) {
    wrong.push(`${key}: ${outcome}, not ${allowed.join(' or ')}`);
  }
  return wrong;
}

/** Whether the wire or the ledger shows that one of its calls went unanswered, or cannot rule it out. */
function wasInDoubt(evidence: JudgedEvidence, key: string, result: CommandResult | undefined): boolean {
  const { unclearKeys, underWayAtKills, wasCutAround } = evidence;
  return unclearKeys.has(key) || underWayAtKills.has(key) || wasCutAround(Number(result?.completedAt ?? 0n));
}

/** Whether the command may stay UNKNOWN, according to the documented tables. */
function mayBeUnknown(
  { honourKeys, mayBeUnfound = false }: JudgedEvidence,
  { type, commandType, hasExpiry }: ChaosCommand,
): boolean {
  switch (type) {
    case 'transfer-in':
    case 'simulate-uma-receive':
      // Only a repeated call settles it, which may be too late for a command that expires.
      return hasExpiry || (type === 'transfer-in' && !honourKeys.includes('transfer-in'));
    case 'execute-quote':
    case 'reject-transaction':
      return honourKeys.includes(commandType) ? hasExpiry : mayBeUnfound;
    case 'immediate-quote':
      // Its quote may expire while its transaction still shows PENDING; a command that expires then cannot wait for the next status.
      return hasExpiry || (!honourKeys.includes('execute-quote') && mayBeUnfound);
    case 'create-quote':
      return hasExpiry && honourKeys.includes('create-quote');
  }
}

export function effectsOf(
  { key, subject, type }: Pick<ChaosCommand, 'key' | 'subject' | 'type'>,
  { operations, quotes, transactions }: EffectsReport,
): number {
  switch (type) {
    case 'transfer-in':
    case 'create-quote':
    case 'simulate-uma-receive':
      return operations[type][key]?.effects ?? 0;
    case 'immediate-quote':
      return operations['execute-quote'][`${key}.execute`]?.effects ?? 0;
    case 'execute-quote':
      return quotes[subject]?.executions ?? 0;
    case 'reject-transaction':
      return transactions[subject]?.rejections ?? 0;
  }
}

/** The amount that the command's account gained, by the books; null if the account does not show its effects. */
function movedOf({ account }: ChaosCommand, balances: ReadonlyMap<string, bigint>): bigint | null {
  if (account === null) return null;
  const balance = balances.get(account);
  return balance === undefined ? 0n : balance - STARTING_BALANCE;
}

function judgeDeadLetters({ plan, deadLetters }: JudgedEvidence): string[] {
  const expected = new Set(plan.commands.filter(({ isUnreadable }) => isUnreadable).map(({ key }) => key));
  const wrong: string[] = [];
  for (const letter of deadLetters) {
    const key = letter.key?.toString() ?? '';
    if (!expected.has(key))
      wrong.push(`${key}: a dead letter, ${letter.headers['dlq-reason']}: ${letter.headers['dlq-message']}`);
  }
  const buried = new Set(deadLetters.map(({ key }) => key?.toString() ?? ''));
  for (const key of expected) if (!buried.has(key)) wrong.push(`${key}: unreadable, and no dead letter`);
  return wrong;
}

function judgeProcesses({
  badStops,
  coordinatorOutages = [],
  poison = NO_POISON,
  residentMiBMax,
  unreadableEvents,
}: JudgedEvidence): string[] {
  const wrong = badStops.map(({ name, code, signal }) => `${name}: did not end in order (${code ?? signal})`);
  for (const { code, name, signal } of coordinatorOutages.flatMap(({ ownEnds }) => ownEnds))
    wrong.push(`${name}: ended itself when the coordinator of transactions was lost (${code ?? signal})`);
  const allowed = poison.put.length > 0 ? POISONED_MIB_MAX : RESIDENT_MIB_MAX;
  for (const [name, resident] of residentMiBMax)
    if (resident > allowed) wrong.push(`${name}: ${resident} MB of memory`);
  if (unreadableEvents > 0) wrong.push(`${unreadableEvents} events cannot be read`);
  return wrong;
}

function described({ headers, id, partition, offset, value }: ResultEvent): string {
  return `${value.outcome} ${id} at ${partition}:${offset} for ${headers['in-reply-to']}`;
}
