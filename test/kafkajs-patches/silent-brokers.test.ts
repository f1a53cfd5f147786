/**
 * A broker that accepts connections and answers nothing: the caller gets an error, and no connection is left. As shipped the
 * client counts as connected once its first request went unanswered, and keeps the connections it opened. Callers that wait
 * for the same connection wait one after the other, each for an attempt of its own.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type Admin, type Kafka, type KafkaConfig } from 'kafkajs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectionsHeldTo } from '../support/held-connections.ts';
import { loadPatched, logger, silence, type Constructor } from './patched-module.ts';

interface Connection {
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
}
interface Broker {
  connect(): Promise<unknown>;
}

const REQUEST_TIMEOUT_MS = 40;
/** Far longer than a test may take. */
const CONNECTION_TIMEOUT_MS = 600_000;
/** What kafkajs gives the other side to end a connection, and some. */
const LET_GO_MS = 1_500;

let broker: Server;
let sockets: Socket[];
beforeEach(async () => {
  sockets = [];
  // As the kernel does for a stopped process: it takes the client's bytes, and does not answer its end.
  broker = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', silence);
  });
  broker.listen(0, '127.0.0.1');
  await once(broker, 'listening');
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  broker.close();
});

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function adminOf(retries: number): Admin {
  const Client = loadPatched('src/index.js') as new (config: KafkaConfig) => Kafka;
  return new Client({
    brokers: [`127.0.0.1:${portOf(broker)}`],
    logLevel: kafkajs.logLevel.NOTHING,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: REQUEST_TIMEOUT_MS,
    retry: { initialRetryTime: 1, maxRetryTime: 10, retries },
  }).admin();
}

test('a connection that was never answered is none: each try opens one, and the client gets an error', async () => {
  await expect(adminOf(2).connect()).rejects.toThrow(/timed out/);
  expect(sockets).toHaveLength(3);
});

test('failed tries leave no connection, though the broker never ends its side', async () => {
  const admin = adminOf(4);
  await expect(admin.connect()).rejects.toThrow(/timed out/);
  await admin.disconnect();
  expect(sockets).toHaveLength(5);
  await delay(LET_GO_MS);
  expect(connectionsHeldTo(portOf(broker))).toBe(0);
});

test('a client that is disconnected while it connects opens nothing any more', async () => {
  const admin = adminOf(100);
  const connecting = admin.connect();
  await once(broker, 'connection');
  await admin.disconnect();
  await expect(connecting).rejects.toThrow(/disconnected meanwhile/);
  const opened = sockets.length;
  await delay(10 * REQUEST_TIMEOUT_MS);
  expect(sockets).toHaveLength(opened);
});

/** A connection to the broker over TLS, which is never established. */
function brokerOf(): { broker: Broker; connection: Connection } {
  const Pool = loadPatched('src/network/connectionPool.js') as Constructor<{ pool: Connection[] }>;
  const BrokerClass = loadPatched('src/broker/index.js') as Constructor<Broker>;
  const connectionPool = new Pool({
    ...{ host: '127.0.0.1', port: portOf(broker), ssl: {}, logger, connectionTimeout: CONNECTION_TIMEOUT_MS },
    socketFactory: (loadPatched('src/network/socketFactory.js') as () => unknown)(),
  });
  return { broker: new BrokerClass({ connectionPool, logger }), connection: connectionPool.pool[0]! };
}

test('connecting fails when the connection is ended meanwhile', async () => {
  const { connection } = brokerOf();
  const connecting = expect(connection.connect()).rejects.toThrow(/ended before it was open/);
  await once(broker, 'connection');
  await connection.disconnect();
  await connecting;
});

test('callers that wait for a broker share one attempt', async () => {
  const { broker: waitedFor, connection } = brokerOf();
  const waiting = Array.from({ length: 5 }, () => waitedFor.connect());
  await once(broker, 'connection');
  await connection.disconnect();
  expect((await Promise.allSettled(waiting)).map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
  expect(sockets).toHaveLength(1);
});
