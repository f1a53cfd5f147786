/**
 * Loaded before a processor's own code (`node --import`): a deliberate bug. While the file STALL_FILE
 * exists, fetches of the topic that it names are deferred and never resumed, as if a resume had been lost.
 */
import { readFileSync } from 'node:fs';
import type { BatchReply, FetchedBatch } from '../../src/consumers/group-member.ts';
import { Inbox } from '../../src/consumers/inbox.ts';

type Offer = (this: unknown, batch: FetchedBatch) => BatchReply;

const offer = Object.getOwnPropertyDescriptor(Inbox.prototype, 'offer')?.value as Offer;

Inbox.prototype.offer = function (batch: FetchedBatch): BatchReply {
  return stalledTopic() === batch.topic ? 'not-now' : offer.call(this, batch);
};

function stalledTopic(): string | null {
  try {
    return readFileSync(process.env['STALL_FILE'] ?? '', 'utf8');
  } catch {
    return null;
  }
}
