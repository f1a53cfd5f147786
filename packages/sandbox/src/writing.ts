/** Writes answers. */
import type { ServerResponse } from 'node:http';
import type { Reply } from './replies.ts';

export function writeReply(response: ServerResponse, reply: Reply, headers: Record<string, string> = {}): void {
  response.end(writeHead(response, reply, headers));
}

/** Sends the head with the whole length and half of the body, then cuts the connection. */
export function writeHalf(response: ServerResponse, reply: Reply): void {
  const bytes = writeHead(response, reply);
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.socket?.destroy());
}

/** @returns the body */
function writeHead(response: ServerResponse, reply: Reply, headers: Record<string, string> = {}): Buffer {
  const bytes = Buffer.from(reply.bodyText);
  const own = { 'content-type': 'application/json', 'content-length': bytes.length };
  response.writeHead(reply.status, { ...own, ...reply.headers, ...headers });
  return bytes;
}
