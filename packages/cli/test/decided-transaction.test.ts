/** The tool says of a transaction that an operator decides by what it compared, and what else fits. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import type { ListReading, TransactionFilter } from '../../../src/api/types.ts';
import { checkTransaction, lookForEffect, lookForPublishedEffect } from '../src/decided-transaction.ts';
import type { Output } from '../src/output.ts';
import { checkSettling } from '../src/decision-checks.ts';
import { idsOfPayment, mayHaveMade, ownersInWords } from '../src/transaction-owners.ts';
import type { Entry } from '../../../src/ledger/entry.ts';
import type { Transaction } from 'payment-processor-contract/types';
import type { StatusEvent } from '../src/status-history.ts';
import { aPage } from '../../../test/api/list-readings.ts';
import { startHostileService } from '../../../test/support/hostile-service.ts';
import { aQuoted, aTransaction, doneWith, entryAt, unknown } from '../../../test/ledger/entries.ts';

const DAY_MS = 86_400_000;
const SENT_MS = Date.parse('2026-01-31T12:00:00Z');
const CREATED = '2026-01-31T12:00:01.000Z';
const account = (accountId: string) => ({ accountId, currency: null, otherFieldsJson: null });
const from = (id: string) => ({ source: { ...account(id), sourceType: 'ACCOUNT' } });
const to = (id: string) => ({ destination: { ...account(id), destinationType: 'ACCOUNT' } });
const FAILED = { kind: 'failed', retryAfterMs: null, serviceSays: null } as const;
/** As the transfer-in of `entryAt` asks for it. */
const WHOLE: Partial<Transaction> = {
  id: 'Transaction:5',
  customerId: 'Customer:1',
  createdAt: CREATED,
  ...from('ExternalAccount:1'),
  ...to('InternalAccount:1'),
  receivedAmount: { amount: 5n, currency: null, otherFieldsJson: null },
};

function published(...statuses: readonly string[]): StatusEvent[] {
  return statuses.map((status) => {
    const value = { status, failureReason: null, observedAt: BigInt(SENT_MS) };
    return { kind: 'transaction-status', key: 'Transaction:1', value } as unknown as StatusEvent;
  });
}

interface Service {
  readonly asked: TransactionFilter[];
  listTransactions(filter: TransactionFilter): Promise<ListReading>;
}

/** Pages of two, in the order given; keeps to the filters that are used. */
function serviceOf(transactions: readonly Transaction[], pageLength = 2): Service {
  const asked: TransactionFilter[] = [];
  return {
    asked,
    listTransactions: async (filter) => {
      asked.push(filter);
      const { customerId, startDate = '', endDate = '9' } = filter;
      const listed = transactions.filter(({ createdAt, customerId: owner }) => {
        const created = createdAt ?? CREATED;
        return created >= startDate && created <= endDate && (customerId === undefined || owner === customerId);
      });
      const from = Number(filter.cursor ?? 0);
      const nextCursor = from + pageLength < listed.length ? String(from + pageLength) : null;
      const data = listed.slice(from, from + pageLength);
      return aPage({ data, hasMore: nextCursor !== null, nextCursor });
    },
  };
}

function lost(commandType: Parameters<typeof entryAt>[0], changes: Partial<Entry> = {}): Entry {
  return { ...unknown(entryAt(commandType)), firstSentMs: SENT_MS, lastEndedMs: SENT_MS, ...changes };
}

async function saidOf(entry: Entry, service: Service, id = 'Transaction:5') {
  const { doubt, notes } = await checkTransaction(service, id, entry);
  return { doubt, notes: notes.join('\n') };
}

