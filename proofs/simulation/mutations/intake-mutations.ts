/** Of messages that come in: what is bounded, what is refused, what is set aside. */
import type { Mutation } from '../mutations.ts';

export const INTAKE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a text that is no JSON ends its fingerprint',
    file: 'contract/src/command-fields.ts',
    find: `    return text;
`,
    replace: `    throw new Error('others');
`,
    among: ['poison-others'],
  },
  {
    name: 'a result has any number of problems',
    find: '.slice(0, PROBLEMS_MAX)',
    replace: '.slice(0)',
    toldBy: 'packages/contract/test/command-fields',
  },
  {
    name: 'of a member that is there twice the last counts',
    find: `  if (ambiguity !== null) throw new JsonMeaningError(ambiguity.problem);
`,
    among: ['poison-twice'],
  },
  {
    name: 'nesting has no limit',
    find: `  if (ambiguity?.kind === 'too-deep') throw new JsonMeaningError(ambiguity.problem);
`,
    toldBy: 'packages/contract/test/command-fields',
  },
  {
    name: 'a name that cannot be passed on is left out',
    find: "context.addIssue({ code: 'custom', path: [LOST_NAME], message: 'is a name that cannot be sent to the service' });",
    toldBy: 'packages/contract/test/command-fields',
  },
  {
    name: 'a value that is dropped in decoding is not told of',
    find: 'if (reader.keepsUnknown)',
    replace: 'if (false)',
    toldBy: 'packages/contract/test/command-fields',
  },
  {
    name: 'a message that our code fails on is read for ever',
    find: 'if (failures < FAILURES_MAX) {',
    replace: 'if (!Number.isNaN(0)) {',
    among: ['poison-bug'],
  },
  {
    name: 'large messages are kept whole',
    find: 'bytes <= WHOLE_BYTES_MAX && ',
    among: ['poison-large'],
  },
  {
    name: 'large messages are moved whole',
    find: 'if (!isTooLarge) return',
    replace: 'if (!Number.isNaN(0)) return',
    // A lane that cannot commit it finds out, too, by reading carefully.
    toldBy: 'test/consumers/command-intake',
  },
  {
    name: 'a header says of what partition a message was, without limit',
    find: ' || partition >= laneCount',
    among: ['poison-moved-partition'],
  },
  {
    name: 'a batch that cannot be read is a message',
    file: 'consumers/command-intake.ts',
    find: "if (message.unreadableBatch !== null) return deadLettered('UNREADABLE_BATCH', message.unreadableBatch.problem);",
    toldBy: 'test/consumers/command-intake',
  },
  {
    name: 'what is due goes on without asking whether it is full',
    find: `      if (!transaction.mayTake(clock.monotonicMs())) return;
`,
    among: ['masses'],
  },
  {
    name: 'a transaction has any size',
    find: 'if (share >= FULL_SHARE || this.#bytes >= BYTES_MAX) this.#isFull = true;',
    toldBy: 'test/lanes/inputs',
  },
  {
    name: 'what was committed is counted as often as it is said',
    find: `    this.#handedOver = null;
`,
  },
  {
    name: 'a lane that is lost over and over reads on as ever',
    find: 'isCareful: suspect !== null || wasRefused || withoutCommit >= OWNERS_WITHOUT_COMMIT_MAX',
    replace: 'isCareful: Number.isNaN(0)',
    among: ['poison-refused'],
  },
  {
    name: 'what a lane was lost at three times is read again',
    find: 'if (tries >= SUSPECT_TRIES_MAX) {',
    replace: 'if (Number.isNaN(0)) {',
    among: ['poison-refused'],
  },
  {
    name: 'careful reading never ends for who waits',
    find: 'const isOver = this.#harmless >= HARMLESS_MAX;',
    replace: 'const isOver = Number.isNaN(0);',
    toldBy: 'test/lanes/careful-reading',
  },
];
