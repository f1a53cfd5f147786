/**
 * Looks transactions up for calls in doubt. One scanner per process pages through GET /transactions for all open questions.
 *
 *   idle      no question is open
 *   scanning  one window after the other: the minutes around the expected creation time, the hour before, the hour
 *             after; then, if a question needs it, the week before. Pages of the week and of the others take turns
 *
 * Any page whose request began after the question can answer it with `found`. Only whole scans that began after the question
 * can answer it with `not-found`. The scanner assumes nothing about the order of pages. Scans of each window alternate between
 * newest and oldest first. So even unfinished scans see both ends, unless scans for two creation times take turns. The scanner retries a
 * failed page a few times, so that a flaky service does not keep a long scan from finishing. A scan has a maximum of pages, and stops early once all its questions
 * are answered.
 */
import type { PaymentApi } from '../../api/payment-api.ts';
import { shorterLimit } from '../../api/transaction-list.ts';
import type { ListReading, TransactionFilter } from '../../api/types.ts';
import type { Clock } from 'payment-processor-contract/clock';
import { sleep } from '../../consumers/signal.ts';
import type { LookUpQuery } from '../../ledger/plan.ts';
import type { CallSpan } from './call-times.ts';
import { LookUpQuestions, type LookUpAnswer, type Question } from './look-up-questions.ts';

const PAGE_LIMIT = 100;
/** Pages of one scan: 100,000 transactions. A longer scan fails: it cannot answer `not-found`. */
const PAGES_MAX = 1_000;
/** Tries for one page; then the scan fails. The pauses between them add up to 6 seconds, or to 25 if the service asks for more. */
const PAGE_TRIES_MAX = 6;
const PAGE_AGAIN_MS = 200;
/** Longest pause before a page is retried, even if the service asks for more: a scan holds up all questions. */
const ASKED_MS_MAX = 5_000;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A range of creation times, relative to the expected one. */
interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Windows, searched one after the other. They overlap by a minute, so that no rounded time falls between them. A quote's
 * transaction is as old as the quote, which lives for minutes; an hour to either side allows for clocks that differ. Each window
 * has an end: a look-up for an old call must not page through everything since.
 */
const WINDOWS: readonly Window[] = [
  { fromMs: -10 * MINUTE_MS, toMs: 10 * MINUTE_MS },
  { fromMs: -HOUR_MS, toMs: -9 * MINUTE_MS },
  { fromMs: 9 * MINUTE_MS, toMs: HOUR_MS },
];
/** An incoming payment may wait long for its rejection. */
const WEEK: Window = { fromMs: -7 * 24 * HOUR_MS, toMs: -59 * MINUTE_MS };
const STAGE_OF_WEEK = WINDOWS.length;

/** Questions share a scan if their expected creation times are at most this far apart. */
const SHARED_SPREAD_MS = 10 * MINUTE_MS;

type Scan = { kind: 'whole' } | { kind: 'failed'; reason: string };

export class LookUps {
  readonly #api: Pick<PaymentApi, 'listTransactions'>;
  readonly #clock: Clock;
  readonly #questions = new LookUpQuestions();
  #isScanning = false;
  /** Of each stage's next scan. */
  readonly #sortOrders = new Map<number, 'asc' | 'desc'>();

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
    // Wait a turn, so that simultaneous questions share a scan.
    await Promise.resolve();
    // The week's scan is long: it must not hold up the others, and its cursor must not age while they scan.
    const [hours, week] = [this.#scans(WINDOWS, 0), this.#scans([WEEK], STAGE_OF_WEEK)];
    while (this.#questions.open > 0) {
      await hours.next();
      await week.next();
    }
    this.#isScanning = false;
  }

