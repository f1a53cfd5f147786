/** What `show` says of a payment, by what was read of its results and status changes. */
import { describe, expect, test } from 'vitest';
import { showEach } from '../src/commands/show.ts';
import { summaryOf } from '../src/dead-letter.ts';
import { CliFailure } from '../src/exit-codes.ts';
import { inOrder, observedMs, type StatusEvent } from '../src/status-history.ts';
import { noCommandText, unreadChanges } from '../src/story/find-keys.ts';
import { storyDocument, storyText } from '../src/story/story-output.ts';
import { isOfMessage, keepSome, paymentIdOf, type Story } from '../src/story/story.ts';
import type { Outcome } from 'payment-processor-contract/commands';
import type { CommandSource, Transaction } from 'payment-processor-contract/types';
import type { Entry } from '../../../src/ledger/entry.ts';
import { entryAt } from '../../../test/ledger/entries.ts';
import { resultOf } from '../../client/test/result-of.ts';

const ID = 'Transaction:1';
/** Of the commands that the entries come of. */
const TOPIC = entryAt('transfer-in').origin.topic;

function at(topic: string, key: string, offset: bigint) {
  const id = `${topic}-${offset}`;
  return { topic, partition: 0, offset, timestampMs: 1_700_000_000_000, key, id, uniqueId: id, headers: {} };
}

function change(status: string, offset: bigint, observedAt = 1n, commandKeys: readonly string[] = []): StatusEvent {
  const value = {
    transactionId: ID,
    status,
    previousStatus: null,
    failureReason: null,
    commandKeys,
    observedAt,
  };
  return { ...at('changes', ID, offset), kind: 'transaction-status', value } as unknown as StatusEvent;
}

function unreadable(offset: bigint): StatusEvent {
  return { ...at('changes', ID, offset), kind: 'unreadable', problem: 'a later release', bytes: null };
}

function resultIn(outcome: Outcome, source?: CommandSource, offset = 1n): Story['results'][number] {
  const transaction =
    outcome === 'ACCEPTED' ? ({ id: ID, status: 'PENDING', receivedAmount: null } as Transaction) : null;
  const value = resultOf('invoice', { outcome, transaction, ...(source === undefined ? {} : { source }) });
  return { ...at('results', 'invoice', offset), value, problem: null };
}

function story(outcome: Outcome, changes: readonly StatusEvent[], isCutShort = false): Story {
  const rest = { messages: [], entries: [], admittedTo: {}, decisions: [], letters: [], cuts: [] };
  return { key: 'invoice', ...rest, results: [resultIn(outcome)], changes, isCutShort };
}

type Readable = Extract<Story['messages'][number], { readonly problem: null }>;

/** A transfer-in as it was published. */
function message(offset: bigint, given: Partial<Readable> = {}): Readable {
  const read = { valueBytes: 2, value: {}, problem: null, fingerprint: 'fingerprint' };
  return { ...at(TOPIC, 'invoice', offset), commandType: 'transfer-in', movedFrom: null, ...read, ...given };
}

/** What the ledger holds of the key at an offset. */
function record(offset: bigint, entry: Entry | null) {
  return { lane: 0, offset, timestampMs: 1_700_000_000_000, entry };
}

function paymentIn(told: Story): string {
  const line = storyText(told, false).find((text) => text.startsWith('payment')) ?? '';
  expect(storyDocument(told, false)).toMatchObject({ payment: { kind: expect.any(String) as string } });
  return line.replace(/^payment +/, '');
}

test('the last status settles it, and one that cannot be read does not let an earlier one stand', () => {
  expect(paymentIn(story('ACCEPTED', [change('COMPLETED', 1n)]))).toBe('settled: COMPLETED, Transaction:1');
  const later = story('ACCEPTED', [change('COMPLETED', 1n), unreadable(2n)]);
  expect(paymentIn(later)).toBe('not settled: no status known, Transaction:1');
  expect(storyText(later, false).join('\n')).toMatch(
    /cannot be read: a later release .*changes, partition 0, offset 2/,
  );
});

