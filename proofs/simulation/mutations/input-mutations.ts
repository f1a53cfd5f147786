/** Of what is read from Kafka: what comes next, and what was done to topics behind a lane’s back. */
import type { Mutation } from '../mutations.ts';

export const INPUT_MUTATIONS: readonly Mutation[] = [
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
    name: 'a topic that was made again is read on',
    file: 'lanes/forced-jumps.ts',
    find: 'boundId !== undefined && seen.topicId !== null && seen.topicId !== boundId',
    replace: 'Number.isNaN(0)',
    among: ['topics-again'],
  },
  {
    name: 'a topic that ends before is read on',
    file: 'lanes/forced-jumps.ts',
    find: 'seen.highOffset < offsetBefore',
    replace: 'Number.isNaN(0)',
    isToldDirectly: true,
  },
  {
    name: 'a topic that begins after is read on',
    file: 'lanes/forced-jumps.ts',
    find: 'seen.lowOffset > offsetAfter',
    replace: 'Number.isNaN(0)',
    among: ['truncation'],
  },
  {
    name: 'an open lane does not stop for a forced jump',
    file: 'lanes/input-watch.ts',
    find: 'stop(jump.reason);',
    replace: 'undefined;',
    among: ['topics-again'],
  },
  {
    name: 'a change of leader stops lanes',
    file: 'lanes/input-watch.ts',
    find: 'return foundMs >= JUMP_PATIENCE_MS;',
    replace: 'return true;',
    among: ['leaders'],
  },
  {
    name: 'a change of leader stops lanes that are opened',
    file: 'lanes/inputs.ts',
    find: 'askedForMs < JUMP_PATIENCE_MS',
    replace: 'Number.isNaN(0)',
    among: ['leaders'],
  },
  {
    name: 'records that are for no reader are not stepped over in the ledger',
    file: 'lanes/inputs.ts',
    find: '[...handled, ...passed]',
    replace: 'handled',
    isToldDirectly: true,
  },
  {
    name: 'an idle lane does not tell the ledger what it has stepped over',
    file: 'lanes/inputs.ts',
    find: '!this.#isBound || this.#hasPassedForLong()',
    replace: '!this.#isBound',
    isToldDirectly: true,
  },
  {
    name: 'a lane seeks without end',
    file: 'consumers/inbox.ts',
    find: 'return this.#seeks >= FRUITLESS_SEEKS_MAX;',
    replace: 'return Number.isNaN(0);',
    isToldDirectly: true,
  },
  {
    name: 'a store of long ago is read on, by our clock and the brokers’',
    file: 'store/ledger-start.ts',
    find: 'else if (nextOffset + 1n < high) {',
    replace: 'else if (Number.isNaN(0)) {',
    among: ['absence'],
  },
];
