/** The literals that the client promises are those that results have. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OUTCOME_NAMES, PROCESSOR_ERROR_CODES, subscribe, type PaymentEvent } from '../src/index.ts';
import { freshPrefix, prepare, resultOf, ResultWriter, settingsOf } from './fixtures.ts';

const prefix = freshPrefix('literals');
let writer: ResultWriter;

beforeAll(async () => {
  await prepare(prefix);
  writer = await ResultWriter.open(prefix);
});
afterAll(async () => writer.close());

test('the codes of the processor are those that its results are made with, and that the docs list', () => {
  const source = readFileSync('src/ledger/result-record.ts', 'utf8');
  const made = [...source.matchAll(/code: '([A-Z_]+)'/g)].map(([, code = '']) => code);
  expect([...new Set(made)].sort()).toEqual(Object.keys(PROCESSOR_ERROR_CODES).sort());
  const rows = [...readFileSync('docs/events.md', 'utf8').matchAll(/^\| ([A-Z_]+) +\| ([A-Z]+) +\|/gm)];
  const listed = rows.map(([, code = '', outcome = '']) => [code, outcome]);
  expect(Object.fromEntries(listed)).toMatchObject(PROCESSOR_ERROR_CODES);
});

test('a result that a later release may make is handed over as unreadable, and no outcome is mistaken for another', async () => {
  for (const outcome of [...OUTCOME_NAMES, 'POSTPONED'])
    await writer.write(resultOf(outcome.toLowerCase(), { outcome }));
  const events: PaymentEvent[] = [];
  const subscription = await subscribe(settingsOf(prefix), {
    streams: ['results'],
    start: { from: 'beginning' },
    untilEnd: true,
    onEvent: (event) => void events.push(event),
  });
  await subscription.ended;
  const outcomes = events.flatMap((event) => (event.kind === 'result' ? [event.value.outcome] : []));
  expect(outcomes.sort()).toEqual([...OUTCOME_NAMES].sort());
  expect(events.filter(({ kind }) => kind === 'unreadable')).toMatchObject([
    { key: 'postponed', problem: /outcome POSTPONED.*update the client/ },
  ]);
});