test('a payment of another command is not shown as that of a result that names none', () => {
  const decided = resultOf('invoice', { outcome: 'ACCEPTED', settledBy: 'OPERATOR', transaction: null });
  const results = [{ ...at('results', 'invoice', 1n), value: decided, problem: null }];
  const of = (...keys: string[]): string =>
    paymentIn({ ...story('ACCEPTED', [change('COMPLETED', 1n, BigInt(Date.now()), keys)]), results });
  expect(of('invoice')).toBe('settled: COMPLETED, Transaction:1');
  expect(of('another')).toBe('not settled: no status known, no transaction known');
  // The message that named it was ignored: the command is a transfer.
  const [conflict] = [resultIn('CONFLICT', { topic: 'executions', partition: 0, offset: 7n })];
  const ignored = message(7n, {
    topic: 'executions',
    fingerprint: 'another',
    value: { quoteId: 'Quote:1', transactionId: ID },
  });
  const entries = [record(1n, entryAt('transfer-in'))];
  expect(paymentIdOf({ ...story('ACCEPTED', []), messages: [ignored], entries, results: [conflict] })).toBeNull();
  expect(paymentIdOf({ ...story('ACCEPTED', []), messages: [ignored], results: [] })).toBe(ID);
});

test('a message that was ignored is not shown as the command of a payment, though only it is left', () => {
  const place = (offset: bigint): CommandSource => ({ topic: TOPIC, partition: 0, offset });
  const results = [resultIn('ACCEPTED', place(7n)), resultIn('CONFLICT', place(8n), 2n)];
  const ignored = message(8n, { value: { amount: 999n }, fingerprint: 'another' });
  const told = {
    ...story('ACCEPTED', [change('COMPLETED', 1n)]),
    results,
    messages: [ignored],
    admittedTo: { [TOPIC]: 9n },
  };
  const text = storyText(told, true).join('\n');
  expect(text).toMatch(/^payment +settled: COMPLETED/m);
  expect(text).not.toMatch(/^fields .*999|not admitted yet|PaymentsOldestUnanswered/m);
  expect(text).toContain('other content under the same key: a CONFLICT');
});

test('what the ledger knows and no result that was read says', () => {
  const done = (outcome: Outcome, revision: number): Entry => {
    const result = { value: Buffer.alloc(0), headers: {} };
    return { ...entryAt('transfer-in'), revision, phase: { state: 'DONE', outcome, completedMs: 1, result } };
  };
  const known = (entry: Entry, results: Story['results']): string =>
    paymentIn({ ...story('EXPIRED', []), results, entries: [record(2n, entry)] });
  const expired = [resultIn('EXPIRED', entryAt('transfer-in').origin)];
  expect(known(done('EXPIRED', 1), expired)).toBe('none by this command: EXPIRED');
  // A RETRY ended while the topics were read.
  expect(known(done('ACCEPTED', 2), expired)).toMatch(/^nothing known for certain: .*; run it again$/);
  // The results topic keeps it for 30 days.
  expect(known(done('UNKNOWN', 1), [])).toMatch(/^unknown: .*an operator must decide$/);
});

test('a decision that its result names was carried out, though the ledger has forgotten the key', () => {
  const told = story('ACCEPTED', []);
  const value = { decision: 'EXECUTED', operator: 'ann', reason: 'found', expectedRevision: '1', transactionId: ID };
  const decision = { ...at('decisions', 'invoice', 1n), headers: { ce_id: 'd-1' }, value, problem: null };
  const admittedTo = { decisions: 2n };
  const became = (results: Story['results']): string =>
    storyText({ ...told, results, admittedTo, decisions: [decision] }, false).find((line) =>
      line.includes('EXECUTED on'),
    ) ?? '';
  const named = told.results.map((result) => ({ ...result, headers: { 'decision-id': 'd-1' } }));
  expect(became(named)).toContain('carried out');
  expect(became(told.results)).toContain('not known: the ledger does not have the key, or has forgotten it');
});

test('a doubt has its runbook also while its call is repeated', () => {
  const runbookOf = (entry: Entry): string =>
    storyText({ ...story('EXPIRED', []), entries: [record(1n, entry)] }, false).join('\n');
  const calling = entryAt('transfer-in');
  expect(runbookOf(calling)).toContain('PaymentsOldestUnansweredTooOld');
  expect(runbookOf({ ...calling, firstSentMs: 1, lastEndedMs: 2 })).toContain('PaymentsDoubtNotSettled');
});

