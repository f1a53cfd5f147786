/**
 * A gate before one broker: clients that begin at its address are kept to it, since what the broker tells of its own address
 * is rewritten. With a gate before each broker, those of the others are rewritten, too. It can stand still, as a broker does whose
 * process is stopped: connections are accepted, nothing is answered; or be away: connections are refused, and those that there were
 * are gone.
 *
 *   open -> (stall, or the first request that is to) standing still -> (open) open
 *   open -> (vanish) away -> (open) open, at the same address
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { LOOPBACK } from 'payment-processor-local-kafka/ports';

/** Of Kafka's protocol, what a test names. */
export const KAFKA_API = {
  listOffsets: 2,
  metadata: 3,
  fetch: 1,
  joinGroup: 11,
} as const;

export interface GateRequest {
  /** Number of the operation in Kafka's protocol. */
  readonly apiKey: number;
  readonly clientId: string;
}

/** Runs once a request comes; the request itself does not pass. */
interface Trap {
  readonly isFor: (request: GateRequest) => boolean;
  readonly spring: () => void;
}

type State = 'open' | 'still' | 'away';

const INT32_BYTES = 4;
const API_KEY_AT = 4;
const CLIENT_ID_AT = 12;

export class KafkaGate {
  readonly #server: Server;
  readonly #host: string;
  readonly #brokerPort: number;
  readonly #passages = new Set<Passage>();
  /** Of all brokers that have one, this one included. */
  #gates: readonly KafkaGate[] = [this];
  #port = 0;
  #state: State = 'open';
  #trap: Trap | null = null;

  private constructor(broker: string) {
    const [host = '', port = ''] = broker.split(':');
    this.#host = host;
    this.#brokerPort = Number(port);
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  /** @param broker host:port, as it tells clients itself */
  static async to(broker: string): Promise<KafkaGate> {
    const gate = new KafkaGate(broker);
    await gate.#listen();
    return gate;
  }

  /** One for each broker of a cluster. */
  static async toAll(brokers: readonly string[]): Promise<KafkaGate[]> {
    const gates = await Promise.all(brokers.map((broker) => KafkaGate.to(broker)));
    for (const gate of gates) gate.#gates = gates;
    return gates;
  }

  get port(): number {
    return this.#port;
  }

  /** host:port, for KAFKA_BROKERS. */
  get address(): string {
    return `${LOOPBACK}:${this.#port}`;
  }

  /** Whose connections there are, one name for each; empty: it has asked nothing yet. Those that clients have left while it stood still included. */
  connections(): string[] {
    return [...this.#passages].map(({ clientId }) => clientId).sort();
  }

  stall(): void {
    this.#state = 'still';
  }

  /** All connections are cut, and new ones refused. */
  async vanish(): Promise<void> {
    this.#state = 'away';
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const passage of this.#passages) passage.cut();
    await closed;
  }

  /** Resolves once such a request has come, at which the gate stands still, or is away. */
  until(ending: 'still' | 'away', isFor: Trap['isFor']): Promise<void> {
    return new Promise((resolve) => {
      const spring = (): void => {
        if (ending === 'still') this.stall();
        resolve(ending === 'still' ? undefined : this.vanish());
      };
      this.#trap = { isFor, spring };
    });
  }

  /** Held data goes on. */
  async open(): Promise<void> {
    const was = this.#state;
    this.#state = 'open';
    if (was === 'away') await this.#listen();
    for (const passage of this.#passages) passage.flow();
  }

  async close(): Promise<void> {
    if (this.#state !== 'away') await this.vanish();
  }

  async #listen(): Promise<void> {
    this.#server.listen(this.#port, LOOPBACK);
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  #accept(client: Socket): void {
    const passage: Passage = new Passage(client, connect(this.#brokerPort, this.#host), {
      isOpen: () => this.#state === 'open',
      seen: (request) => {
        const trap = this.#trap;
        if (trap?.isFor(request) !== true) return;
        this.#trap = null;
        trap.spring();
      },
      rewrite: (answer) => this.#rewrite(answer),
      ended: () => this.#passages.delete(passage),
    });
    this.#passages.add(passage);
  }

  /** As long as before: the address is a string with its length before it, and a number behind it. */
  #rewrite(answer: Buffer): Buffer {
    const address = (port: number): Buffer => {
      const bytes = Buffer.alloc(this.#host.length + INT32_BYTES);
      bytes.write(this.#host);
      bytes.writeInt32BE(port, this.#host.length);
      return bytes;
    };
    for (const gate of this.#gates) {
      const [told, ours] = [address(gate.#brokerPort), address(gate.#port)];
      for (let at = answer.indexOf(told); at >= 0; at = answer.indexOf(told, at + told.length)) ours.copy(answer, at);
    }
    return answer;
  }
}

interface PassageHooks {
  readonly isOpen: () => boolean;
  readonly seen: (request: GateRequest) => void;
  readonly rewrite: (answer: Buffer) => Buffer;
  readonly ended: () => void;
}

/** One connection of a client, and the one to the broker that belongs to it. */
class Passage {
  clientId = '';
  readonly #client: Socket;
  readonly #broker: Socket;
  readonly #hooks: PassageHooks;
  /** In the order in which they came, while the gate is not open. */
  #held: (() => void)[] = [];

  constructor(client: Socket, broker: Socket, hooks: PassageHooks) {
    this.#client = client;
    this.#broker = broker;
    this.#hooks = hooks;
    const requests = new Frames((frame) => {
      const request = requestOf(frame);
      this.clientId = request.clientId;
      hooks.seen(request);
      this.#pass(() => broker.write(frame));
    });
    const answers = new Frames((frame) => this.#pass(() => client.write(hooks.rewrite(frame))));
    client.on('data', (bytes) => requests.take(bytes));
    broker.on('data', (bytes) => answers.take(bytes));
    client.on('end', () => this.#pass(() => broker.end()));
    broker.on('end', () => this.#pass(() => client.end()));
    client.on('error', () => this.cut());
    broker.on('error', () => this.cut());
    client.on('close', () => {
      broker.destroy();
      hooks.ended();
    });
  }

  cut(): void {
    this.#client.destroy();
  }

  flow(): void {
    for (const act of this.#held.splice(0)) act();
  }

  #pass(act: () => void): void {
    if (this.#hooks.isOpen()) act();
    else this.#held.push(act);
  }
}

/** Puts together what the network has taken apart: each frame begins with its length. */
class Frames {
  #rest: Buffer = Buffer.alloc(0);
  readonly #onFrame: (frame: Buffer) => void;

  constructor(onFrame: (frame: Buffer) => void) {
    this.#onFrame = onFrame;
  }

  take(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    while (this.#rest.length >= INT32_BYTES) {
      const end = INT32_BYTES + this.#rest.readInt32BE(0);
      if (this.#rest.length < end) return;
      this.#onFrame(Buffer.from(this.#rest.subarray(0, end)));
      this.#rest = this.#rest.subarray(end);
    }
  }
}

function requestOf(frame: Buffer): GateRequest {
  const length = frame.readInt16BE(CLIENT_ID_AT);
  const at = CLIENT_ID_AT + 2;
  return { apiKey: frame.readInt16BE(API_KEY_AT), clientId: frame.toString('utf8', at, at + Math.max(0, length)) };
}
