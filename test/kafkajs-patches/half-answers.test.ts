/**
 * A connection that breaks in the middle of an answer, and is opened again: answers are read from their beginning. As shipped
 * the client appends the new bytes to the unfinished old answer. It then takes part of an answer for the length of the next;
 * where that is too short, the process dies.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadPatched, logger, silence, type Constructor } from './patched-module.ts';

interface Connection {
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
  send(request: object): Promise<unknown>;
}

const REQUEST_TIMEOUT_MS = 200;
const CORRELATION_AT = 8;
const ANSWER = Buffer.from('the answer');
const HEAD_BYTES = 8;

let broker: Server;
beforeEach(async () => {
  let isFirst = true;
  broker = createServer((socket: Socket) => {
    socket.on('error', silence);
    socket.on('data', (request) => {
      const answer = Buffer.alloc(HEAD_BYTES + ANSWER.length);
      answer.writeInt32BE(answer.length - 4);
      request.copy(answer, 4, CORRELATION_AT, CORRELATION_AT + 4);
      ANSWER.copy(answer, HEAD_BYTES);
      if (!isFirst) {
        socket.write(answer);
        return;
      }
      isFirst = false;
      socket.write(answer.subarray(0, HEAD_BYTES + 1), () => setTimeout(() => socket.resetAndDestroy(), 20));
    });
  });
  await once(broker.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => broker.close());

async function answers(): Promise<string[]> {
  const Class = loadPatched('src/network/connection.js') as Constructor<Connection>;
  const connection = new Class({
    host: '127.0.0.1',
    port: (broker.address() as AddressInfo).port,
    logger,
    socketFactory: (loadPatched('src/network/socketFactory.js') as () => unknown)(),
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: REQUEST_TIMEOUT_MS,
  });
  const Encoder = loadPatched('src/protocol/encoder.js') as new () => object;
  const ask = async (): Promise<string> => {
    await connection.connect();
    const sent = connection.send({
      request: { apiKey: 0, apiVersion: 0, apiName: 'Question', encode: async () => new Encoder() },
      response: { decode: async (bytes: Buffer) => bytes.toString(), parse: async (answer: string) => answer },
    });
    return sent.then(String, (error: unknown) => (error as Error).name);
  };
  const told = [await ask(), await ask()];
  await connection.disconnect();
  return told;
}

test('answers over a new connection are read from their beginning', async () => {
  expect(await answers()).toEqual(['KafkaJSConnectionError', 'the answer']);
});