test('that no call took effect is said only while its proof holds, and not of the call under way', () => {
  const phase = { state: 'PARKED', untilMs: 3, reason: '' } as const;
  const doubt = { ...entryAt('execute-quote'), attempts: 2, firstSentMs: 1, lastEndedMs: 2, phase };
  const ledgerOf = (changed: Partial<Entry>): string => {
    const entries = [record(1n, { ...doubt, ...changed })];
    return storyText({ ...story('EXPIRED', []), entries }, true).find((line) => /(took|taken) effect/.test(line)) ?? '';
  };
  const proof = { by: 'LOOK_UP', attempts: 2 } as const;
  expect(ledgerOf({ unexecuted: proof })).toMatch(/according to a look-up, no call took effect$/);
  expect(ledgerOf({ unexecuted: proof, turnedAway: 1 })).toContain('took effect; calls that the service deferred: 1');
  expect(ledgerOf({ unexecuted: proof, phase: entryAt('execute-quote').phase })).toContain(
    'no earlier call took effect',
  );
  const unproven = ledgerOf({ unexecuted: { ...proof, attempts: -1 } });
  expect(unproven).toMatch(/may have taken effect since (?!.*according to)/);
});

test('a RETRY that waits may still pay', () => {
  const result = { value: Buffer.alloc(0), headers: {} };
  const phase: Entry['phase'] = { state: 'DONE', outcome: 'EXPIRED', completedMs: 1, result };
  const entries = [record(1n, { ...entryAt('transfer-in'), phase })];
  const value = { decision: 'RETRY', operator: 'ann', reason: 'late', expectedRevision: '1', transactionId: null };
  const decision = { ...at('decisions', 'invoice', 1n), value, problem: null };
  const results = [resultIn('EXPIRED', entryAt('transfer-in').origin)];
  const told = { ...story('EXPIRED', []), entries, results, decisions: [decision] };
  const decided = (read: Story): string => storyText(read, false).find((line) => line.includes('RETRY on')) ?? '';
  const waiting = { ...told, admittedTo: { decisions: 1n } };
  expect(paymentIn(waiting)).toBe('nothing known yet: a decision waits, and may still be carried out');
  expect(decided(waiting)).toContain('waits to be read: it may still be carried out');
  const read = { ...told, admittedTo: { decisions: 2n } };
  expect(paymentIn(read)).toBe('none by this command: EXPIRED');
  expect(decided(read)).toContain('not carried out, as far as the ledger shows');
});

test('a refused decision that was moved to its lane is shown as refused', () => {
  const value = { decision: 'RETRY', operator: 'ann', reason: 'late', expectedRevision: '7', transactionId: null };
  const headers = { 'moved-partition': '3', 'moved-offset': '42' };
  const decision = { ...at('decisions', 'invoice', 1n), headers, value, problem: null };
  const source = { topic: 'decisions', partition: '3', offset: '42', timestamp: null };
  const letter = { ...summaryOf({ ...at('dead-letters', 'invoice', 1n), key: null, value: null }), source };
  const told = { ...story('ACCEPTED', []), decisions: [decision], letters: [{ letter, redriven: [] }] };
  expect(storyText(told, false).find((line) => line.includes('RETRY on'))).toContain('late  refused');
});

test('a copy of an earlier result does not hide a later one that cannot be read', () => {
  const told = story('EXPIRED', []);
  const first = resultIn('EXPIRED');
  const [copied, unread] = [{ ce_id: 'one' }, { value: null, problem: 'a later release' } as const];
  const results = [
    { ...first, headers: copied },
    { ...first, offset: 2n, headers: { ce_id: 'two' }, ...unread },
    { ...first, offset: 3n, headers: { ...copied, replayed: 'true' } },
  ];
  expect(paymentIn({ ...told, results })).toMatch(/^nothing known/);
});

test('however many conflicts there are, they hide no revision', () => {
  const result = (offset: number, outcome: Outcome, revision: number) => {
    return { ...at('results', 'invoice', BigInt(offset)), value: resultOf('invoice', { outcome, revision }) };
  };
  const published = Array.from({ length: 1_200 }, (_, offset) => result(offset, 'CONFLICT', 0));
  published.splice(0, 1, result(0, 'EXPIRED', 1));
  published.splice(400, 1, result(400, 'ACCEPTED', 2));
  const results: (typeof published)[number][] = [];
  let leftOut = 0;
  for (const each of published) leftOut += keepSome(results, each, 500, isOfMessage);
  expect([results.length, leftOut]).toEqual([500, 700]);
  const told = { ...story('EXPIRED', []), results: results.map((each) => ({ ...each, problem: null })) };
  expect(paymentIn(told)).toMatch(/^not settled/);
});

