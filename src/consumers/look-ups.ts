/**
 * Looks transactions up for calls in doubt: one scanner per process, which pages through GET /transactions for all that
 * is asked at a time. A question waits for the next scan; so a scan has always begun after the question was asked.
 *
 *   idle      nothing is asked
 *   scanning  one scan; questions that come meanwhile wait for the next
 *
 * Nothing is assumed of the order of pages. A scan is bounded in pages, and ends early once all are found.
 */
import type { PaymentApi } from '../api/payment-api.ts';
import type { Clock } from '../api/clock.ts';
import type { ListReading } from '../api/types.ts';
import type { LookUpOutcome } from '../ledger/decide.ts';
import type { LookUpQuery } from '../ledger/plan.ts';
import type { Transaction } from '../records/types.ts';
import { quoteIdAmong } from '../status/quote-status.ts';

export interface LookUpAnswer {
  readonly outcome: LookUpOutcome;
  /** The request that showed the transaction; of a scan that found nothing, the whole of it. */
  readonly beganMs: number;
  readonly endedMs: number;
}

interface Question {
  readonly query: LookUpQuery;
  readonly answer: (answer: LookUpAnswer) => void;
}

const PAGE_LIMIT = 100;
/** Pages of one scan: 50,000 transactions. Beyond, what was not found counts as not looked at. */
const PAGES_MAX = 500;
/** How far back a transaction is looked for that may be older than its command. */
const OLDER_LOOK_BACK_MS = 7 * 86_400_000;

type Scan = { kind: 'whole' } | { kind: 'failed'; reason: string };

export class LookUps {
  readonly #api: Pick<PaymentApi, 'listTransactions'>;
  readonly #clock: Clock;
  #questions: Question[] = [];
  #isScanning = false;

  constructor(api: Pick<PaymentApi, 'listTransactions'>, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  /** Never rejects. */
  find(query: LookUpQuery): Promise<LookUpAnswer> {
    return new Promise((resolve) => {
      this.#questions.push({ query, answer: resolve });
      void this.#scanAll();
    });
  }

  async #scanAll(): Promise<void> {
    if (this.#isScanning) return;
    this.#isScanning = true;
    // Lets the questions of one moment share a scan.
    await Promise.resolve();
    while (this.#questions.length > 0) {
      const questions = this.#questions.splice(0);
      const createdFromMs = Math.min(...questions.map(({ query }) => query.createdFromMs));
      const missed = await this.#scan(questions, createdFromMs, false);
      if (missed.length > 0) await this.#scan(missed, createdFromMs - OLDER_LOOK_BACK_MS, true);
    }
    this.#isScanning = false;
  }

  /** Answers what it can. @returns questions to be asked of older transactions */
  async #scan(questions: readonly Question[], createdFromMs: number, isLast: boolean): Promise<Question[]> {
    const open = new Set(questions);
    const beganMs = this.#clock.nowMs();
    const scan = await this.#pages(createdFromMs, (data, pageBeganMs, pageEndedMs) => {
      for (const question of open) {
        const transaction = data.find((candidate) => isAnswer(candidate, question.query));
        if (transaction === undefined) continue;
        open.delete(question);
        question.answer({ outcome: { kind: 'found', transaction }, beganMs: pageBeganMs, endedMs: pageEndedMs });
      }
      return open.size > 0;
    });
    const older: Question[] = [];
    for (const question of open) {
      if (scan.kind === 'whole' && question.query.mayBeOlder && !isLast) older.push(question);
      else
        question.answer({
          outcome: scan.kind === 'whole' ? { kind: 'not-found' } : scan,
          beganMs,
          endedMs: this.#clock.nowMs(),
        });
    }
    return older;
  }

  async #pages(
    createdFromMs: number,
    take: (data: Transaction[], beganMs: number, endedMs: number) => boolean,
  ): Promise<Scan> {
    const startDate = new Date(Math.max(0, createdFromMs)).toISOString();
    const cursors = new Set<string>();
    let cursor: string | null = null;
    for (let count = 0; count < PAGES_MAX; count += 1) {
      const beganMs = this.#clock.nowMs();
      const page: ListReading = await this.#api.listTransactions({
        startDate,
        limit: PAGE_LIMIT,
        ...(cursor === null ? {} : { cursor }),
      });
      if (page.kind === 'failed') return page;
      if (!take(page.data, beganMs, this.#clock.nowMs()) || !page.hasMore) return { kind: 'whole' };
      if (page.nextCursor === null || cursors.has(page.nextCursor)) {
        return { kind: 'failed', reason: 'the service gives no cursor to its next page, or one twice' };
      }
      cursor = page.nextCursor;
      cursors.add(cursor);
    }
    return { kind: 'failed', reason: `more than ${PAGES_MAX * PAGE_LIMIT} transactions to look through` };
  }
}

function isAnswer(transaction: Transaction, query: LookUpQuery): boolean {
  if (query.transactionId !== null) return transaction.id === query.transactionId;
  return query.quoteId !== null && quoteIdAmong(transaction.otherFieldsJson) === query.quoteId;
}
