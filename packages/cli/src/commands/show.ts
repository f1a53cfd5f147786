/** `show`: everything in the topics about one key, or about the commands of a payment. Read-only. */
import type { CliCommand } from '../cli-command.ts';
import { CLIENT_SETTING_NAMES, type ClientSettings } from 'payment-processor-client/internal/settings';
import type { Entry } from '../../../../src/ledger/entry.ts';
import { settledWithin } from 'payment-processor-contract/settled-within';
import { keyHash } from 'payment-processor-contract/key-hash';
import { requireSettings, requireKey } from '../context.ts';
import { eventDocument, eventText } from '../event-output.ts';
import { CliFailure } from '../exit-codes.ts';
import { masksOf } from '../masking.ts';
import { readForOption, wholeNumber } from '../option-values.ts';
import type { Output } from '../output.ts';
import { readStatusHistory, type StatusEvent } from '../status-history.ts';
import { findKeys, KEYS_MAX, noCommandText } from '../story/find-keys.ts';
import { readStory, withStrays } from '../story/read-story.ts';
import { storyDocument, storyText } from '../story/story-output.ts';
import { scanLedger } from '../ledger.ts';
import { isUnknown, type Story } from '../story/story.ts';
import { lateText } from '../topic-reading.ts';

const NEWEST_DEFAULT = 1_000_000;
const NEWEST_MAX = 1_000_000_000;

interface ShowFlags {
  transaction?: string;
  quote?: string;
  hash?: string;
  offset?: string;
  newest: number;
  readFor: number;
  unmasked: boolean;
}

export function addShowCommand(program: CliCommand): void {
  program
    .command('show')
    .description(
      'print everything that happened to a command: messages, calls, decisions, results, status changes, dead letters',
    )
    .argument('[key]', "the command's key")
    .option('--transaction <id>', 'instead of a key: the commands that this transaction came from')
    .option('--quote <id>', 'instead of a key: the command that created this quote, and the one that executed it')
    .option('--hash <keyHash>', 'instead of a key: its hash, as the log and the page show it')
    .option('--offset <lane/offset>', 'instead of a key: lane and offset of its command, as the log shows them')
    .option(
      '--newest <offsets>',
      'how many of the newest offsets to read in each partition',
      wholeNumber(1, NEWEST_MAX),
      NEWEST_DEFAULT,
    )
    .addOption(readForOption('time limit for each part of the reading'))
    .option('--unmasked', 'show account numbers and personal data unmasked', false)
    .details(
      `
It reads the topics of commands, decisions, results, dead letters and status changes, and the whole ledger. It prints what a
limit cut off (not read), and what the ledger does not keep, such as the answer to each call (not kept). Account numbers
and personal data are masked. With --transaction or --quote it reads every lane, and shows at most ${KEYS_MAX} keys.
With --output json each key is one document; if isCutShort is true, a later state may not have been read.
Exits with 3 when the key, transaction or quote is not known anywhere. Exits with 1 when it found nothing but could not read
everything, because time was up or a Kafka transaction is open.
Settings: KAFKA_BROKERS, SCHEMA_REGISTRY_URL, TOPIC_PREFIX.

Examples:
  $ npm run cli -- show order-17
  $ npm run cli -- show --transaction Transaction:5
  $ npm run cli -- show --hash 9f86d081884c7d65
  $ npm run --silent cli -- --output json show order-17 | jq '{state, outcome, isCutShort, calls, runbooks}'`,
    )
    .runs(async (output, key: string | undefined, flags: ShowFlags) => {
      const asked = [key, flags.transaction, flags.quote, flags.hash, flags.offset].filter(
        (given) => given !== undefined,
      );
      const [only] = asked;
      if (only === undefined || asked.length > 1) {
        throw new CliFailure('usage', 'give one key, or one of --transaction, --quote, --hash, --offset');
      }
      if (key !== undefined) requireKey(key);
      const options = { ...flags, readForMs: flags.readFor };
      const settings = requireSettings(CLIENT_SETTING_NAMES);
      if (key !== undefined) await showKey(settings, key, options, output);
      else if (flags.hash === undefined && flags.offset === undefined)
        await showPayment(settings, only, options, output);
      else await showEach(await keysOf(settings, flags), (found) => showKey(settings, found, options, output));
    });
}

/** Keys from the ledger. @throws CliFailure if there are none */
async function keysOf(
  settings: ClientSettings,
  { hash, offset, readFor }: Pick<ShowFlags, 'hash' | 'offset' | 'readFor'>,
): Promise<string[]> {
  const { cuts, found } = await scanLedger(
    settings,
    readFor,
    (key) => hash === undefined || keyHash(key) === hash,
    (entry): entry is Entry => offset === undefined || `${entry.origin.partition}/${entry.origin.offset}` === offset,
  );
  if (found.length > 0) return found.map(({ entry }) => entry.key);
  const what = hash === undefined ? `was published at ${offset}` : `has the hash ${hash}`;
  throw notFound(`the ledger has no key that ${what}`, cuts, cuts.length > 0);
}

