/** Of what is read from Kafka: what comes next, and what was done to topics behind a lane’s back. */
import type { Mutation } from '../mutations.ts';

export const INPUT_MUTATIONS: readonly Mutation[] = [
  {
    name: 'the inbox takes batches from any offset',
    find: 'if (batch.fetchedOffset > expected || batch.lastOffset + 1n < expected) {',
    replace: 'if (Number.isNaN(0)) {',
  },
  {
    name: 'the inbox does not step over filtered records',
    find: 'this.#expected !== null && fetchedOffset <= this.#expected && lastOffset >= this.#expected',
    replace: 'Number.isNaN(0)',
  },
  {
    name: 'a topic that was made again is read on',
    find: 'boundId !== undefined && seen.topicId !== null && seen.topicId !== boundId',
    replace: 'Number.isNaN(0)',
    among: ['topics-again'],
  },
  {
    name: 'a topic that ends before is read on',
    find: 'seen.highOffset < offsetBefore',
    replace: 'Number.isNaN(0)',
    toldBy: 'test/promises/i1-forced-jumps-simulated',
  },
  {
    name: 'a topic that was truncated and has grown again is read on',
    find: 'epochEnd >= span.end',
    replace: '!Number.isNaN(0)',
    toldBy: 'proofs/simulation/truncated-topic',
  },
  {
    name: 'a leader epoch is compared no more once another follows',
    find: 'const before = spans.at(-1)?.epoch === epoch ? spans.slice(0, -1) : spans;',
    replace: 'const before = spans.slice(0, 0);',
    toldBy: 'proofs/simulation/truncated-topic',
  },
  {
    name: 'a topic that begins after is read on',
    find: 'seen.lowOffset > offsetAfter',
    replace: 'Number.isNaN(0)',
    among: ['truncation'],
  },
  {
    name: 'an open lane does not stop for a forced jump',
    find: 'stop(jump);',
    replace: 'undefined;',
    among: ['topics-again'],
  },
  {
    name: 'a change of leader stops lanes',
    find: 'return foundMs >= JUMP_GRACE_MS;',
    replace: 'return true;',
    among: ['leaders'],
  },
  {
    name: 'a change of leader stops lanes that are opened',
    find: 'askedForMs < JUMP_GRACE_MS',
    replace: 'Number.isNaN(0)',
    among: ['leaders'],
  },
  {
    name: 'a ledger that was made again is used',
    find: 'knownLedgerId !== undefined && knownLedgerId !== ledgerId',
    replace: 'Number.isNaN(0)',
    toldBy: 'test/promises/i1-forced-jumps-simulated',
  },
  {
    name: 'a ledger without a position is begun anew',
    find: 'position === undefined && committedOffset !== null && committedOffset > 0n',
    replace: 'Number.isNaN(0)',
    toldBy: 'test/promises/i1-forced-jumps-simulated',
  },
  {
    name: 'records that are for no reader are not stepped over in the ledger',
    find: '[...handled, ...passed]',
    replace: 'handled',
    toldBy: 'test/promises/i1-forced-jumps-simulated',
  },
  {
    name: 'an idle lane does not tell the ledger what it has stepped over',
    find: '!this.#isBound || this.#hasBeenAheadTooLong()',
    replace: '!this.#isBound',
    toldBy: 'test/lanes/inputs',
  },
  {
    name: 'a lane seeks without end',
    find: 'return this.#seeks >= FRUITLESS_SEEKS_MAX;',
    replace: 'return Number.isNaN(0);',
    toldBy: 'test/consumers/inbox',
  },
  {
    name: 'a store of long ago is read on, by our clock and the brokers’',
    find: 'else if (nextOffset + 1n < high) {',
    replace: 'else if (Number.isNaN(0)) {',
    among: ['absence'],
  },
  {
    name: 'a position is held against the end for readers',
    find: 'this.#endsOf(topics, READ_UNCOMMITTED)',
    replace: 'this.#endsOf(topics)',
    among: ['coordinator'],
  },
  {
    name: 'a store is held against the end for readers',
    find: 'const end = written.get(lane) ?? high;',
    replace: 'const end = high;',
    among: ['coordinator'],
  },
  {
    name: 'a store is younger than the end for readers, and so of another topic',
    find: 'later < nextOffset && later < high',
    replace: 'later < nextOffset',
    among: ['coordinator'],
  },
];
