/** What error codes mean to a producer, held against what the protocol says of them. */
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { verdictOf } from '../../src/producers/broker-verdicts.ts';

const { errorCodes } = createRequire(import.meta.url)('kafkajs/src/protocol/error') as {
  errorCodes: readonly { code: number; type: string; retriable: boolean }[];
};
/** Of consumers, groups, log directories and elections; no answer to a producer's requests has them. */
const OF_OTHERS =
  /^(REPLICA_NOT|NOT_CONTROLLER|FETCH_|INVALID_FETCH|LISTENER|OFFSET_NOT|PREFERRED|ELIGIBLE|ELECTION|UNSTABLE)/;

test('errors that pass by themselves are waited out, and a batch that arrived damaged is not sent again', () => {
  const ended = errorCodes
    .filter(({ retriable, type }) => retriable && !OF_OTHERS.test(type))
    .filter(({ code }) => !['busy', 'moved'].includes(verdictOf(code).kind))
    .map(({ type }) => type);
  expect(ended).toEqual(['CORRUPT_MESSAGE']);
});

test('no error that stays is waited out, but the word that the broker has the batch already', () => {
  const waited = errorCodes
    .filter(({ retriable }) => !retriable)
    .filter(({ code }) => verdictOf(code).kind !== 'failed')
    .map(({ type }) => type);
  expect(waited).toEqual(['DUPLICATE_SEQUENCE_NUMBER', 'OPERATION_NOT_ATTEMPTED']);
});

test('a leader whose replicas do not follow may lead no more: fresh metadata is asked who does', () => {
  const late = errorCodes.filter(({ type }) => /^(REQUEST_TIMED_OUT|NOT_ENOUGH_REPLICAS.*)$/.test(type));
  expect(late.map(({ code }) => verdictOf(code).kind)).toEqual(['moved', 'moved', 'moved']);
});

test('fencing is known by each of its names', () => {
  const fenced = Array.from({ length: 130 }, (_, code) => verdictOf(code)).filter(
    (verdict) => verdict.kind === 'failed' && verdict.failure === 'fenced',
  );
  expect(fenced.map((verdict) => 'name' in verdict && verdict.name)).toEqual([
    'INVALID_PRODUCER_EPOCH',
    'INVALID_PRODUCER_ID_MAPPING',
    'PRODUCER_FENCED',
  ]);
});

test('a code that is not listed leaves it open whether all was committed', () => {
  expect(verdictOf(120)).toEqual({ kind: 'failed', name: 'UNKNOWN_ERROR_120', failure: 'not-committed' });
});
