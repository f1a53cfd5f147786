/** Several dead letters, of which only some can be marked: the failure says which. Pure. */
import { afterEach, expect, test, vi } from 'vitest';
import { PublishError, RecordPublisher } from 'payment-processor-client/internal/kafka/record-publisher';
import type { CliSettings } from '../src/context.ts';
import { claimLetters } from '../src/redrive-notes.ts';

const SETTINGS = { TOPIC_PREFIX: 'none', KAFKA_BROKERS: ['127.0.0.1:1'] } as unknown as CliSettings;

afterEach(() => vi.restoreAllMocks());

test.each([
  [
    'NOT_CONFIRMED',
    'noResult',
    'not all dead letters are marked (cut off). Marked: 2/0, 2/1. Perhaps marked: 2/2. Not marked: 2/3',
  ],
  ['NOT_WRITTEN', 'failed', 'not all dead letters are marked (x). Marked: 2/0, 2/1. Not marked: 2/2, 2/3'],
] as const)('a mark that is %s ends with the exit code of %s', async (problem, reason, message) => {
  const publish = vi.fn<RecordPublisher['publish']>();
  publish.mockResolvedValue({ partition: 2, offset: 9n });
  publish.mockResolvedValueOnce({ partition: 2, offset: 8n }).mockResolvedValueOnce({ partition: 2, offset: 8n });
  publish.mockRejectedValueOnce(new PublishError(problem, 'x', new Error('cut off')));
  const publisher = { publish, close: async () => undefined } as unknown as RecordPublisher;
  vi.spyOn(RecordPublisher, 'connect').mockResolvedValue(publisher);
  const claims = [0n, 1n, 2n, 3n].map((offset) => {
    return { letter: { partition: 2, offset, key: null }, key: '', because: 'x', knownNotes: [] };
  });
  await expect(claimLetters(SETTINGS, 'ada', claims)).rejects.toMatchObject({ reason, message });
  expect(publish).toHaveBeenCalledTimes(3);
});
