import { expect, test } from 'vitest';
import type { Entry } from '../../src/ledger/entry.ts';
import type { NotAdmittedCause } from '../../src/ops/lag.ts';
import { oldestUnanswered } from '../../src/ops/oldest-unanswered.ts';
import type { CommandType } from 'payment-processor-contract/commands';
import { doneWith, doubtful, entryAt } from '../ledger/entries.ts';

const NOW_MS = 100_000;

function waiting(lane: number, command: CommandType | null, oldestSeconds: number, cause: NotAdmittedCause | null) {
  return { lane, inputs: [{ command, oldestSeconds, cause }] };
}

function oldest(entries: readonly Entry[], states: Parameters<typeof oldestUnanswered>[1], held: CommandType[] = []) {
  const holds = held.map((command) => ({ command, lanes: [0] }));
  const { oldestNotHeldSeconds, oldestUnansweredSeconds } = oldestUnanswered(
    new Map([[0, { entries }]]),
    states,
    holds,
    NOW_MS,
  );
  return (command: CommandType) => [oldestUnansweredSeconds[command], oldestNotHeldSeconds[command]];
}

test('without a hold both ages are those of the oldest command, in Kafka or in the ledger', () => {
  const of = oldest(
    [entryAt('transfer-in'), doneWith(entryAt('reject-transaction'), 'ACCEPTED')],
    [
      waiting(0, 'transfer-in', 90, 'no-slot'),
      waiting(0, 'create-quote', 9, 'catching-up'),
      waiting(0, null, 99, null),
    ],
  );
  expect(of('transfer-in')).toEqual([100, 100]);
  expect(of('create-quote')).toEqual([9, 9]);
  expect(of('reject-transaction')).toEqual([null, null]);
});

test('a hold leaves out only its own types, and only in its lanes', () => {
  const states = [
    waiting(0, 'transfer-in', 200, 'lane-not-open'),
    waiting(1, 'transfer-in', 70, 'breaker'),
    waiting(0, 'reject-transaction', 80, 'operator-hold'),
  ];
  const of = oldest([entryAt('transfer-in'), entryAt('create-quote')], states, ['transfer-in']);
  expect(of('transfer-in')).toEqual([200, 70]);
  expect(of('create-quote')).toEqual([100, 100]);
  // The lane's own cause overrides the list of holds.
  expect(of('reject-transaction')).toEqual([80, null]);
});

test('a quote is held with its execution; a quote without one, and a command in doubt, are not', () => {
  const immediate = { ...entryAt('create-quote'), immediate: true };
  expect(oldest([immediate], [], ['execute-quote'])('create-quote')).toEqual([100, null]);
  expect(oldest([entryAt('create-quote')], [], ['execute-quote'])('create-quote')).toEqual([100, 100]);
  expect(oldest([doubtful(entryAt('transfer-in'))], [], ['transfer-in'])('transfer-in')).toEqual([100, 100]);
});
