import { expect, test, vi } from 'vitest';
import { clientSettings, PaymentCommandPublisher } from '../src/index.ts';
import { RecordPublisher } from '../src/kafka/record-publisher.ts';

test('a JSON command names no field that its publisher left out: an older processor may not know it', async () => {
  const values: string[] = [];
  const publish = async ({ value }: { value: Buffer }) => {
    values.push(value.toString());
    return { partition: 0, offset: 0n };
  };
  const connect = vi.spyOn(RecordPublisher, 'connect').mockResolvedValue({ publish } as never);
  const publisher = await PaymentCommandPublisher.connect(clientSettings({ brokers: ['127.0.0.1:1'] }));
  await publisher.publish('reject-transaction', 'k', { transactionId: 'Transaction:1' });
  connect.mockRestore();
  expect(values).toEqual(['{"transactionId":"Transaction:1"}']);
});