test('the last line of a payment is its last status, whatever the clock of the member that saw it', () => {
  const quote = { ...change('COMPLETED', 1n, 300n), topic: 'quotes', kind: 'quote-status' } as StatusEvent;
  const behind = [change('PENDING', 1n, 200n), change('COMPLETED', 2n, 500n), change('REFUNDED', 3n, 400n)];
  const history = inOrder([...behind, quote], ({ topic }) => topic, observedMs);
  expect(history.map((event) => (event.kind === 'unreadable' ? '' : event.value.status))).toEqual([
    'PENDING',
    'COMPLETED',
    'COMPLETED',
    'REFUNDED',
  ]);
  expect(history.indexOf(quote)).toBe(1);
  const shown = storyText(story('ACCEPTED', history), false).filter((line) => /^ .* -> /.test(line));
  expect(shown.at(-1)).toContain('REFUNDED');
});

test('a command of a payment that is known nowhere any more does not hide the others', async () => {
  const shown: string[] = [];
  const showing = showEach(['forgotten', 'second', 'third'], async (key) => {
    if (key === 'forgotten') throw new CliFailure('notFound', `${key} is known nowhere`);
    shown.push(key);
  });
  await expect(showing).rejects.toThrow('forgotten is known nowhere');
  expect(shown).toEqual(['second', 'third']);
});

test('of a reading that was cut short nothing is concluded that what follows may contradict', () => {
  expect(paymentIn(story('EXPIRED', []))).toBe('none by this command: EXPIRED');
  expect(paymentIn(story('EXPIRED', [], true))).toMatch(/^nothing known/);
  expect(paymentIn(story('ACCEPTED', [change('COMPLETED', 1n)], true))).toBe(
    'not certain, because a part was not read: COMPLETED, Transaction:1',
  );
});

describe('while its command runs', () => {
  const running = { ...entryAt('transfer-in'), key: 'invoice', revision: 2 };
  const told = (outcome: Outcome, entry = running): Story => {
    const { source } = resultOf('invoice');
    const own = { ...entry, origin: { ...source, timestampMs: 0 } };
    return { ...story(outcome, [change('COMPLETED', 1n)]), entries: [record(1n, own)] };
  };

  test('nothing is concluded from the result that an operator had it run again after', () => {
    for (const outcome of ['EXPIRED', 'INVALID', 'FAILED', 'UNKNOWN'] as const) {
      expect(paymentIn(told(outcome))).toBe('nothing known yet: the command is in progress');
    }
  });

  test('nothing is concluded from the result of an earlier command of the key, which was forgotten', () => {
    const later = told('ACCEPTED', { ...running, revision: 1 });
    const earlier = resultIn('ACCEPTED', { ...resultOf('invoice').source, offset: 1n });
    expect(paymentIn({ ...later, results: [earlier] })).toMatch(/^nothing known/);
  });

  test('its own result counts, where the ledger was read before it', () => {
    expect(paymentIn(told('ACCEPTED', { ...running, revision: 1 }))).toBe('settled: COMPLETED, Transaction:1');
  });
});

describe('the fields of the command', () => {
  const entry = { ...entryAt('transfer-in'), key: 'invoice' };
  const saying = (amount: bigint, fingerprint: string) => message(30n, { value: { amount }, fingerprint });
  const lines = (messages: Story['messages']): string[] =>
    storyText({ ...story('UNKNOWN', []), entries: [record(1n, entry)], messages }, true);
  const fieldsIn = (messages: Story['messages']): string | undefined =>
    lines(messages).find((line) => line.startsWith('fields'));

  test('are never those of a message that was ignored', () => {
    const ignored = saying(999n, 'another');
    expect(lines([ignored]).join('\n')).not.toMatch(/^(fields|command|where) .*(999|offset 30)/m);
    expect(fieldsIn([ignored])).toMatch(/"amount":5\b/);
  });

  test('are those of a copy, or as the ledger keeps them, once its message is gone', () => {
    expect(fieldsIn([saying(999n, 'another'), saying(5n, 'fingerprint')])).toMatch(/"amount":5\b/);
    expect(fieldsIn([])).toMatch(/"amount":5\b/);
  });
});

