/**
 * Stands before the real registry and refuses in each way that a registry does: by login, a right, a page, an error, silence,
 * or a certificate. Passed through, the answers are the registry's own.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export const REGISTRY_USER = 'processor';
export const REGISTRY_PASSWORD = 'registry-secret';

export type Manner =
  /** Asks for the login, then passes the request on to the registry. */
  | { readonly kind: 'open' }
  | Answers
  /** Takes connections and says nothing. */
  | { readonly kind: 'silent' }
  /** Some questions, as `METHOD path`, in another manner, so many times; all others open. */
  | { readonly kind: 'behind'; readonly questions: RegExp; readonly manner: Answers; times: number };

type Answers = {
  readonly kind: 'answers';
  readonly status: number;
  readonly body: string;
  readonly contentType: string;
};

export const OPEN = { kind: 'open' } as const;
export const FORBIDDEN = json(403, { error_code: 40301, message: 'User is denied operation Read on Subject' });
export const FAILING = json(503, { error_code: 50301, message: 'no leader is elected' });
export const UNKNOWN_ID = json(404, { error_code: 40403, message: 'Schema not found' });
export const LOST = json(404, { error_code: 40401, message: 'Subject not found' });
/** As a reverse proxy does that knows no such host or path. */
export const PAGE: Answers = { kind: 'answers', status: 200, body: '<html>Sign in</html>', contentType: 'text/html' };
export const NO_PAGE: Answers = { kind: 'answers', status: 404, body: '<html>gone</html>', contentType: 'text/html' };

export function behind(manner: Answers, questions: RegExp, times = Infinity): Manner {
  return { kind: 'behind', questions, manner, times };
}

function json(status: number, body: object): Answers {
  return { kind: 'answers', status, body: JSON.stringify(body), contentType: 'application/json' };
}

/** Key and certificate, PEM. */
export interface DoorCertificate {
  readonly key: string;
  readonly cert: string;
}

function mannerFor(manner: Manner, { method = '', url = '' }: IncomingMessage): Exclude<Manner, { kind: 'behind' }> {
  if (manner.kind !== 'behind') return manner;
  if (manner.times === 0 || !manner.questions.test(`${method} ${url}`)) return OPEN;
  manner.times -= 1;
  return manner.manner;
}

export class RegistryDoor {
  /** The base of the interface, as the setting wants it. */
  readonly url: string;
  manner: Manner = OPEN;
  password = REGISTRY_PASSWORD;
  readonly #server: Server;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  /** @param certificate null: without TLS */
  static async open(registryUrl: string, certificate: DoorCertificate | null = null): Promise<RegistryDoor> {
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      void door.#answer(registryUrl, request, response).catch(() => response.destroy());
    };
    const server = certificate === null ? createServer(answer) : createTlsServer({ ...certificate }, answer);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const door = new RegistryDoor(server, `${certificate === null ? 'http' : 'https'}://127.0.0.1:${port}`);
    return door;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(registryUrl: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { password } = this;
    const manner = mannerFor(this.manner, request);
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    if (manner.kind === 'silent') return;
    if (manner.kind === 'answers') {
      response.writeHead(manner.status, { 'content-type': manner.contentType }).end(manner.body);
      return;
    }
    const wanted = `Basic ${Buffer.from(`${REGISTRY_USER}:${password}`).toString('base64')}`;
    if (request.headers.authorization !== wanted) {
      response
        .writeHead(401, { 'content-type': 'application/json' })
        .end('{"error_code":401,"message":"Unauthorized"}');
      return;
    }
    const { headers, method = 'GET', url = '/' } = request;
    const told = await fetch(`${registryUrl}${url}`, {
      method,
      headers: { 'content-type': headers['content-type'] ?? 'application/json' },
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    });
    response.writeHead(told.status, { 'content-type': told.headers.get('content-type') ?? 'text/plain' });
    response.end(await told.text());
  }
}
