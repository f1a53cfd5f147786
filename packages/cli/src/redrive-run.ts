/**
 * Redrives planned letters in small groups: marks a group, publishes it, continues with the next; then waits for the results.
 *
 * Stages: subscribe to results -> (write notes and read them back -> publish messages), a few at a time -> each result comes,
 * or its time is up -> close publisher and subscription. If a marked letter cannot be published, the report says so, and no
 * further letter is marked.
 */
import { randomUUID } from 'node:crypto';
import type { RawRecord } from 'payment-processor-client/internal/kafka/raw-record';
import {
  PublishError,
  RecordPublisher,
  type PublishedAt,
} from 'payment-processor-client/internal/kafka/record-publisher';
import { ResultAwaiter } from 'payment-processor-client/internal/result-awaiter';
import { createRegistry, type ClientSettings } from 'payment-processor-client/internal/settings';
import type { RecordRegistry } from 'payment-processor-contract/registry';
import { messageOf } from 'payment-processor-contract/registry-http';
import { CLI_RETRY, cliKafka, withInterruption, type CliSettings } from './context.ts';
import { reasonOf } from './failures.ts';
import type { Output } from './output.ts';
import { originalHeaders } from './dead-letter.ts';
import { messageContent } from './message-content.ts';
import { letterName, notedLetter, noteText, otherLetterText, type RedriveNote } from './redrive-note.ts';
import { claimLetters, type ClaimedBy } from './redrive-notes.ts';
import { withHeaders, type PlanOptions, type ReadyRedrive } from './redrive-plan.ts';
import { publishedLine, unsentLine, type ReportLine, type UnsentStatus } from './redrive-report.ts';
import { keyCommand } from './key-command.ts';

export interface RunOptions extends PlanOptions {
  readonly operator: string;
  /** Null: do not wait for results. */
  readonly awaiting: { readonly settings: ClientSettings; readonly timeoutMs: number } | null;
  readonly isUnmasked: boolean;
}

/** Letters marked before the first of them is published. A crash leaves at most this many marked and unsent. */
const CLAIMED_AT_ONCE = 20;
const INTERRUPTED =
  'interrupted: publishing the dead letters that are already marked, then stopping. A second Ctrl-C may leave some marked but unpublished';
const INTERRUPTED_WAIT =
  'interrupted: nothing more is published; results are awaited. A second Ctrl-C ends this without a report';
/** The processor's headers of a moved message. If sent again, they would give the message its old age. */
const MOVED_HEADERS = 'moved-';
const BY_ITS_PLACE = 'redrive it alone, under the same key, with --again-may-pay-twice';

/** @returns in the order of the plans; a failure after the first letter may be marked is reported per letter */
export async function runRedrives(
  settings: CliSettings,
  plans: readonly ReadyRedrive[],
  { awaiting, isUnmasked, notes, operator }: RunOptions,
  output: Output,
): Promise<ReportLine[]> {
  const results = awaiting === null ? null : await ResultAwaiter.open(awaiting.settings, { retry: CLI_RETRY });
  const registry = awaiting === null ? null : createRegistry(awaiting.settings);
  try {
    const topics = [...new Set(plans.map(({ target }) => target.topic))];
    const publisher = await RecordPublisher.connect(cliKafka(settings), topics, CLI_RETRY);
    try {
      const knownNotes = [...notes.values()].flat();
      const claim = (part: readonly ReadyRedrive[]): Promise<ClaimedBy[]> => {
        const claims = part.map(({ letter, target }) => {
          return { letter, key: target.key, because: null, knownNotes };
        });
        return claimLetters(settings, operator, claims);
      };
      const timeoutMs = awaiting?.timeoutMs ?? 0;
      return await withInterruption(async (interruption) => {
        let isPublishing = true;
        interruption.addEventListener('abort', () => output.note(isPublishing ? INTERRUPTED : INTERRUPTED_WAIT));
        const run = { claim, publisher, results, registry, timeoutMs, isUnmasked, interruption };
        const lines = await redriveEach(plans, run);
        isPublishing = false;
        return Promise.all(lines);
      });
    } finally {
      await publisher.close();
    }
  } finally {
    await results?.close();
  }
}

export interface RedriveParts {
  readonly claim: (plans: readonly ReadyRedrive[]) => Promise<ClaimedBy[]>;
  readonly publisher: Pick<RecordPublisher, 'publish'>;
  /** Null: do not wait for results. */
  readonly results: Pick<ResultAwaiter, 'expect'> | null;
  readonly registry: RecordRegistry | null;
  readonly timeoutMs: number;
  readonly isUnmasked: boolean;
  /** Once it is aborted, no more letters are marked; those that are marked are published. */
  readonly interruption: AbortSignal;
}

/**
 * Never rejects once a letter may be marked.
 * @returns once the last message is published; each line resolves when its result is there
 */
