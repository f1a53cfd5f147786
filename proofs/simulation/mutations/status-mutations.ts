/** Of the events about transactions: which command an event names. */
import type { Mutation } from '../mutations.ts';

export const STATUS_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a transaction does not remember its commands',
    find: 'const state = withCommand(before, commandKey, carried);',
    replace: 'const state = before;',
  },
  {
    name: 'what was polled has no headers of its command',
    find: 'headers: { ...headers, ...state.carried },',
    replace: 'headers,',
  },
  {
    name: 'an answer that showed no effect names its command',
    find: 'commandKey: effect === null ? null : entry.key,',
    replace: 'commandKey: entry.key,',
  },
  {
    name: 'what the poller sees does not wait for its command',
    find: 'if (mayHaveCaused(effect, transaction, known, quoteId)) return false;',
  },
  {
    name: 'the poller takes the ledger for read',
    find: 'held.lastAddition > readUpTo || ',
  },
];
