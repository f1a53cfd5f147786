/** Handles each result once: node subscribe.ts FILE. What was handled is in SQLite, in one transaction with its effect. */
import {
  readClientSettings,
  SqliteSeenEvents,
  subscribe,
  type CommandResult,
  type Outcome,
} from 'payment-processor-client';

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('usage: node subscribe.ts FILE');
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
      return 'a message was ignored, the result of its key stands';
    case 'UNKNOWN':
      return 'may have been paid: do not pay under another key; an operator decides, and a later revision tells';
  }
}

const seen = await SqliteSeenEvents.open(path);
// A row for each command. A key may name another command days after its result, and a new cluster counts offsets from 0 again: so
// key and source together identify a command.
seen.database.exec(
  'CREATE TABLE IF NOT EXISTS payments (key TEXT, source TEXT, revision INTEGER, outcome TEXT, transaction_id TEXT, PRIMARY KEY (key, source))',
);

/** The effect of a result. @returns whether it said anything new */
function take({ commandKey, outcome, quote, revision, source, transaction }: CommandResult): boolean {
  // It is about one message; what is known of the key stands.
  if (outcome === 'CONFLICT') return true;
  // The highest revision counts.
  const { changes } = seen.database
    .prepare(
      `INSERT INTO payments VALUES (?, ?, ?, ?, ?) ON CONFLICT (key, source) DO UPDATE SET revision = excluded.revision,
       outcome = excluded.outcome, transaction_id = excluded.transaction_id WHERE excluded.revision > revision`,
    )
    .run(
      commandKey,
      `${source.topic}/${source.partition}/${source.offset}`,
      revision,
      outcome,
      transaction?.id ?? quote?.transactionId ?? null,
    );
  return changes > 0;
}

const subscription = await subscribe(settings.config, {
  streams: ['results'],
  start: { from: 'group', groupId: process.env['GROUP_ID'] ?? 'billing' },
  onEvent: (event) => {
    // An outcome of a later release is unreadable, too. The subscription ends, with nothing committed of it: better than
    // passing over news of money.
    if (event.kind === 'unreadable') throw new Error(event.problem);
    if (event.kind !== 'result') return;
    const { commandKey, outcome, revision } = event.value;
    const isNews = seen.once(event, () => take(event.value)) ?? false;
    if (isNews) console.log(`${commandKey} revision ${revision}: ${outcome}, ${meaningOf(outcome)}`);
  },
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void subscription.close());
await subscription.ended;
seen.close();