export async function redriveEach(
  plans: readonly ReadyRedrive[],
  parts: RedriveParts,
): Promise<readonly Promise<ReportLine>[]> {
  // Before the first mark, so that nothing is sent if the registry does not answer.
  const fingerprints: (string | null)[] = [];
  for (const plan of plans) fingerprints.push(await fingerprintOf(parts.registry, plan));
  const lines: Promise<ReportLine>[] = [];
  let isBroken = false;
  for (let first = 0; first < plans.length; first += CLAIMED_AT_ONCE) {
    const part = plans.slice(first, first + CLAIMED_AT_ONCE);
    let claims: readonly ClaimedBy[] = [];
    let unclaimed: string | null = null;
    try {
      if (!isBroken && !parts.interruption.aborted) claims = await parts.claim(part);
    } catch (error) {
      isBroken = true;
      unclaimed = reasonOf(error);
    }
    for (const [index, plan] of part.entries()) {
      const earlier = claims[index];
      const unsent = async (...what: [status: UnsentStatus, problem: string]) => unsentLine(plan, ...what);
      if (unclaimed !== null) {
        const problem = `its message was not published, but the dead letter may be marked as redriven (${unclaimed}). Check with \`dead-letters show ${letterName(plan.letter)}\`: if you marked it, ${BY_ITS_PLACE}. If somebody else did, ask them`;
        lines.push(unsent('not-known', problem));
      } else if (earlier === undefined) {
        const cause = isBroken ? 'an earlier message could not be published' : 'the run was interrupted';
        lines.push(unsent('not-tried', `not tried, because ${cause}; nothing was sent`));
      } else if (earlier !== null) {
        lines.push(unsent('refused', whoWasFirst(plan, earlier)));
      } else if (isBroken) {
        const problem = `the dead letter is marked as redriven, but its message was not published, because an earlier message could not be published. To publish it, ${BY_ITS_PLACE}`;
        lines.push(unsent('not-known', problem));
      } else {
        const published = await publishOne(plan, fingerprints[first + index] ?? null, parts);
        isBroken = published.isBroken;
        lines.push(published.line);
      }
    }
  }
  return lines;
}

function whoWasFirst({ letter }: ReadyRedrive, earlier: RedriveNote): string {
  if (notedLetter(earlier) === letterName(letter))
    return `another operator was first: the dead letter was ${noteText(earlier)}. Nothing was sent`;
  return `${otherLetterText(earlier)}. Nothing was sent, but this dead letter is marked as redriven. If it is a different payment, redrive it alone, with --again-may-pay-twice`;
}

/** Null: its result is not awaited, it is not a command, or it cannot be read here. */
async function fingerprintOf(
  registry: RecordRegistry | null,
  { letter, target }: ReadyRedrive,
): Promise<string | null> {
  if (registry === null) return null;
  const { commandType, topic } = target;
  const headers = Object.fromEntries(Object.entries(letter.headers).map(([name, values]) => [name, [...values]]));
  return (await messageContent(registry, { topic, headers, value: letter.value }, commandType)).fingerprint;
}

/**
 * The dead letter is marked already.
 * @param fingerprint of its command; null: only the id identifies its result
 */
async function publishOne(
  plan: ReadyRedrive,
  fingerprint: string | null,
  { isUnmasked, publisher, results, timeoutMs }: RedriveParts,
): Promise<{ isBroken: boolean; line: Promise<ReportLine> }> {
  const { letter, target } = plan;
  const ownId = letter.headers['ce_id']?.[0]?.toString();
  // Its id identifies this message's result.
  const commandId = ownId ?? randomUUID();
  const named = ownId === undefined ? withHeaders(letter, new Map([['ce_id', commandId]])) : letter;
  const asked = { commandId, timeoutMs, ...(fingerprint === null ? {} : { fingerprint }) };
  const awaited = results?.expect(target.key, { ...asked, type: target.commandType });
  let at: PublishedAt;
  try {
    const { key, topic } = target;
    at = await publisher.publish({ topic, key: Buffer.from(key), value: letter.value, headers: headersOf(named, key) });
  } catch (error) {
    const mayBeWritten = error instanceof PublishError && error.mayBeWritten;
    const problem = mayBeWritten
      ? `the dead letter is marked as redriven, but it is not known whether its message was published (${reasonOf(error)}). ` +
        `Check with \`${keyCommand('show', target.key)}\`: if the message is not there, redrive it under the same key with --again-may-pay-twice`
      : `the dead letter is marked as redriven, but its message was not published (${reasonOf(error)}). To publish it, ${BY_ITS_PLACE}`;
    const line = unsentLine(plan, 'not-known', problem, mayBeWritten ? 'noResult' : 'failed');
    return { isBroken: true, line: Promise.resolve(line) };
  }
  const came = awaited?.catch(messageOf) ?? Promise.resolve(null);
  return { isBroken: false, line: came.then((result) => publishedLine(plan, at, result, isUnmasked)) };
}

function headersOf(letter: RawRecord, key: string): Record<string, Buffer[]> {
  const isNewKey = letter.key?.toString('latin1') !== key;
  return Object.fromEntries(
    Object.entries(originalHeaders(letter))
      .filter(([name]) => !name.startsWith(MOVED_HEADERS))
      .map(([name, values]) => [name, name === 'ce_subject' && isNewKey ? [Buffer.from(key)] : [...values]]),
  );
}
