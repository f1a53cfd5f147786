/**
 * I4, by the poller: what becomes of payments after their calls, and payments that nobody commanded. The paths are those
 * of the sandbox's scenarios. A status that passes between two looks is not published; nothing else is left out. Another test
 * shows in virtual time that every status seen is published, across deaths too (i4-each-change-once-simulated.test.ts).
 */
import { beforeAll, describe, expect, test } from 'vitest';
import type { Journal } from '../support/journal.ts';
import { judgeStatusEvents } from '../../proofs/chaos/status-judgement.ts';
import { correlationIdOf, createQuoteOf, transferInOf } from '../support/commands.ts';
import { useStack } from '../support/test-stack.ts';

const SETTLE_MS = 2_000;

const stack = useStack({
  name: 'polled',
  sandbox: { settleMs: SETTLE_MS, approvalMs: SETTLE_MS, quoteLifetimeMs: 2 * SETTLE_MS },
  settings: { POLL_INTERVAL_MS: '200', POLL_MAX_CALLS_PER_MINUTE: '6000' },
});

interface Path {
  statuses: string[];
  failureReason?: string;
}

const OUTGOING: Record<string, Path> = {
  '-x': { statuses: ['PENDING', 'PROCESSING', 'SENT', 'COMPLETED'] },
  '004': { statuses: ['PENDING', 'PROCESSING', 'SENT', 'REJECTED'] },
  '006': { statuses: ['PENDING', 'PROCESSING', 'SENT', 'COMPLETED', 'REFUNDED'] },
  '015': { statuses: ['PENDING', 'PROCESSING', 'SENT', 'FAILED', 'REFUNDED'], failureReason: 'OFFRAMP_FAILED' },
};
/** Quotes that nobody executes. */
const QUOTED: Record<string, Path> = {
  '-x': { statuses: ['PENDING', 'EXPIRED'] },
  '007': { statuses: ['CREATED', 'EXPIRED'] },
};
const INCOMING: Record<string, Path> = {
  '-x': { statuses: ['PENDING', 'COMPLETED'] },
  '006': { statuses: ['PENDING', 'COMPLETED', 'REFUNDED'] },
  '011': { statuses: ['PENDING', 'FAILED'], failureReason: 'LNURLP_FAILED' },
  '012': { statuses: ['PENDING', 'FAILED'], failureReason: 'PAY_REQUEST_FAILED' },
  '013': { statuses: ['PENDING', 'FAILED'], failureReason: 'PAYMENT_APPROVAL_WEBHOOK_ERROR' },
  '014': { statuses: ['PENDING', 'FAILED'], failureReason: 'PAYMENT_APPROVAL_TIMED_OUT' },
  '016': { statuses: ['PENDING', 'FAILED'], failureReason: 'MISSING_MANDATORY_PAYEE_DATA' },
  '017': { statuses: ['PENDING', 'FAILED'], failureReason: 'QUOTE_EXPIRED' },
  '018': { statuses: ['PENDING', 'FAILED'], failureReason: 'QUOTE_EXECUTION_FAILED' },
};
const QUOTE_STATUS: Record<string, string> = {
  CREATED: 'PENDING',
  PENDING: 'PENDING',
  PROCESSING: 'PROCESSING',
  SENT: 'PROCESSING',
  COMPLETED: 'COMPLETED',
  REJECTED: 'FAILED',
  FAILED: 'FAILED',
  REFUNDED: 'FAILED',
  EXPIRED: 'EXPIRED',
};

interface Payment {
  name: string;
  path: Path;
  transactionId: string;
  quoteId: string | null;
}

async function payAll(run: string): Promise<Payment[]> {
  const { journal, publisher } = stack();
  const cases = Object.entries({ outgoing: OUTGOING, quoted: QUOTED, incoming: INCOMING }).flatMap(([kind, paths]) =>
    Object.entries(paths).map(([suffix, path]) => ({
      kind,
      suffix,
      path,
      name: `${run}-${kind}-${suffix.replace('-', '')}`,
    })),
  );
  await Promise.all(
    cases.map(({ kind, name, suffix }) => {
      const options = { correlationId: correlationIdOf(name) };
      const other = { accountId: `ExternalAccount:${name}${suffix}` };
      if (kind === 'incoming')
        return publisher.publish('transfer-in', name, { ...transferInOf(name), source: other }, options);
      const destination = { destinationType: 'ACCOUNT', ...other };
      const fields = { ...createQuoteOf(name), destination, immediatelyExecute: kind === 'outgoing' };
      return publisher.publish('create-quote', name, fields, options);
    }),
  );
  const results = await journal.resultsOfAll(cases.map(({ name }) => name));
  return cases.map(({ name, path }, index) => {
    const { outcome, quote, transaction } = results[index]!.value;
    expect([name, outcome]).toEqual([name, 'ACCEPTED']);
    const transactionId = transaction?.id ?? quote?.transactionId ?? '';
    return { name, path, transactionId, quoteId: quote?.id ?? null };
  });
}