describe('the transaction of a transfer-in', () => {
  test('alone, as the command says: what was compared is said, and that no other fits', async () => {
    const others = [
      aTransaction({ ...WHOLE, id: 'Transaction:6', ...to('I:2') }),
      aTransaction({ ...WHOLE, id: 'Transaction:7', createdAt: '2026-01-31T11:00:00.000Z' }),
    ];
    const { doubt, notes } = await saidOf(lost('transfer-in'), serviceOf([aTransaction(WHOLE), ...others]));
    expect(doubt).toBeNull();
    expect(notes).toMatch(/these fields match the command: source, destination, received amount$/m);
    expect(notes).toMatch(/of its customer from the time of the command's calls: 1; 0 of them match/);
  });

  test('of a call that was asked to retry later, perhaps by a proxy, is no other payment', async () => {
    const publishedMs = SENT_MS - 1_800_000;
    const origin = { ...entryAt('transfer-in').origin, timestampMs: publishedMs };
    const early = aTransaction({ ...WHOLE, createdAt: '2026-01-31T11:30:01.000Z' });
    const turnedAway = lost('transfer-in', { attempts: 3, turnedAway: 2, origin });
    expect(await saidOf(turnedAway, serviceOf([early]))).toMatchObject({ doubt: null });
    const sentOnce = lost('transfer-in', { attempts: 1, origin });
    expect((await saidOf(sentOnce, serviceOf([early]))).doubt).toMatch(/before the command's first call/);
  });

  test('with another payment of the same accounts and amount is in doubt, and the others are named, from every page', async () => {
    const twins = [6, 7, 8].map((id) => aTransaction({ ...WHOLE, id: `Transaction:${id}`, status: 'COMPLETED' }));
    const service = serviceOf([...twins, aTransaction(WHOLE)]);
    const { doubt } = await saidOf(lost('transfer-in'), service);
    expect(doubt).toContain(
      'other transactions match the command: Transaction:6 (COMPLETED, 5 smallest units, 2026-01-31T12:00:01.000Z)',
    );
    expect(doubt).toContain('Transaction:8');
    expect(doubt).not.toContain('Transaction:5');
    expect(service.asked.at(-1)).toMatchObject({
      customerId: 'Customer:1',
      startDate: '2026-01-31T11:50:00.000Z',
      endDate: '2026-01-31T13:00:00.000Z',
      limit: 100,
    });
  });

  test('that shows nothing to compare is in doubt, and what fits instead is named', async () => {
    const bare = aTransaction({ id: 'Transaction:5', createdAt: CREATED });
    const { doubt, notes } = await saidOf(lost('transfer-in'), serviceOf([bare]));
    expect(doubt).toBe('no field of transaction Transaction:5 can be compared with the command');
    expect(notes).toMatch(/not compared: source \(the service does not give it\), destination .*, received amount/);
    const instead = await saidOf(
      lost('transfer-in'),
      serviceOf([bare, aTransaction({ ...WHOLE, id: 'Transaction:6' })]),
    );
    expect(instead.doubt).toMatch(/no field of.*; other transactions match the command: Transaction:6/);
  });

  test('that shows a part only: what could not be compared is said, and for whose want', async () => {
    const receivedAmount = { amount: 0n, currency: null, otherFieldsJson: null };
    const part = aTransaction({ ...WHOLE, source: null, receivedAmount });
    const fieldsJson = entryAt('transfer-in').fieldsJson?.replace('"amount":5,', '') ?? null;
    const { doubt, notes } = await saidOf(lost('transfer-in', { fieldsJson }), serviceOf([part]));
    expect(doubt).toBeNull();
    expect(notes).toMatch(/these fields match the command: destination$/m);
    expect(notes).toMatch(/source \(the service does not give it\), received amount \(the command does not give it\)/);
  });

  test('that is another payment is said to be one; others are not looked for', async () => {
    const other = aTransaction({ ...WHOLE, ...from('E:2'), createdAt: '2026-01-31T11:00:00.000Z' });
    const service = serviceOf([other]);
    const { doubt } = await saidOf(lost('transfer-in'), service);
    expect(doubt).toMatch(
      /does not show what the command requested.*source is E:2, but the command requested ExternalAccount:1.*created at 2026-01-31T11:00/,
    );
    expect(service.asked.every(({ customerId }) => customerId === undefined)).toBe(true);
  });

  test.each(['2026-01-31T14:30:00.000Z', '2026-01-31T17:00:01.000Z', '2026-01-31T17:59:00.000Z'])(
    'made by a later call, at %s, is found, and not after an hour from the last',
    async (createdAt) => {
      const repeated = lost('transfer-in', { attempts: 9, lastEndedMs: Date.parse('2026-01-31T17:00:00Z') });
      const service = serviceOf([aTransaction({ ...WHOLE, createdAt })]);
      expect((await saidOf(repeated, service)).doubt).toBeNull();
      const days = serviceOf([aTransaction({ ...WHOLE, createdAt: '2026-02-03T12:00:00.000Z' })]);
      expect((await saidOf(repeated, days)).doubt).toMatch(/does not list .*and an hour after its last/);
    },
  );

  test('is in doubt where the list of others has gaps, breaks off, has no cursor, or has no end', async () => {
    const service = serviceOf([aTransaction(WHOLE)]);
    const broken = (page: (first: ListReading, asked: number) => ListReading): Service => ({
      ...service,
      listTransactions: async (filter) => {
        const listed = await service.listTransactions(filter);
        return filter.customerId === undefined ? listed : page(listed, service.asked.length);
      },
    });
    const failed = { ...FAILED, cause: 'unreachable', reason: 'HTTP 503', httpStatus: 503 } as const;
    const warnings = ['data[1] has no id and is left out'];
    const cases: [ReturnType<typeof broken>, RegExp][] = [
      [
        broken((page) => ({ ...page, warnings }) as ListReading),
        /match the command \(.*incomplete: data\[1\] has no id/,
      ],
      [broken(() => failed), /match the command \(HTTP 503\)/],
      [broken((page) => ({ ...page, hasMore: true, nextCursor: null }) as ListReading), /no cursor/],
      [broken((page, asked) => ({ ...page, hasMore: true, nextCursor: `${asked}` }) as ListReading), /more than 10000/],
    ];
    for (const [lists, words] of cases) expect((await saidOf(lost('transfer-in'), lists)).doubt).toMatch(words);
    expect(service.asked.length).toBeLessThan(120);
  });
});

describe('the transaction of another command', () => {
  test('is known by the id that the command names, among any number that look like it', async () => {
    const twin = aTransaction({ id: 'Transaction:9' });
    for (const type of ['execute-quote', 'reject-transaction'] as const) {
      const service = serviceOf([twin, aTransaction({ id: 'Transaction:1', status: 'REJECTED' })]);
      const { doubt, notes } = await saidOf(lost(type), service, 'Transaction:1');
      expect(doubt).toBeNull();
      expect(notes).toMatch(/these fields match the command: id, status$/m);
      expect(notes).not.toContain('other transactions');
    }
  });

  test('of a quote that names none is known by its quote, where the service shows that', async () => {
    const entry = lost('execute-quote', { fieldsJson: '{"quoteId":"Quote:1"}' });
    const shown = aTransaction({ id: 'Transaction:5', status: 'SENT', otherFieldsJson: '{"quoteId":"Quote:1"}' });
    expect((await saidOf(entry, serviceOf([shown]))).doubt).toBeNull();
    const unnamed = aTransaction({ id: 'Transaction:5', status: 'SENT' });
    expect((await saidOf(entry, serviceOf([unnamed]))).doubt).toMatch(/no field of/);
  });

  test.each([
    ['PENDING', null, 'PENDING'],
    ['CREATED', null, 'CREATED'],
    ['EXPIRED', null, 'EXPIRED'],
    ['FAILED', 'QUOTE_EXPIRED', 'FAILED'],
    ['HELD', null, 'HELD'],
  ])('of a quote is in doubt while it is %s (%s): the quote made it, and its execution did not', async (...shown) => {
    const [status, failureReason, word] = shown;
    const quoted = { quoteId: 'Quote:1', transactionId: 'Transaction:1' } as Entry['quoted'];
    for (const entry of [lost('execute-quote'), lost('create-quote', { immediate: true, quoted })]) {
      const service = serviceOf([aTransaction({ ...WHOLE, id: 'Transaction:1', source: null, status, failureReason })]);
      const changed = entry.commandType === 'create-quote' ? { ...entry, fieldsJson: null } : entry;
      const { doubt } = await saidOf(changed, service, 'Transaction:1');
      expect(doubt).toContain(`its status is ${word}, but the command requested that of an executed quote`);
    }
    const made = lost('create-quote', { quoted, fieldsJson: null });
    const transaction = aTransaction({ ...WHOLE, id: 'Transaction:1', status, failureReason });
    expect((await saidOf(made, serviceOf([transaction]), 'Transaction:1')).doubt).toBeNull();
  });

  test('of a quote that waited for its execution is older than the first call of that, and still its own', async () => {
    const quoted = { quoteId: 'Quote:1', transactionId: 'Transaction:5' } as Entry['quoted'];
    const changes = { immediate: true, step: 'EXECUTE', quoted, fieldsJson: null } as const;
    const paid = aTransaction({ ...WHOLE, createdAt: '2026-01-31T11:45:00.000Z', status: 'SENT' });
    expect(await saidOf(lost('create-quote', changes), serviceOf([paid]))).toMatchObject({ doubt: null });
  });

  test('of a quote to a UMA address is compared by that', async () => {
    const destination = { destinationType: 'UMA_ADDRESS', otherFieldsJson: '{"umaAddress":"$a@b.c"}' };
    const fields = { ...(JSON.parse(entryAt('create-quote').fieldsJson ?? '') as object), destination, lookupId: 'L' };
    const entry = lost('create-quote', { fieldsJson: JSON.stringify(fields) });
    const paid = (umaAddress: string): Transaction =>
      aTransaction({
        ...{ ...WHOLE, ...from('InternalAccount:1') },
        destination: {
          ...destination,
          accountId: null,
          currency: null,
          otherFieldsJson: JSON.stringify({ umaAddress }),
        },
      });
    const { notes } = await saidOf(entry, serviceOf([paid('$a@b.c')]));
    expect(notes).toMatch(/the command: source, destination\nnot compared: received amount \(the command/);
    expect((await saidOf(entry, serviceOf([paid('$d@e.f')]))).doubt).toMatch(/destination is \$d@e.f/);
  });
});

describe('of a command that is decided NOT_EXECUTED', () => {
  const quoted = { quoteId: 'Quote:1', transactionId: 'Transaction:1' } as Entry['quoted'];
  const ofQuote = lost('create-quote', { immediate: true, step: 'EXECUTE', quoted, fieldsJson: null });
  const effectOf = async (entry: Entry, status: string) => {
    const service = serviceOf([aTransaction({ id: 'Transaction:1', status })]);
    return lookForEffect(service, 'Transaction:1', entry);
  };

  // A quote that expired during its execution may leave its transaction PENDING.
  test.each([
    [lost('execute-quote'), 'COMPLETED', ': this command, or another one, took effect'],
    [ofQuote, 'REFUNDED', ': this command, or another one, took effect'],
    [lost('reject-transaction'), 'REJECTED', ': this command, or another one, took effect'],
    [lost('execute-quote'), 'PENDING', ': that does not prove that the command took no effect'],
    [ofQuote, 'HELD', ': that does not prove that the command took no effect'],
    [lost('reject-transaction'), 'REFUNDED', ': that does not prove that the command took no effect'],
    [ofQuote, 'EXPIRED', null],
    [lost('reject-transaction'), 'COMPLETED', null],
    [lost('reject-transaction'), 'PENDING', null],
  ])('the transaction that it names says by its status whether it was done: %#', async (entry, status, against) => {
    const shown = `transaction Transaction:1 is ${status}`;
    const said = against === null ? { doubt: null, notes: [shown] } : { doubt: shown + against, notes: [] };
    expect(await effectOf(entry, status)).toEqual(said);
  });

  test('a transaction of another quote proves nothing, whatever its status is', async () => {
    const otherFieldsJson = '{"quoteId":"Quote:of-another"}';
    const service = serviceOf([aTransaction({ id: 'Transaction:1', status: 'EXPIRED', otherFieldsJson })]);
    const { doubt } = await lookForEffect(service, 'Transaction:1', lost('execute-quote'));
    expect(doubt).toMatch(/^transaction Transaction:1 is of another payment: it differs in quote, and proves nothing/);
  });

  test('is looked for by the time of its quote where no call may have executed it', async () => {
    const receivedMs = SENT_MS + 3 * 3_600_000;
    const quoted = aQuoted({ transactionId: 'Transaction:5', receivedMs });
    const again = lost('create-quote', { step: 'EXECUTE', quoted, firstSentMs: null, lastEndedMs: null });
    const entry = { ...again, origin: { ...again.origin, timestampMs: SENT_MS } };
    const createdAt = new Date(receivedMs).toISOString();
    const service = serviceOf([aTransaction({ id: 'Transaction:5', status: 'COMPLETED', createdAt })]);
    expect((await lookForEffect(service, 'Transaction:5', entry)).doubt).toMatch(/is COMPLETED: this command, or/);
  });

  test('a transaction that is not listed, for it may be older, or that cannot be looked at, is in doubt', async () => {
    const none = await lookForEffect(serviceOf([]), 'Transaction:1', ofQuote);
    expect(none.doubt).toMatch(
      /does not list a transaction Transaction:1 between a week before the command's first call/,
    );
    const failed: ListReading = { ...FAILED, cause: 'unauthorized', reason: 'HTTP 403', httpStatus: 403 };
    const { doubt } = await lookForEffect({ listTransactions: async () => failed }, 'Transaction:1', ofQuote);
    expect(doubt).toMatch(/could not be checked in the payment service \(HTTP 403\)/);
  });
});

describe('whose a transaction is', () => {
  const mine = lost('transfer-in', { key: 'mine' });
  const theirs = lost('transfer-in', { key: 'theirs' });
  const doubtOf = (found: Partial<Parameters<typeof ownersInWords>[2]>, entry = mine): string | null =>
    ownersInWords('Transaction:5', entry, { keys: ['mine'], cuts: [], rivals: [], unnamed: [], ...found }).doubt;

  test.each([
    ['names it', { keys: ['mine', 'theirs'] }, 'already belongs to another command: theirs (`show theirs`)'],
    ['may have made it', { rivals: [theirs] }, 'may belong to another command: theirs, UNKNOWN (`show theirs`)'],
    [
      'was decided EXECUTED and names none',
      { unnamed: ['theirs'] },
      'may be the one for which another command was decided EXECUTED, without a transaction id: theirs (`show theirs`)',
    ],
  ])('is in doubt where another command %s', (_, found, doubt) => {
    expect(doubtOf({})).toBeNull();
    expect(doubtOf(found)).toBe(`transaction Transaction:5 ${doubt}`);
  });

  test('is in doubt where another command names it too, though it is of the quote that this one made', async () => {
    const quoted = aQuoted({ transactionId: 'Transaction:5' });
    const own: Entry = { ...lost('create-quote', { key: 'mine' }), step: 'EXECUTE', quoted };
    expect(doubtOf({ keys: ['mine', 'theirs'] }, own)).toContain('already belongs to another command: theirs');
    expect(doubtOf({ rivals: [theirs], unnamed: ['theirs'] }, own)).toBeNull();

    // Whose it is, Kafka shows.
    const shown = { id: 'Transaction:5', status: 'COMPLETED', quoteId: quoted.quoteId };
    const body = JSON.stringify({ hasMore: false, data: [shown] });
    const service = await startHostileService(() => ({ httpStatus: 200, body }));
    onTestFinished(() => service.close());
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv('API_BASE_URL', service.baseUrl);
    vi.stubEnv('API_TOKEN_ID', 'token');
    vi.stubEnv('API_CLIENT_SECRET', 'secret');
    const settings = { KAFKA_BROKERS: [], TOPIC_PREFIX: 'payments' } as unknown as ClientSettings;
    const decision = { decision: 'EXECUTED', foundId: null } as const;
    await expect(checkSettling(settings, own, decision, {} as Output)).rejects.toThrow(/roker/);
  });

  test('is looked for by its quote too, which an execution may name alone', () => {
    const quoted = aQuoted({ quoteId: 'Quote:5', transactionId: 'Transaction:5' });
    const own: Entry = { ...lost('create-quote', { key: 'mine' }), step: 'EXECUTE', quoted };
    const shown = aTransaction({ ...WHOLE, otherFieldsJson: '{"quoteId":"Quote:6"}' });
    expect([...idsOfPayment('Transaction:5', null, own)].sort()).toEqual(['Quote:5', 'Transaction:5']);
    expect([...idsOfPayment('Transaction:5', shown, mine)]).toEqual(['Transaction:5', 'Quote:6']);
    expect([...idsOfPayment('Transaction:7', null, own)]).toEqual(['Transaction:7']);
  });

  test('is in doubt where not all was read that may name it', () => {
    expect(doubtOf({ cuts: ['lane 3'] })).toBe(
      'it is not known whether transaction Transaction:5 belongs to another command (not read: lane 3)',
    );
  });

  test('may be that of a command that fits it and had a call without a clear answer, by the time of its calls', () => {
    const transaction = aTransaction(WHOLE);
    const isRival = (entry: Entry): boolean => mayHaveMade(entry, 'mine', transaction);
    const doubtful: Entry['phase'] = { state: 'DOUBTFUL', settleAtMs: 0, reason: 'HTTP 503', refusal: null };
    const parked: Entry['phase'] = { state: 'PARKED', untilMs: 0, reason: 'HTTP 429' };
    const fieldsJson = theirs.fieldsJson?.replace('"amount":5', '"amount":6') ?? null;
    expect(isRival(mine)).toBe(false);
    expect(isRival(theirs)).toBe(true);
    expect(isRival({ ...theirs, phase: doubtful })).toBe(true);
    expect(isRival({ ...theirs, phase: parked, firstSentMs: null, lastEndedMs: null, turnedAway: 1 })).toBe(true);
    expect(isRival({ ...theirs, phase: parked, firstSentMs: null, lastEndedMs: null })).toBe(false);
    expect(isRival(doneWith(theirs, 'EXPIRED'))).toBe(false);
    expect(isRival({ ...theirs, fieldsJson })).toBe(false);
    const ofLastMonth = { firstSentMs: SENT_MS - 30 * DAY_MS, lastEndedMs: SENT_MS - 30 * DAY_MS };
    expect(isRival({ ...theirs, ...ofLastMonth })).toBe(false);
    expect(isRival({ ...theirs, firstSentMs: SENT_MS + DAY_MS, lastEndedMs: SENT_MS + DAY_MS })).toBe(false);
  });
});

describe('the published statuses of the transaction that a command names', () => {
  const saidBy = (entry: Entry, events: StatusEvent[], unread: string[] = []) =>
    lookForPublishedEffect('Transaction:1', entry, { events, unread }).doubt;

  test('leave NOT_EXECUTED in doubt if one shows an effect, whatever came later', () => {
    expect(saidBy(lost('execute-quote'), published('PENDING', 'PROCESSING', 'EXPIRED'))).toBe(
      'transaction Transaction:1 was PROCESSING at 2026-01-31T12:00:00.000Z: the command may have taken effect',
    );
    const rejection = lost('reject-transaction');
    expect(saidBy(rejection, published('REJECTED', 'COMPLETED'))).toContain('was REJECTED');
    for (const status of ['PROCESSING', 'REFUNDED', 'FAILED'])
      expect(saidBy(rejection, published('PENDING', status, 'PENDING'))).toContain(`was ${status}`);
  });

  test('say nothing against it otherwise, if all of them were read', () => {
    expect(saidBy(lost('execute-quote'), published('PENDING', 'EXPIRED'))).toBeNull();
    expect(saidBy(lost('reject-transaction'), published('PENDING', 'PROCESSING', 'COMPLETED'))).toBeNull();
    expect(saidBy(lost('execute-quote'), published('PENDING'), ['lane 3 is hidden'])).toContain('lane 3 is hidden');
  });
});
