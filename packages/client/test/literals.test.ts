/** The literals that the client promises are those that results have. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TopicRecord } from '../src/kafka/topic-reader.ts';
import { readEvent } from '../src/events.ts';
import { OUTCOME_NAMES, PROCESSOR_ERROR_CODES } from '../src/index.ts';
import { resultOf } from './result-of.ts';

test('the codes of the processor are those that its results are made with, and that the docs list', () => {
  const source = readFileSync('src/ledger/result-record.ts', 'utf8');
  const made = [...source.matchAll(/code: '([A-Z_]+)'/g)].map(([, code = '']) => code);
  expect([...new Set(made)].sort()).toEqual(Object.keys(PROCESSOR_ERROR_CODES).sort());
  const rows = [...readFileSync('docs/events.md', 'utf8').matchAll(/^\| ([A-Z_]+) +\| ([A-Z]+) +\|/gm)];
  const listed = rows.map(([, code = '', outcome = '']) => [code, outcome]);
  expect(Object.fromEntries(listed)).toMatchObject(PROCESSOR_ERROR_CODES);
});

test('a result that a later release may make is handed over as unreadable, and no outcome is mistaken for another', async () => {
  const record = { topic: 'results', partition: 0, offset: 0n, timestampMs: 0, key: Buffer.from('key'), headers: {} };
  const read = (outcome: string) => {
    const stored: TopicRecord = { ...record, value: Buffer.from(outcome) };
    const value = resultOf('key', { outcome });
    return readEvent(
      stored,
      'results',
      () => ({ kind: 'record', value }),
      new AbortController().signal,
      () => undefined,
    );
  };
  for (const outcome of OUTCOME_NAMES)
    expect(await read(outcome)).toMatchObject({ kind: 'result', value: { outcome } });
  const problem = expect.stringMatching(/outcome POSTPONED.*update the client/) as string;
  expect(await read('POSTPONED')).toMatchObject({ kind: 'unreadable', key: 'key', problem });
});
