/** Performs a call and answers it, applying a fault if one hits; and writes any answer. */
import { perform, type Call } from './perform.ts';
import type { FaultRule } from './faults.ts';
import { errorReply, type Reply } from './replies.ts';
import type { Sandbox } from './sandbox.ts';
import type { ServerResponse } from 'node:http';

/** Cuts a held connection if the client never gives up. */
const HOLD_MAX_MS = 600_000;

export function deliver(sandbox: Sandbox, response: ServerResponse, call: Call): void {
  // The world at arrival: an effect applied after a reset belongs to the previous world.
  const { world } = sandbox;
  const rule = sandbox.faults.choose(call.operation, call.idempotencyKey);
  if (rule === null) {
    writeReply(response, perform(world, call));
    return;
  }
  const later = (run: () => void): void => {
    if (rule.delayMs === 0) run();
    else sandbox.faultTimers.at(sandbox.clock.nowMs() + rule.delayMs, run);
  };
  const cut = (): void => {
    response.socket?.destroy();
  };
  switch (rule.kind) {
    case 'delay': {
      const early = rule.at === 'after' ? perform(world, call) : null;
      later(() => writeReply(response, early ?? perform(world, call)));
      return;
    }
    case 'status':
      later(() => writeReply(response, injected(rule)));
      return;
    case 'drop-before':
      later(cut);
      return;
    case 'drop-after':
      perform(world, call);
      later(cut);
      return;
    case 'cut-body': {
      const reply = perform(world, call);
      later(() => writeHalf(response, reply));
      return;
    }
    case 'apply-late':
      if (rule.hold) sandbox.faultTimers.at(sandbox.clock.nowMs() + HOLD_MAX_MS, cut);
      else cut();
      later(() => {
        perform(world, call);
      });
      return;
  }
}

function injected({ body, contentType, httpStatus: status, retryAfter }: FaultRule & { kind: 'status' }): Reply {
  const reply = errorReply(status, 'INJECTED_FAULT', 'a fault rule answered this call');
  const headers = {
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
  };
  return { status, bodyText: body ?? reply.bodyText, headers };
}

export function writeReply(response: ServerResponse, reply: Reply, headers: Record<string, string> = {}): void {
  response.end(writeHead(response, reply, headers));
}

/** Sends the head with the whole length and half of the body, then cuts the connection. */
function writeHalf(response: ServerResponse, reply: Reply): void {
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
