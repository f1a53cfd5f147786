/** Judges a kill run by what others saw: results by a reader, money and effects by the service's own books. */
import type { Outcome } from '../../src/records/commands.ts';
import { STARTING_BALANCE } from '../../test/support/commands.ts';
import type { BooksReport, EffectsReport } from '../../test/support/sandbox-control.ts';
import type { KillCommand } from './kill-commands.ts';
import type { Evidence } from './kill-scenario.ts';

export interface Judgement {
  /** Every promise that was broken, in words; empty: all held. */
  wrong: string[];
  outcomes: Record<string, number>;
  effects: Record<string, number>;
  /** UNKNOWN by whether the command had taken effect. */
  unknown: { tookEffect: number; didNot: number };
}

const MOVES_NOTHING: readonly string[] = ['REFUSED', 'INVALID', 'EXPIRED', 'FAILED'] satisfies Outcome[];
/** Problems listed at most; a thousand of the same help nobody. */
const WRONG_MAX = 50;

export function judge(evidence: Evidence): Judgement {
  const { books, commands, deadLetters, effects, exitCode, results } = evidence;
  const wrong: string[] = [];
  const outcomes: Record<string, number> = {};
  const counted: Record<string, number> = {};
  const unknown = { tookEffect: 0, didNot: 0 };
  const byKey = new Map<string, string[]>();
  for (const event of results) {
    if (event.value.revision !== 1) wrong.push(`${event.key}: a result with revision ${event.value.revision}`);
    byKey.set(event.key, [...(byKey.get(event.key) ?? []), event.value.outcome]);
  }
  for (const command of commands) {
    const { key, type } = command;
    const found = byKey.get(key) ?? [];
    byKey.delete(key);
    if (found.length !== 1) wrong.push(`${key}: ${found.length} results (${found.join(', ')}), not one`);
    const outcome = found[0] ?? 'LOST';
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    const times = effectsOf(command, effects);
    counted[type] = (counted[type] ?? 0) + times;
    if (times > 1) wrong.push(`${key}: took effect ${times} times`);
    if (outcome === 'ACCEPTED' && times !== 1) wrong.push(`${key}: ACCEPTED, but ${times} effects`);
    if (MOVES_NOTHING.includes(outcome) && times > 0) wrong.push(`${key}: ${outcome}, but it took effect`);
    if (outcome === 'UNKNOWN') {
      if (times > 0) unknown.tookEffect += 1;
      else unknown.didNot += 1;
      // Transfers in have their key, the others name the transaction that a look-up finds: all doubt can be settled.
      wrong.push(`${key}: UNKNOWN, although its doubt could be settled`);
    }
    const moved = movedOf(command, books);
    if (moved !== null && moved !== command.effectAmount * BigInt(times)) {
      wrong.push(`${key}: ${moved} moved on ${command.account}, not ${command.effectAmount} times ${times}`);
    }
  }
  for (const key of byKey.keys()) wrong.push(`${key}: a result of a command that was never published`);
  if (!books.balanced) wrong.push(`the books are out: ${JSON.stringify(books.totals)}`);
  if (deadLetters > 0) wrong.push(`${deadLetters} dead letters`);
  if (exitCode !== 0) wrong.push(`the last processor ended with ${exitCode}, not 0`);
  if (wrong.length > WRONG_MAX) wrong.splice(WRONG_MAX, wrong.length, `and ${wrong.length - WRONG_MAX} more`);
  return { wrong, outcomes, effects: counted, unknown };
}

export function effectsOf({ key, subject, type }: KillCommand, effects: EffectsReport): number {
  switch (type) {
    case 'transfer-in':
      return effects.operations['transfer-in'][key]?.effects ?? 0;
    case 'execute-quote':
      return effects.quotes[subject]?.executions ?? 0;
    case 'reject-transaction':
      return effects.transactions[subject]?.rejections ?? 0;
  }
}

/** What the books say was added to the command's account; null where no account of its own would show it. */
export function movedOf({ account }: KillCommand, books: BooksReport): bigint | null {
  if (account === '') return null;
  const line = books.balances.find((balance) => balance.account === account);
  return line === undefined ? 0n : BigInt(line.balance) - STARTING_BALANCE;
}
