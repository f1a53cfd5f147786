/**
 * A subscriber whose handler takes a while, to be killed: node crashing-subscriber.ts DATABASE GROUP each|interval|once. Its
 * effect is a row with the event's key.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { readClientSettings, SqliteSeenEvents, subscribe } from '../src/index.ts';

const [path = '', groupId = '', mode = ''] = process.argv.slice(2);
const HANDLING_MS = 5;

const settings = readClientSettings(process.env);
if (!settings.ok) throw new Error(settings.problems.join('\n'));
const seen = await SqliteSeenEvents.open(path);
const insert = seen.database.prepare('INSERT INTO effects VALUES (?)');
const subscription = await subscribe(settings.config, {
  streams: ['results'],
  start: { from: 'group', groupId },
  sessionTimeoutMs: 6_000,
  commit: mode === 'interval' ? 'interval' : 'each',
  onEvent: async (event) => {
    if (mode === 'once') seen.once(event, () => insert.run(event.key));
    else insert.run(event.key);
    await delay(HANDLING_MS);
  },
});
await subscription.ended;