describe('a key that is used again after the ledger has forgotten it', () => {
  const entry = { ...entryAt('transfer-in'), key: 'invoice' };
  const { origin } = entry;
  const told = (messages: Story['messages'], more: Partial<Story> = {}): Story => {
    const forgotten = { entries: [record(1n, entry), record(2n, null)], admittedTo: { [origin.topic]: 9n } };
    return { ...story('ACCEPTED', []), ...forgotten, messages, ...more };
  };
  const rolesIn = (of: Story): string[] =>
    (storyDocument(of, false) as { published: { role: string }[] }).published.map(({ role }) => role);

  test.each(['fingerprint', 'another'])('a message that waits may pay again, whatever its content: %s', (content) => {
    const again = told([message(7n), message(9n, { fingerprint: content })]);
    expect(storyText(again, false).join('\n')).toMatch(
      /transfer-in +waits to be admitted: the ledger has forgotten the key, so this will be a new command/,
    );
    expect(paymentIn(again)).toMatch(/^nothing known yet: a message waits/);
    expect(rolesIn(again)).toEqual(['command', 'new-command']);
  });

  test.each([
    ['the tombstone', [record(2n, null)]],
    ['nothing', []],
  ])('so it is once compaction has left %s in the ledger', (_, entries) => {
    const again = told([message(9n)], { entries });
    expect(paymentIn(again)).toMatch(/^nothing known yet: a message waits/);
    expect(storyDocument(again, false)).toMatchObject({ payment: { earlierOutcome: 'ACCEPTED' } });
    expect(rolesIn(again)).toEqual(['new-command']);
  });

  test('a message that names the place of the forgotten command as its own waits all the same', () => {
    const { offset, partition } = origin;
    expect(rolesIn(told([message(9n, { movedFrom: { offset, partition } })]))).toEqual(['new-command']);
  });

  test('a message whose result was published since the ledger was read does not wait', () => {
    const { source } = resultOf('invoice');
    expect(paymentIn({ ...story('ACCEPTED', []), messages: [message(9n, source)] })).toMatch(/^not settled/);
  });

  test.each([
    ['another topic', { topic: 'commands.create-quote' }, null],
    ['another partition, from which it was moved', {}, { partition: 2, offset: 77n }],
  ])('a message that has a result of its own, of %s, is neither a copy nor a conflict', (_, of, movedFrom) => {
    const first = message(8n, { ...of, movedFrom });
    const results = [resultIn('ACCEPTED', { ...first, ...movedFrom })];
    expect(rolesIn(told([first], { results, entries: [record(1n, entry)] }))).toEqual(['earlier']);
  });

  test('a copy that was answered before stays one', () => {
    const messages = [message(7n), message(8n)];
    expect(rolesIn(told(messages))).toEqual(['command', 'copy']);
    expect(rolesIn(told(messages, { isCutShort: true }))).toEqual(['command', 'unread']);
  });

  test('the message of the earlier command is no copy of the later one, whose result says nothing of it', () => {
    const later = { ...entry, origin: { ...origin, offset: 9n } };
    const results = [
      resultIn('ACCEPTED', { topic: 'commands', partition: 0, offset: 99n }),
      resultIn('EXPIRED', later.origin, 2n),
    ];
    const entries = [record(1n, entry), record(2n, null), record(3n, later)];
    const again = told([message(7n), message(9n)], { admittedTo: {}, entries, results });
    expect(storyDocument(again, false)).toMatchObject({ payment: { earlierOutcome: 'ACCEPTED' } });
    expect(rolesIn(again)).toEqual(['earlier', 'command']);
    expect(storyText(again, false).join('\n')).toMatch(/^earlier +ACCEPTED: an earlier command of this key/m);
  });
});

test('of a ledger that was not read to its end it is not said that it lacks the key', () => {
  const shown = (isCutShort: boolean): string =>
    storyText({ ...story('ACCEPTED', [], isCutShort), results: [], messages: [message(3n)] }, false).join('\n');
  expect(shown(false)).toMatch(/state +not in the ledger: .*\n[^]*not admitted yet, or forgotten/);
  expect(shown(true)).toMatch(/state +as far as it was read: not in the ledger\n/);
  expect(shown(true)).not.toMatch(/transfer-in +not admitted yet/);
});

test('that a payment is of no command is not said where its status changes cannot be read', () => {
  expect(noCommandText(ID, unreadChanges([change('COMPLETED', 1n)]))[0]).toBe(
    `no command in the kept records names ${ID}. Either no command of this processor made it, or its command`,
  );
  expect(noCommandText(ID, unreadChanges([unreadable(1n)]))).toEqual([`no command in the records read names ${ID}`]);
});
