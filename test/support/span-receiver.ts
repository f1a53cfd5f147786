/**
 * A collector in miniature: takes spans by OTLP over HTTP and reads those in JSON. It answers, refuses, or never answers.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LOOPBACK } from 'payment-processor-local-kafka/ports';
import { Watch } from './watch.ts';

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  /** Empty: a root. */
  parentSpanId: string;
  name: string;
  /** As OTLP counts them: 1 internal, 3 client, 4 producer, 5 consumer. */
  kind: number;
  attributes: Record<string, string | number>;
  isError: boolean;
  traceState: string;
  /** The resource's attributes. */
  service: Record<string, string | number>;
}

interface OtlpAttribute {
  key: string;
  value: { stringValue?: string; intValue?: string | number; doubleValue?: number };
}

interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  name: string;
  kind: number;
  attributes?: OtlpAttribute[];
  status?: { code?: number };
}

interface OtlpRequest {
  resourceSpans: { resource: { attributes: OtlpAttribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

export type ReceiverMood = 'answers' | 'refuses' | 'hangs';

const STATUS_ERROR = 2;
/** Several times as long as a batch's delay, a call and its settling time. */
const AWAIT_MS = 30_000;

export class SpanReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** Everything that was received, as text. */
  readonly bodies: string[] = [];
  readonly contentTypes: (string | undefined)[] = [];
  /** Requests that were never answered. */
  readonly held: ServerResponse[] = [];
  connections = 0;
  readonly #watch = new Watch();
  readonly #server;

  private constructor(mood: ReceiverMood) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        this.contentTypes.push(request.headers['content-type']);
        this.#take(Buffer.concat(chunks), request.headers['content-type'] === 'application/json');
        if (mood === 'hangs') this.held.push(response);
        else response.writeHead(mood === 'answers' ? 200 : 400, { 'content-type': 'application/json' }).end('{}');
        this.#watch.changed();
      });
    });
    this.#server.on('connection', () => (this.connections += 1));
  }

  static async start(mood: ReceiverMood = 'answers'): Promise<SpanReceiver> {
    const receiver = new SpanReceiver(mood);
    await new Promise<void>((resolve) => receiver.#server.listen(0, LOOPBACK, resolve));
    return receiver;
  }

  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  get url(): string {
    return `http://${LOOPBACK}:${(this.#server.address() as AddressInfo).port}`;
  }

  ofTrace(traceId: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  /** Waits until `count` spans match. */
  async received(isIt: (span: ReceivedSpan) => boolean, count: number, what: string): Promise<ReceivedSpan[]> {
    const found = (): ReceivedSpan[] => this.spans.filter(isIt);
    await this.until(() => found().length >= count, `${count} spans: ${what}`);
    return found();
  }

  until(condition: () => boolean, what: string): Promise<void> {
    return this.#watch.until(condition, AWAIT_MS, () => `${what}; received: ${JSON.stringify(this.spans, null, 1)}`);
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  #take(body: Buffer, isJson: boolean): void {
    const text = body.toString();
    this.bodies.push(text);
    if (!isJson) return;
    for (const { resource, scopeSpans } of (JSON.parse(text) as OtlpRequest).resourceSpans) {
      const service = plain(resource.attributes);
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        const { kind, name, spanId, traceId } = span;
        this.spans.push({
          ...{ traceId, spanId, name, kind, service },
          parentSpanId: span.parentSpanId ?? '',
          traceState: span.traceState ?? '',
          attributes: plain(span.attributes ?? []),
          isError: span.status?.code === STATUS_ERROR,
        });
      }
    }
  }
}

function plain(attributes: OtlpAttribute[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.doubleValue ?? Number(value.intValue)]),
  );
}

/** Settings that make a processor send its spans to this receiver, as JSON and after a short delay. */
export function tracingTo(receiver: SpanReceiver): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '100',
  };
}
