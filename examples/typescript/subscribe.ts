/** Handles each result once: node subscribe.ts FILE. */
import { readClientSettings, subscribe, type Outcome } from 'payment-processor-client';
import { Journal } from './journal.ts';

const [path = ''] = process.argv.slice(2);
const settings = readClientSettings(process.env);
if (!settings.ok) throw new Error(settings.problems.join('\n'));

function meaningOf(outcome: Outcome): string {
  switch (outcome) {
    case 'ACCEPTED':
      return 'accepted, not settled yet';
    case 'REFUSED':
    case 'INVALID':
    case 'EXPIRED':
    case 'FAILED':
      return 'not paid by this command; a further try needs a new key';
    case 'CONFLICT':
      return 'a message was ignored, its key belongs to another command';
    case 'UNKNOWN':
      return 'may have been paid: do not pay under another key; an operator decides, and a later revision tells';
  }
}

const journal = await Journal.open(path);
const subscription = await subscribe(settings.config, {
  streams: ['results'],
  start: { from: 'group', groupId: process.env['GROUP_ID'] ?? 'billing' },
  onEvent: async (event) => {
    // An outcome of a later release is unreadable, too. The subscription ends, with nothing committed of it: better than
    // passing over news of money.
    if (event.kind === 'unreadable') throw new Error(event.problem);
    if (event.kind !== 'result' || event.id === null) return;
    const { commandKey, outcome, revision, transaction } = event.value;
    const isNews = await journal.handle({
      id: event.id,
      key: commandKey,
      revision,
      outcome,
      transactionId: transaction?.id ?? '',
    });
    if (isNews) console.log(`${commandKey} revision ${revision}: ${outcome}, ${meaningOf(outcome)}`);
  },
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void subscription.close());
await subscription.ended;
await journal.close();
