/** Performs one call: returns the key's stored answer, or runs the operation. */
import { parseLossless } from 'payment-processor-contract/lossless-json';
import type { Operation } from './operations.ts';
import { readQuery } from './query.ts';
import { errorReply, invalidInput, unchanged, type Outcome, type Reply } from './replies.ts';
import { createQuote } from './routes/create-quote.ts';
import { executeQuoteById } from './routes/execute-quote.ts';
import { listTransactions } from './routes/list-transactions.ts';
import { rejectTransaction } from './routes/reject-transaction.ts';
import { simulateUmaReceive } from './routes/simulate-uma-receive.ts';
import { transferIn } from './routes/transfer-in.ts';
import type { World } from './state.ts';

export interface Call {
  operation: Operation;
  /** The id in the path, decoded; empty where the path has none. */
  pathId: string;
  /** The text after `?`, as received. */
  query: string;
  /** The body as received; null if it is not UTF-8. */
  bodyText: string | null;
  idempotencyKey: string | null;
  /** The caller: each client has its own keys. */
  client: string;
}

/** Performs a call and counts its effect. Runs in one turn of the event loop: calls never interleave. */
export function perform(world: World, call: Call): Reply {
  const { operation, idempotencyKey } = call;
  world.scheduler.runDue();
  if (idempotencyKey === null || operation === 'list-transactions' || !world.settings.honourKeys.includes(operation)) {
    return performOnce(world, call);
  }
  const key = `${operation}\n${call.client}\n${idempotencyKey}`;
  const request = `${call.pathId}?${call.query}\n${call.bodyText ?? ''}`;
  const nowMs = world.clock.nowMs();
  const recall = world.idempotency.recall(key, request, nowMs, world.settings.idempotencyRetentionMs);
  switch (recall.kind) {
    case 'stored':
      return recall.reply;
    case 'other-request':
      if (!world.settings.refuseReusedKeys) return recall.reply;
      return errorReply(409, 'IDEMPOTENCY_KEY_REUSED', 'the Idempotency-Key was used before for another request');
    case 'new': {
      const reply = performOnce(world, call);
      world.idempotency.store(key, request, reply, nowMs);
      return reply;
    }
  }
}

function performOnce(world: World, call: Call): Reply {
  const outcome = outcomeOf(world, call);
  if (outcome.effect !== null) {
    world.effects.countEffect(call.operation, call.idempotencyKey, outcome.effect.transactionId);
  }
  return outcome.reply;
}

function outcomeOf(world: World, call: Call): Outcome {
  if (call.operation === 'list-transactions') return listTransactions(world, call.query);
  const query = readQuery(call.query, []);
  if (!query.ok) return unchanged(invalidInput(...query.problems));
  const parsed = parsedBody(call.bodyText);
  if (!parsed.ok) return unchanged(invalidInput({ path: '', message: parsed.message }));
  switch (call.operation) {
    case 'create-quote':
      return createQuote(world, parsed.body);
    case 'execute-quote':
      return executeQuoteById(world, call.pathId, parsed.body);
    case 'transfer-in':
      return transferIn(world, parsed.body);
    case 'reject-transaction':
      return rejectTransaction(world, call.pathId, parsed.body);
    case 'simulate-uma-receive':
      return simulateUmaReceive(world, parsed.body);
  }
}

type ParsedBody = { ok: true; body: unknown } | { ok: false; message: string };

/** An empty body is undefined. */
function parsedBody(text: string | null): ParsedBody {
  if (text === null) return { ok: false, message: 'the body is not UTF-8' };
  if (text === '') return { ok: true, body: undefined };
  try {
    return { ok: true, body: parseLossless(text) };
  } catch {
    return { ok: false, message: 'the body is not JSON, or nested too deep' };
  }
}
