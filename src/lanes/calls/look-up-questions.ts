/**
 * Open questions of the look-ups, indexed by what a page can show. So a page's cost depends on its length, not on how
 * many questions are open.
 *
 *   asked -> (a whole scan of its stage without a match) next stage -> ... -> answered
 */
import type { LookUpOutcome } from '../../ledger/decision.ts';
import type { LookUpQuery } from '../../ledger/plan.ts';
import { quoteIdAmong } from 'payment-processor-contract/quote-id';
import type { Transaction } from 'payment-processor-contract/types';
import type { CallSpan } from './call-times.ts';

export interface LookUpAnswer {
  readonly outcome: LookUpOutcome;
  /** Times of the request that showed the transaction; of the last scan if none did. */
  readonly span: CallSpan;
}

export interface Question {
  readonly query: LookUpQuery;
  /** Index of the window to scan next. */
  stage: number;
  readonly answer: (answer: LookUpAnswer) => void;
}

/** A page and the request that got it. */
export interface ShownPage {
  readonly data: readonly Transaction[];
  readonly span: CallSpan;
}

export class LookUpQuestions {
  readonly #byTransaction = new Map<string, Set<Question>>();
  readonly #byQuote = new Map<string, Set<Question>>();
  readonly #open = new Set<Question>();
  /** Asked since the last request began: its page may be older than the question. */
  readonly #asked: Question[] = [];

  ask(question: Question): void {
    this.#asked.push(question);
  }

  /** From now on new requests may answer every question asked so far. */
  admitAsked(): void {
    for (const question of this.#asked.splice(0)) {
      this.#open.add(question);
      const { transactionId, quoteId } = question.query;
      if (transactionId !== null) addTo(this.#byTransaction, transactionId, question);
      else if (quoteId !== null) addTo(this.#byQuote, quoteId, question);
    }
  }

  get open(): number {
    return this.#open.size + this.#asked.length;
  }

  atStage(stage: number): Question[] {
    return [...this.#open].filter((question) => question.stage === stage);
  }

  /** @returns whether the question was admitted and is not answered yet */
  isOpen(question: Question): boolean {
    return this.#open.has(question);
  }

  /** Answers every admitted question whose transaction the page shows. */
  show({ data, span }: ShownPage): void {
    for (const transaction of data) {
      const found = [...(this.#byTransaction.get(transaction.id) ?? [])];
      const quoteId = this.#byQuote.size === 0 ? null : quoteIdAmong(transaction.otherFieldsJson);
      if (quoteId !== null) found.push(...(this.#byQuote.get(quoteId) ?? []));
      for (const question of found) {
        this.settle(question, { outcome: { kind: 'found', transaction }, span });
      }
    }
  }

  settle(question: Question, answer: LookUpAnswer): void {
    if (!this.#open.delete(question)) return;
    const { transactionId, quoteId } = question.query;
    if (transactionId !== null) takeFrom(this.#byTransaction, transactionId, question);
    else if (quoteId !== null) takeFrom(this.#byQuote, quoteId, question);
    question.answer(answer);
  }
}

function addTo(sets: Map<string, Set<Question>>, name: string, question: Question): void {
  const set = sets.get(name);
  if (set === undefined) sets.set(name, new Set([question]));
  else set.add(question);
}

function takeFrom(sets: Map<string, Set<Question>>, name: string, question: Question): void {
  const set = sets.get(name);
  set?.delete(question);
  if (set?.size === 0) sets.delete(name);
}
