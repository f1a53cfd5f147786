/**
 * Looks transactions up for calls in doubt: one scanner per process, which pages through GET /transactions for all that
 * is asked at a time.
 *
 *   idle      nothing is asked
 *   scanning  one window after the other: the minutes before the calls, then the hour, then, where asked for, the week
 *
 * A question is answered `found` by any page whose request began after it was asked, and `not-found` only by whole scans
 * that did. Nothing is assumed of the order of pages; it is asked for in turn from either end, for where processes die
 * before long scans end, what lies at the far end would never be reached. A page that fails is asked for again, within
 * limits: a service that fails now and then must not keep a long scan from its end. A scan is bounded in pages, and
 * ends early once all that it is for are found.
 */
import type { PaymentApi } from '../api/payment-api.ts';
import type { Clock } from '../api/clock.ts';
import type { ListReading, TransactionFilter } from '../api/types.ts';
import type { LookUpQuery } from '../ledger/plan.ts';
import { LookUpQuestions, type LookUpAnswer, type Question } from './look-up-questions.ts';
import { sleep } from './signal.ts';

const PAGE_LIMIT = 100;
/** Pages of one scan: 100,000 transactions. Beyond, what was not found counts as not looked at. */
const PAGES_MAX = 1_000;
/** Times that one page is asked for, some six seconds in all; then the scan has failed. */
const PAGE_TRIES_MAX = 6;
const PAGE_AGAIN_MS = 200;

/**
 * How far back is looked, before the first sending of the call, one window after the other. A quote's transaction is as
 * old as the quote, which lives minutes; an hour leaves room for clocks that differ. An incoming payment may wait for
 * its rejection for long.
 */
const WINDOWS_MS = [600_000, 3_600_000, 7 * 86_400_000] as const;
/** Of windows that follow each other, so that nothing falls between them by a rounded time. */
const OVERLAP_MS = 60_000;
/** Windows for transactions that may not be older than their commands' first hour. */
const YOUNG_STAGES = 2;

type Scan = { kind: 'whole' } | { kind: 'failed'; reason: string };

export class LookUps {
  readonly #api: Pick<PaymentApi, 'listTransactions'>;
  readonly #clock: Clock;
  readonly #questions = new LookUpQuestions();
  #isScanning = false;
  #sortOrder: 'asc' | 'desc' = 'desc';

  constructor(api: Pick<PaymentApi, 'listTransactions'>, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  /** Never rejects. */
  find(query: LookUpQuery): Promise<LookUpAnswer> {
    return new Promise((resolve) => {
      this.#questions.ask({ query, stage: 0, answer: resolve });
      void this.#scanAll();
    });
  }

  async #scanAll(): Promise<void> {
    if (this.#isScanning) return;
    this.#isScanning = true;
    // Lets the questions of one moment share a scan.
    await Promise.resolve();
    while (this.#questions.open > 0) {
      // Each window in turn: new questions must not keep older ones from their next window.
      for (let stage = 0; stage < WINDOWS_MS.length; stage += 1) {
        this.#questions.admitAsked();
        const questions = this.#questions.atStage(stage);
        if (questions.length > 0) await this.#scan(questions, stage);
      }
    }
    this.#isScanning = false;
  }

  /** One window for the questions of its stage; others may be answered on the way. */
  async #scan(questions: readonly Question[], stage: number): Promise<void> {
    const beganMs = this.#clock.nowMs();
    const window = { ...windowOf(questions, stage), sortOrder: this.#sortOrder };
    this.#sortOrder = this.#sortOrder === 'desc' ? 'asc' : 'desc';
    const scan = await this.#pages(window, () => questions.some((question) => this.#questions.isOpen(question)));
    for (const question of questions) {
      if (!this.#questions.isOpen(question)) continue;
      const stages = question.query.mayBeOlder ? WINDOWS_MS.length : YOUNG_STAGES;
      if (scan.kind === 'whole' && stage + 1 < stages) {
        question.stage = stage + 1;
        continue;
      }
      const outcome = scan.kind === 'whole' ? { kind: 'not-found' as const } : scan;
      this.#questions.settle(question, { outcome, beganMs, endedMs: this.#clock.nowMs() });
    }
  }

  async #pages(window: TransactionFilter, isWanted: () => boolean): Promise<Scan> {
    const cursors = new Set<string>();
    let cursor: string | null = null;
    for (let count = 0; count < PAGES_MAX; count += 1) {
      const page: ListReading = await this.#page({
        ...window,
        limit: PAGE_LIMIT,
        ...(cursor === null ? {} : { cursor }),
      });
      if (page.kind === 'failed') return { kind: 'failed', reason: page.reason };
      if (!page.hasMore || !isWanted()) return { kind: 'whole' };
      if (page.nextCursor === null || cursors.has(page.nextCursor)) {
        return { kind: 'failed', reason: 'the service gives no cursor to its next page, or one twice' };
      }
      cursor = page.nextCursor;
      cursors.add(cursor);
    }
    return { kind: 'failed', reason: `more than ${PAGES_MAX * PAGE_LIMIT} transactions to look through` };
  }

  /** Asks for a page until it comes, as long as that may help. */
  async #page(filter: TransactionFilter): Promise<ListReading> {
    for (let tries = 1; ; tries += 1) {
      this.#questions.admitAsked();
      const beganMs = this.#clock.nowMs();
      const page = await this.#api.listTransactions(filter);
      if (page.kind === 'page') {
        this.#questions.show({ data: page.data, beganMs, endedMs: this.#clock.nowMs() });
        return page;
      }
      if (!mayPass(page) || tries >= PAGE_TRIES_MAX) return page;
      await sleep(PAGE_AGAIN_MS * 2 ** (tries - 1));
    }
  }
}

function windowOf(questions: readonly Question[], stage: number): TransactionFilter {
  const sentMs = questions.map(({ query }) => query.firstSentMs);
  const dateBefore = (instantMs: number, windowMs: number): string =>
    new Date(Math.max(0, instantMs - windowMs)).toISOString();
  const startDate = dateBefore(Math.min(...sentMs), WINDOWS_MS[stage] ?? 0);
  const nextYoungerMs = WINDOWS_MS[stage - 1];
  if (nextYoungerMs === undefined) return { startDate };
  return { startDate, endDate: dateBefore(Math.max(...sentMs), nextYoungerMs - OVERLAP_MS) };
}

function mayPass({ cause }: Extract<ListReading, { kind: 'failed' }>): boolean {
  return cause === 'unreachable' || cause === 'told-to-wait' || cause === 'not-understood';
}