/** @param isCutShort whether more than the caller's own `--newest` left records out: what was not found may exist */
function notFound(text: string, cuts: readonly string[], isCutShort: boolean): CliFailure {
  const unread = [...new Set(cuts)].map((cut) => `  not read: ${cut}`);
  return new CliFailure(isCutShort ? 'failed' : 'notFound', [text, ...unread]);
}

interface ShowOptions {
  readonly newest: number;
  readonly readForMs: number;
  readonly unmasked: boolean;
}

async function showKey(settings: ClientSettings, key: string, options: ShowOptions, output: Output): Promise<void> {
  const ofLane = await readStory(settings, key, options, output);
  const story = isUnknown(ofLane) ? await withStrays(settings, ofLane, options) : ofLane;
  if (isUnknown(story)) throw nothingFound(settings.TOPIC_PREFIX, story);
  if (isUnknown(ofLane)) {
    const partitions = [...new Set(story.messages.map(({ partition }) => partition))].join(', ');
    output.note(
      `on partition ${partitions}, not on the partition of its key: its publisher should use the murmur2 partitioner. If the partition is below LANES, a processor will move the message, then admit it. No processor reads partitions that were added beyond LANES: see docs/runbooks/more-lanes.md`,
    );
  }
  output.document(storyDocument(story, options.unmasked), storyText(story, options.unmasked));
}

function nothingFound(prefix: string, { cuts, isCutShort, key }: Story): CliFailure {
  const text =
    cuts.length > 0
      ? `the records read under TOPIC_PREFIX=${prefix} have nothing about ${key}, but not all were read: it may still exist`
      : `${key} is known nowhere under TOPIC_PREFIX=${prefix}: it has no message, ledger entry, result, decision or dead letter, or none is kept any more`;
  return notFound(text, cuts, isCutShort);
}

async function showPayment(settings: ClientSettings, id: string, options: ShowOptions, output: Output): Promise<void> {
  const history = readStatusHistory(settings, id, output);
  const { events: changes, hidden } = await inTime(options.readForMs, 'the topics of status changes', history);
  const finding = findKeys(settings, idsOf(id, changes), changes, options.newest);
  const found = await inTime(options.readForMs, 'results and ledger', finding);
  const { keys } = found;
  const cuts = [...hidden, ...found.cuts];
  if (keys.length === 0 && changes.length === 0) {
    if (cuts.length === 0) for (const line of noCommandText(id, cuts)) output.note(line);
    const text = `no command, result or status change${cuts.length > 0 ? ' in the records read' : ''} names ${id}`;
    throw notFound(text, cuts, hidden.length > 0 || found.isCutShort);
  }
  for (const cut of cuts) output.note(`not read: ${cut}`);
  if (keys.length === 0) {
    for (const line of noCommandText(id, cuts)) output.note(line);
    const masks = masksOf(options.unmasked);
    for (const change of changes)
      output.document(masks.value(eventDocument(change)) as object, masks.text(eventText(change)));
    return;
  }
  output.note(`${id}: ${keys.length === 1 ? 'the command' : `${keys.length} commands,`} ${keys.join(', ')}`);
  await showEach(keys, (key) => showKey(settings, key, options, output));
}

/** Shows each key; one that is not found does not hide the others. @throws CliFailure at the end, naming those */
export async function showEach(keys: readonly string[], show: (key: string) => Promise<void>): Promise<void> {
  const missing: CliFailure[] = [];
  for (const key of keys) {
    await show(key).catch((error: unknown) => {
      if (!(error instanceof CliFailure)) throw error;
      missing.push(error);
    });
  }
  if (missing.length === 0) return;
  const reason = missing.every((failure) => failure.reason === 'notFound') ? 'notFound' : 'failed';
  throw new CliFailure(
    reason,
    missing.flatMap(({ lines }) => lines),
  );
}

/** @throws CliFailure when the time is up: some of the keys would look like all */
async function inTime<Value>(forMs: number, what: string, reading: Promise<Value>): Promise<Value> {
  if (await settledWithin(reading, forMs)) return reading;
  throw new CliFailure('failed', `not read: ${lateText(what, forMs)}`);
}

/** The transaction and the quote of one payment. */
function idsOf(id: string, changes: readonly StatusEvent[]): ReadonlySet<string> {
  const named = changes.flatMap((change) =>
    change.kind === 'unreadable' ? [] : [change.value.transactionId, change.value.quoteId],
  );
  return new Set([id, ...named.filter((name) => name !== null)]);
}
