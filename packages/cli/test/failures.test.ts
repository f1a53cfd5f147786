/** What is said of a failure once something is published, or may be: not that nothing was done. Pure. */
import { expect, test } from 'vitest';
import { PublishError, type PublishProblem } from 'payment-processor-client/internal/kafka/record-publisher';
import { CliFailure } from '../src/exit-codes.ts';
import { failureOf, oncePublished } from '../src/failures.ts';

test.each<[PublishProblem, string]>([
  ['NOT_CONFIRMED', 'noResult'],
  ['NOT_WRITTEN', 'failed'],
  ['TOPIC_MISSING', 'failed'],
])('a publication that is %s ends with the exit code of %s', (problem, reason) => {
  expect(failureOf(new PublishError(problem, 'x'))).toMatchObject({ reason, message: 'x' });
});

test('what cannot be read of something that is published does not take it back', async () => {
  const refused = new CliFailure('refused', 'no');
  await expect(oncePublished('it is written', Promise.reject(refused))).rejects.toBe(refused);
  await expect(oncePublished('it is written', Promise.reject(new Error('no broker')))).rejects.toMatchObject({
    reason: 'noResult',
    message: 'it is written, and what becomes of it cannot be read: no broker',
  });
});
