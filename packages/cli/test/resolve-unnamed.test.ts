/** `resolve` of an execution that names its quote alone: the quote's events name the transaction. */
import { beforeAll, expect, test } from 'vitest';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { createQuoteOf } from '../../../test/support/commands.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { runCli } from './run-cli.ts';

const settings = {
  API_IDEMPOTENT_OPERATIONS: '',
  API_IDEMPOTENCY_RETENTION: '8s',
  COMMAND_MAX_AGE: 'execute-quote=5s',
};
const stack = useStack({ name: 'unnamed', settings });

beforeAll(async () => {
  await stack().startProcessor();
});

test('NOT_EXECUTED is refused if that transaction shows an effect, or cannot be looked up for a wrong setting', async () => {
  await stack().publisher.publish('create-quote', 'quote', createQuoteOf('quote'));
  const { quote } = (await stack().journal.result('quote')).value;
  await stack().service.addFaults(
    { kind: 'drop-after', operation: 'execute-quote', key: 'execution', count: 1 },
    { kind: 'status', operation: 'list-transactions', httpStatus: 500 },
  );
  await stack().publisher.publish('execute-quote', 'execution', { quoteId: quote?.id ?? '' });
  expect((await stack().journal.result('execution')).value.outcome).toBe('UNKNOWN');
  await stack().service.clearFaults();
  const decide = (environment: Record<string, string>) => {
    const args = ['--decision', 'NOT_EXECUTED', '--reason', 'not in the list'];
    return runCli({ ...stack().environment, ...environment }, '--output', 'json', 'resolve', 'execution', ...args);
  };
  const refused = await decide({});
  expect(refused).toMatchObject({ code: 7, documents: [] });
  expect(refused.stderr).toContain(`transaction ${quote?.transactionId} `);
  const unseen = await decide({ API_TIMEOUT_MS: '10s' });
  expect(unseen).toMatchObject({ code: 7, documents: [] });
  expect(unseen.stderr).toMatch(/could not be checked in the payment service \(API_TIMEOUT_MS/);
  // As its retention does, with the transaction's name among it.
  const topic = stack().topics.quoteStatusChanged;
  await withAdmin(stack().kafka, async (admin) => {
    const ends = await admin.fetchTopicOffsets(topic);
    const kept = ends.filter(({ high, low }) => high !== low);
    await admin.deleteTopicRecords({
      topic,
      partitions: kept.map(({ high: offset, partition }) => ({ partition, offset })),
    });
  });
  const gone = await decide({});
  expect(gone).toMatchObject({ code: 7, documents: [] });
  expect(gone.stderr).toMatch(/status changes of the command's quote were not all read \(.* may have been deleted/);
});
