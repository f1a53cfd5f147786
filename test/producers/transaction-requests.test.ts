/** Answers that no broker should give: none is taken for another, and none takes memory or time that its bytes do not. */
import { expect, test } from 'vitest';
import { Encoder } from '../../src/producers/kafka-cluster.ts';
import {
  addPartitionsRequest,
  endTransactionRequest,
  initProducerIdRequest,
  produceRequest,
} from '../../src/producers/transaction-requests.ts';

interface Request {
  readonly response: { readonly decode: (bytes: Buffer) => Promise<unknown> };
}

const PRODUCER = { transactionalId: 'id', producerId: 1n, epoch: 0 };
const ADD = addPartitionsRequest(PRODUCER, []);
const PRODUCE = produceRequest('id', []);
/** More than a process has memory for. */
const MANY = 100_000_000;

function oneTopic(encoder: Encoder): Encoder {
  return encoder.writeInt32(1).writeString('payments').writeInt32(1).writeInt32(0).writeInt16(0);
}

/** A topic without partitions, and one whose name ends before the length of the name: at the partitions that there were none of. */
function endless(encoder: Encoder): Encoder {
  return encoder.writeInt32(MANY).writeString('payments').writeInt32(0).writeInt16(-6);
}

test.each<[string, Request, Encoder]>([
  [
    'InitProducerId',
    initProducerIdRequest('id', 1),
    new Encoder().writeInt32(0).writeInt16(0).writeInt64(1n).writeInt16(0),
  ],
  ['AddPartitionsToTxn', ADD, oneTopic(new Encoder().writeInt32(0))],
  ['Produce', PRODUCE, oneTopic(new Encoder()).writeInt64(7n).writeInt64(-1n).writeInt64(0n).writeInt32(0)],
  ['EndTxn', endTransactionRequest(PRODUCER, true), new Encoder().writeInt32(0).writeInt16(0)],
])('%s: an answer that was cut anywhere is none', async (_, { response }, { buffer }) => {
  await response.decode(buffer);
  for (let length = 0; length < buffer.length; length += 1)
    await expect(response.decode(buffer.subarray(0, length))).rejects.toThrow();
});

test.each<[string, Request, Encoder]>([
  ['AddPartitionsToTxn', ADD, new Encoder().writeInt32(0)],
  ['Produce', PRODUCE, new Encoder()],
])('%s: an array that is longer than the answer, and would never end, is given up', async (_, { response }, begun) => {
  await expect(response.decode(endless(begun).buffer)).rejects.toThrow('without a name');
});
