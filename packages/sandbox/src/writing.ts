/** Writes answers. */
import type { ServerResponse } from 'node:http';
import type { Reply } from './replies.ts';

/** A reply as it goes over the wire. */
interface Written {
  status: number;
  headers: Record<string, string>;
  bytes: Buffer;
}

function written(reply: Reply): Written {
  const bytes = Buffer.from(reply.bodyText);
  return {
    status: reply.status,
    headers: { 'content-type': 'application/json', 'content-length': String(bytes.length), ...reply.headers },
    bytes,
  };
}

export function writeReply(response: ServerResponse, reply: Reply, headers: Record<string, string> = {}): void {
  const { status, headers: ownHeaders, bytes } = written(reply);
  response.writeHead(status, { ...ownHeaders, ...headers });
  response.end(bytes);
}

/** Sends the head with the whole length and half of the body, then cuts the connection. */
export function writeHalf(response: ServerResponse, reply: Reply): void {
  const { status, headers, bytes } = written(reply);
  response.writeHead(status, headers);
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.socket?.destroy());
}