/** A payment that comes from outside. */
async function receiveUma(name: string): Promise<Payment> {
  const { id } = await stack().service.simulateUmaReceive(`Customer:${name}-x`);
  return { name, path: { statuses: ['PENDING', 'COMPLETED'] }, transactionId: id, quoteId: null };
}

function statusesOf(journal: Journal, { transactionId }: Payment): string[] {
  return journal.transactionEvents(transactionId).map(({ value }) => value.status);
}

/** The published statuses lie on the path, in its order, and end where the path ends. */
function expectOnPath(name: string, told: readonly string[], path: readonly string[]): void {
  expect([name, ...told]).toEqual([name, ...path.filter((status) => told.includes(status))]);
  expect([name, told.at(-1)]).toEqual([name, path.at(-1)]);
}

/** Every event of the payment and of its quote names the command that asked for it, no matter who saw the change. */
function expectNamed(journal: Journal, { name, quoteId, transactionId }: Payment): void {
  const events = journal.transactionEvents(transactionId);
  const named = [name, [name], correlationIdOf(name)];
  expect(events.map(({ headers, value }) => [value.commandKey, value.commandKeys, headers['correlation-id']])).toEqual(
    events.map(() => named),
  );
  expect([name, events.some(({ value }) => value.observedBy === 'POLL')]).toEqual([name, true]);
  const quoteEvents = quoteId === null ? [] : journal.quoteEvents(quoteId);
  expect(quoteEvents.map(({ headers, value }) => [value.commandKey, headers['correlation-id']])).toEqual(
    quoteEvents.map(() => [name, correlationIdOf(name)]),
  );
}

function withoutRepeats(statuses: readonly string[]): string[] {
  return statuses.filter((status, index) => status !== statuses[index - 1]);
}

async function untilAllAtEnd(journal: Journal, payments: readonly Payment[]): Promise<void> {
  // A quote's last change is in another topic than its transaction's, and may be read later.
  const isAtEnd = (payment: Payment): boolean => {
    const last = payment.path.statuses.at(-1);
    if (statusesOf(journal, payment).at(-1) !== last) return false;
    const quoteStatus = payment.quoteId === null ? null : journal.quoteEvents(payment.quoteId).at(-1)?.value.status;
    return quoteStatus === null || quoteStatus === QUOTE_STATUS[last ?? ''];
  };
  const waiting = (): Payment[] => payments.filter((payment) => !isAtEnd(payment));
  await journal.until(
    () => waiting().length === 0,
    () =>
      waiting()
        .map((payment) => `${payment.name}: ${statusesOf(journal, payment).join(' ')}`)
        .join('; '),
  );
}

describe('the poller', () => {
  let before: Payment;

  beforeAll(async () => {
    before = await receiveUma('before');
    const processor = await stack().startProcessor();
    // The first start is when the poller has seen what is there.
    await stack().journal.until(() => processor.log().some(({ event }) => event === 'polling'), 'the poller');
  });

  test('tells every change of a payment after its call once, in order, with its command and the reason of a failure', async () => {
    const { journal } = stack();
    const payments = await payAll('quiet');
    await untilAllAtEnd(journal, payments);
    const events = { transactionEvents: journal.transactionEvents(), quoteEvents: journal.quoteEvents() };
    expect(judgeStatusEvents(events)).toEqual([]);
    for (const payment of payments) {
      expectOnPath(payment.name, statusesOf(journal, payment), payment.path.statuses);
      expectNamed(journal, payment);
      const failed = journal.transactionEvents(payment.transactionId).find(({ value }) => value.status === 'FAILED');
      if (failed !== undefined) expect(failed.value.failureReason).toBe(payment.path.failureReason);
      if (payment.quoteId === null) continue;
      const quoteStatuses = journal.quoteEvents(payment.quoteId).map(({ value }) => value.status);
      const expected = withoutRepeats(payment.path.statuses.map((status) => QUOTE_STATUS[status] ?? ''));
      expectOnPath(payment.name, quoteStatuses, expected);
    }
  });

  test('finds payments that nobody commanded, from the first start on', async () => {
    const { journal } = stack();
    const payment = await receiveUma('after');
    await untilAllAtEnd(journal, [payment]);
    expectOnPath(payment.name, statusesOf(journal, payment), payment.path.statuses);
    const [first] = journal.transactionEvents(payment.transactionId);
    expect(first?.value).toMatchObject({ observedBy: 'POLL', commandKey: null, commandKeys: [], type: 'INCOMING' });
    expect(journal.transactionEvents(before.transactionId)).toEqual([]);
  });
});