  /** Scans each window in turn, without end: new questions must not keep older ones from their next window. Yields between pages. */
  async *#scans(windows: readonly Window[], firstStage: number): AsyncGenerator<void> {
    for (;;) {
      for (const [index, window] of windows.entries()) yield* this.#scan(firstStage + index, window);
      yield;
    }
  }

  /** Scans one window for the questions of its stage; pages may answer other questions too. */
  async *#scan(stage: number, window: Window): AsyncGenerator<void> {
    this.#questions.admitAsked();
    const questions = scannedTogether(this.#questions.atStage(stage));
    if (questions.length === 0) return;
    const beganMonotonicMs = this.#clock.monotonicMs();
    const sortOrder = this.#sortOrders.get(stage) ?? 'desc';
    this.#sortOrders.set(stage, sortOrder === 'desc' ? 'asc' : 'desc');
    const filter = { ...windowOf(questions, window), sortOrder };
    const isWanted = (): boolean => questions.some((question) => this.#questions.isOpen(question));
    const scan = yield* this.#pages(filter, isWanted);
    for (const question of questions) {
      if (!this.#questions.isOpen(question)) continue;
      const lastStage = question.query.mayBeOlder ? STAGE_OF_WEEK : STAGE_OF_WEEK - 1;
      if (scan.kind === 'whole' && stage < lastStage) {
        question.stage = stage + 1;
        continue;
      }
      const outcome = scan.kind === 'whole' ? { kind: 'not-found' as const } : scan;
      this.#questions.settle(question, { outcome, span: this.#spanFrom(beganMonotonicMs) });
    }
  }

  async *#pages(filter: TransactionFilter, isWanted: () => boolean): AsyncGenerator<void, Scan> {
    const cursors = new Set<string>();
    let cursor: string | null = null;
    let limit = PAGE_LIMIT;
    for (let count = 0; count < PAGES_MAX; count += 1) {
      const page: ListReading = await this.#page({
        ...filter,
        limit,
        ...(cursor === null ? {} : { cursor }),
      });
      if (page.kind === 'failed') {
        const shorter = shorterLimit(page, limit);
        if (shorter === null) return { kind: 'failed', reason: page.reason };
        limit = shorter;
        continue;
      }
      if (!page.hasMore) return { kind: 'whole' };
      if (page.nextCursor === null || cursors.has(page.nextCursor)) {
        return { kind: 'failed', reason: 'the service sends no cursor for the next page, or repeats one' };
      }
      cursor = page.nextCursor;
      cursors.add(cursor);
      yield;
      // Pages of other scans may have answered the last question.
      if (!isWanted()) return { kind: 'whole' };
    }
    return { kind: 'failed', reason: `more than ${PAGES_MAX} pages of transactions to look through` };
  }

  /** Retries a page while a retry may help. */
  async #page(filter: TransactionFilter): Promise<ListReading> {
    for (let tries = 1; ; tries += 1) {
      this.#questions.admitAsked();
      const beganMonotonicMs = this.#clock.monotonicMs();
      const page = await this.#api.listTransactions(filter);
      if (page.kind === 'page') {
        this.#questions.show({ data: page.data, span: this.#spanFrom(beganMonotonicMs) });
        return page;
      }
      const askedMs = page.retryAfterMs ?? 0;
      if (!isTransient(page) || tries >= PAGE_TRIES_MAX) return page;
      await sleep(Math.max(Math.min(askedMs, ASKED_MS_MAX), PAGE_AGAIN_MS * 2 ** (tries - 1)));
    }
  }

  #spanFrom(beganMonotonicMs: number): CallSpan {
    return { beganMonotonicMs, endedMonotonicMs: this.#clock.monotonicMs() };
  }
}

/** Those expected at nearly the same time as the first: a shared window must not span days. */
function scannedTogether(questions: readonly Question[]): Question[] {
  const createdMs = questions[0]?.query.createdMs ?? 0;
  return questions.filter(({ query }) => Math.abs(query.createdMs - createdMs) <= SHARED_SPREAD_MS);
}

function windowOf(questions: readonly Question[], { fromMs, toMs }: Window): TransactionFilter {
  const createdMs = questions.map(({ query }) => query.createdMs);
  const dateOf = (instantMs: number): string => new Date(Math.max(0, instantMs)).toISOString();
  return { startDate: dateOf(Math.min(...createdMs) + fromMs), endDate: dateOf(Math.max(...createdMs) + toMs) };
}

function isTransient({ cause, isTooLong }: Extract<ListReading, { kind: 'failed' }>): boolean {
  if (isTooLong === true) return false;
  return cause === 'unreachable' || cause === 'told-to-wait' || cause === 'not-understood';
}
