/**
 * The links between the brokers of a cluster, of which each is also a controller. They can be cut while clients reach all brokers.
 *
 *   of -> settings, for startEngine -> isolate -> heal -> close
 *
 * Each broker advertises to the others two gates before it, for brokers and for controllers. The client id of a connection's first
 * request tells from whom it comes.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { BrokerNode } from 'payment-processor-local-kafka/kafka';
import { freePort, LOOPBACK } from 'payment-processor-local-kafka/ports';

/** Before one broker. */
interface Gates {
  readonly brokers: Gate;
  readonly controllers: Gate;
  /** At which the broker itself listens for other brokers. */
  readonly port: number;
}

const CLIENT_ID_AT = 12;

export class BrokerLinks {
  readonly #gates: readonly Gates[];

  private constructor(gates: readonly Gates[]) {
    this.#gates = gates;
  }

  static async of(brokers: number): Promise<BrokerLinks> {
    const gates = async (): Promise<Gates> => {
      const [before, controllers, port] = await Promise.all([Gate.open(), Gate.open(), freePort()]);
      return { brokers: before, controllers, port };
    };
    return new BrokerLinks(await Promise.all(Array.from({ length: brokers }, gates)));
  }

  settings(node: BrokerNode): Record<string, string> {
    const gates = this.#gates[node.nodeId - 1];
    if (gates === undefined) throw new RangeError(`broker ${node.nodeId} has no gates`);
    gates.brokers.leadsTo = gates.port;
    gates.controllers.leadsTo = node.controllerPort;
    const listeners = (controllers: number, brokers: number): string =>
      Object.entries({ BROKER: node.port, CONTROLLER: controllers, BETWEEN: brokers })
        .map(([name, port]) => `${name}://${LOOPBACK}:${port}`)
        .join(',');
    const voters = this.#gates.map(({ controllers }, index) => `${index + 1}@${LOOPBACK}:${controllers.port}`);
    return {
      listeners: listeners(node.controllerPort, gates.port),
      'advertised.listeners': listeners(gates.controllers.port, gates.brokers.port),
      'listener.security.protocol.map': 'BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,BETWEEN:PLAINTEXT',
      'inter.broker.listener.name': 'BETWEEN',
      'controller.quorum.voters': voters.join(','),
    };
  }

  /** @param index of the broker, from 0: nothing passes between it and the others */
  isolate(index: number): void {
    // As in `2`, `raft-client-2` and `broker-2-fetcher-0`.
    const isFromIt = new RegExp(`^(.*-)?${index + 1}(-(fetcher|txn)-.*)?$`);
    this.#gates.forEach(({ brokers, controllers }, to) => {
      for (const gate of [brokers, controllers]) gate.cut((clientId) => to === index || isFromIt.test(clientId));
    });
  }

  heal(): void {
    for (const { brokers, controllers } of this.#gates)
      for (const gate of [brokers, controllers]) gate.cut(() => false);
  }

  close(): void {
    for (const { brokers, controllers } of this.#gates) for (const gate of [brokers, controllers]) gate.close();
  }
}

class Gate {
  leadsTo = 0;
  readonly port: number;
  readonly #server: Server;
  readonly #passages = new Map<Socket, string>();
  #isCut: (clientId: string) => boolean = () => false;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (client) => this.#accept(client));
  }

  static async open(): Promise<Gate> {
    const server = createServer();
    await once(server.listen(0, LOOPBACK), 'listening');
    return new Gate(server);
  }

  /** What is cut ends at once, and later connections after their first request. */
  cut(isCut: (clientId: string) => boolean): void {
    this.#isCut = isCut;
    for (const [client, clientId] of this.#passages) if (isCut(clientId)) client.destroy();
  }

  close(): void {
    this.#server.close();
    for (const client of this.#passages.keys()) client.destroy();
  }

  #accept(client: Socket): void {
    client.on('error', () => client.destroy());
    client.once('data', (request) => {
      const at = CLIENT_ID_AT + 2;
      const clientId = request.toString('utf8', at, at + Math.max(0, request.readInt16BE(CLIENT_ID_AT)));
      if (this.#isCut(clientId)) {
        client.destroy();
        return;
      }
      this.#passages.set(client, clientId);
      const broker = connect(this.leadsTo, LOOPBACK);
      broker.on('error', () => broker.destroy());
      broker.on('close', () => client.destroy());
      client.on('close', () => {
        this.#passages.delete(client);
        broker.destroy();
      });
      broker.write(request);
      client.pipe(broker).pipe(client);
    });
  }
}
