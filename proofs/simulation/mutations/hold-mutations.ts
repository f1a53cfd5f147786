/** Of operators' holds: what they keep from being called. */
import type { Mutation } from '../mutations.ts';

export const HOLD_MUTATIONS: readonly Mutation[] = [
  {
    name: 'the gate does not ask what operators hold',
    find: "if (this.#acquisition.isHeld(entry)) return 'held by an operator';",
    among: ['holds'],
  },
  {
    name: 'intents are made whatever operators hold',
    find: 'if (held !== null) return held;',
    toldBy: 'test/lanes/holds',
  },
  {
    name: 'a new owner does not read in the ledger what operators hold',
    find: 'decodeHolds(parts.index.value(parts.lane, HOLD_KEY))',
    replace: 'decodeHolds(undefined)',
    among: ['holds', 'handovers'],
  },
  {
    name: 'a new owner calls before it has read the topic of holds',
    find: "if (!this.#isRead()) return 'holds-unread';",
    toldBy: 'test/lanes/holds',
  },
  {
    name: 'a hold is in force only once it is committed',
    find: 'this.#record = record;',
    replace: 'transaction.reports.push(() => (this.#record = record));',
    toldBy: 'test/lanes/holds',
  },
  {
    name: 'an order is confirmed while an owner that was fenced may begin calls',
    file: 'lanes/holds.ts',
    find: "if (clock.monotonicMs() < this.#confirmsFromMs) return 'former-owner';",
    toldBy: 'test/lanes/holds',
  },
  {
    name: 'an owner does not say until when one that was fenced may call',
    file: 'lanes/ownership.ts',
    find: 'return mayNotKnowItIsFenced ? clock.nowMs() + sessionTimeoutMs',
    replace: 'return mayNotKnowItIsFenced ? 0',
    toldBy: 'test/lanes/ownership',
  },
  {
    name: 'a hold of executions lets quotes be made that lead to one',
    find: ", ...(immediate ? (['execute-quote'] as const) : [])",
    among: ['holds'],
  },
];
