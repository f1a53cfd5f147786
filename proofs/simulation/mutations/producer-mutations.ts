/** Of the transactional producer. */
import type { Mutation } from '../mutations.ts';

export const PRODUCER_MUTATIONS: readonly Mutation[] = [
  {
    name: 'EndTxn is repeated after its answer is lost',
    find: "(error) => { throw new AnswerLostError('we do not know how the transaction ended', { cause: error }); },",
    toldBy: 'test/producers/transactional-producer',
  },
  {
    name: 'a duplicate on the first try counts as written',
    find: "if (batch.tries === 1) return { kind: 'failed', name: verdict.name, failure: 'not-committed' };",
    toldBy: 'test/producers/transactional-producer',
  },
  {
    name: 'a coordinator that speaks of a duplicate has done it',
    find: "['failed', 'duplicate', 'moved', 'busy']",
    replace: "['failed', 'moved', 'busy']",
    toldBy: 'test/producers/transactional-producer',
  },
  {
    name: 'a batch has the sequence of the one before',
    find: 'this.#sequences.set(batch.name, sequenceAfter(batch));',
  },
  {
    name: 'a partition that is missing in the answer counts as registered',
    find: 'return missing.size === 0 ? verdicts : [...verdicts, notAnswered(missing)];',
    replace: 'return verdicts;',
    toldBy: 'test/producers/transactional-producer',
  },
  {
    name: 'a batch that is missing in the answer counts as written',
    find: "if (verdict.kind !== 'done' || waiting.size === 0) return verdict; return notAnswered(waiting.keys());",
    replace: 'return verdict;',
    toldBy: 'test/producers/transactional-producer',
  },
  {
    name: 'a producer initialises its id for each transaction',
    find: 'if (!session.isInitialised()) await session.initialise();',
    replace: 'await session.initialise();',
    toldBy: 'test/producers/transactional-producer',
  },
  {
    name: 'a producer that was dropped sends what it has left',
    find: "if (this.#isOver) throw new SessionOverError('the producer was closed');",
    toldBy: 'test/producers/transactional-producer',
  },
];
