/** Requests byte by byte, for those that no HTTP client would send. */
import { connect } from 'node:net';
import { AUTHORIZATION, type TestSandbox } from './support.ts';

/** Sends bytes as they are and returns all that comes back until the server closes. */
export async function raw(sandbox: TestSandbox, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(sandbox.running.port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    socket.on('close', () => {
      resolve(received);
    });
    socket.on('error', (error: Error & { code?: string }) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
    socket.end(bytes);
  });
}

/** A request with credentials and a body of that length, after which the connection closes. */
export function rawRequest(method: string, target: string, headers: string[], body: Buffer): Buffer {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'host: x',
    'connection: close',
    `authorization: ${AUTHORIZATION}`,
    ...headers,
  ];
  return Buffer.concat([
    Buffer.from(`${lines.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n`, 'latin1'),
    body,
  ]);
}
