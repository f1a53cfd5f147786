/** A client whose commands go to a function, and whose results come from nowhere unless a test puts them there. */
import { LiveEvents } from '../src/live-events.ts';
import { PaymentClient, type ClientParts } from '../src/payment-client.ts';
import type { PaymentCommandPublisher } from '../src/publisher.ts';
import { ResultAwaiter } from '../src/result-awaiter.ts';

export type Publish = PaymentCommandPublisher['publishUntyped'];

export function clientOf(publishUntyped: Publish, parts: Partial<ClientParts> = {}): PaymentClient {
  return new PaymentClient({
    publisher: { publishUntyped, close: async () => undefined },
    results: new ResultAwaiter(new LiveEvents()),
    openChanges: async () => new LiveEvents(),
    read: async () => true,
    noticing: {},
    ...parts,
  });
}
