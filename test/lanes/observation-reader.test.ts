/** Observations that a lane reads: by a schema that no ledger has yet, and messages that are no observation. */
import { expect, test } from 'vitest';
import type { InputMessage } from '../../src/consumers/input-message.ts';
import { ObservationReader } from '../../src/lanes/inputs/observations.ts';
import { learnSchema } from '../../src/ledger/ledger-value.ts';
import { decodeObservation, encodeObservation, observationKey } from '../../src/status/observation.ts';
import { ID_LENGTH_MAX, quoteIdAmong } from 'payment-processor-contract/quote-id';
import { taken } from '../consumers/received.ts';
import { aQuote, aTransaction } from '../ledger/entries.ts';
import { otherRelease } from '../ledger/other-release.ts';
import { anObservation } from '../status/observations.ts';

const PLACE = { topic: 'test.internal.observations', lane: 0 };
const OURS = encodeObservation(anObservation({ transaction: aTransaction() }));

const release = (name: string): ReturnType<typeof otherRelease> =>
  otherRelease('Observation', ({ fields }) => {
    fields.push({ name, type: ['null', 'string'] });
  });

const messageOf = (value: Buffer, id = 'Transaction:1'): InputMessage => taken(value, { key: Buffer.from(id) });

/** Reads at the given seconds. @returns the kinds of what came of it */
function readingAt(): (second: number, value: Buffer) => string {
  let nowMs = 0;
  const reader = new ObservationReader({ laneCount: 1, clock: { monotonicMs: () => nowMs, nowMs: () => 0 } });
  return (second, value) => {
    nowMs = second * 1_000;
    const read = reader.read(PLACE, messageOf(value));
    return read.kind;
  };
}

test('an observation by a schema that the ledger is yet to tell is read once it has', () => {
  const other = release('told');
  const value = other.written(OURS, { told: 'x' });
  const read = readingAt();
  expect(read(0, value)).toBe('unavailable');
  learnSchema(other.schema.value);
  expect(read(1, value)).toBe('observation');
});

test('one by a schema that no ledger has is set aside, and those behind it wait for five seconds of a minute at most', () => {
  const unknown = ['a', 'b', 'c'].map((name) => release(name).written(OURS, { [name]: null }));
  const read = readingAt();
  let waitedSeconds = 0;
  let index = 0;
  for (let second = 0; second < 60; second += 1) {
    const value = unknown[index % unknown.length] ?? OURS;
    if (read(second, value) === 'unavailable') waitedSeconds += 1;
    else index += 1;
    if (waitedSeconds === 2 && index === 0) expect(read(second, OURS)).toBe('observation');
  }
  expect(waitedSeconds).toBe(5);
  expect(index).toBe(55);
  expect(read(60, unknown[0] ?? OURS)).toBe('unavailable');
});

test('an id counts by its characters, for its reader as for its observer', () => {
  const reader = new ObservationReader({ laneCount: 1, clock: { monotonicMs: () => 0, nowMs: () => 0 } });
  for (const id of ['T'.repeat(ID_LENGTH_MAX), '\u00fc'.repeat(ID_LENGTH_MAX), '\u{1f4a5}'.repeat(ID_LENGTH_MAX / 2)]) {
    const transaction = aTransaction({ id });
    expect(observationKey({ transaction, quote: null })).toBe(id);
    expect(reader.read(PLACE, messageOf(OURS, id))).toMatchObject({ kind: 'observation', id });
  }
  expect(reader.read(PLACE, messageOf(OURS, 'T'.repeat(ID_LENGTH_MAX + 1))).kind).toBe('dead-letter');
});

test('a quote with a longer id is not observed: its events could be larger than a transaction of the lane', () => {
  const decodedOf = (id: string) =>
    decodeObservation(encodeObservation(anObservation({ transaction: aTransaction(), quote: aQuote({ id }) })));
  expect(decodedOf('Q'.repeat(ID_LENGTH_MAX))?.quote).not.toBeNull();
  expect(decodedOf('Q'.repeat(ID_LENGTH_MAX + 1))).toMatchObject({ transaction: { id: 'Transaction:1' }, quote: null });
  expect(quoteIdAmong(JSON.stringify({ quoteId: 'Q'.repeat(ID_LENGTH_MAX) }))).not.toBeNull();
  expect(quoteIdAmong(JSON.stringify({ quoteId: 'Q'.repeat(ID_LENGTH_MAX + 1) }))).toBeNull();
  expect(quoteIdAmong('{"quoteId":""}')).toBeNull();
});

test('fields of a transaction that are nested too deep for this stack name no quote', () => {
  expect(quoteIdAmong(`{"quoteId":"Quote:1","deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).toBeNull();
});

test('a message set aside says why, and has its bytes', () => {
  const bytes = release('d').written(OURS, { d: null });
  const reader = new ObservationReader({ laneCount: 1, clock: { monotonicMs: () => nowMs, nowMs: () => 0 } });
  let nowMs = 0;
  reader.read(PLACE, messageOf(bytes));
  nowMs = 6_000;
  expect(reader.read(PLACE, messageOf(bytes))).toMatchObject({
    kind: 'dead-letter',
    letter: {
      reason: 'UNREADABLE',
      message: expect.stringContaining('run the release that wrote the record') as string,
      value: bytes,
    },
  });
});
