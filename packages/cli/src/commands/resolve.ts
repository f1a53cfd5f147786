/** `resolve KEY`: an operator's decision on a command's result, which makes the next revision. */
import { Option } from 'commander';
import type { CliCommand } from '../cli-command.ts';
import { CLIENT_SETTING_NAMES, createRegistry, type ClientSettings } from 'payment-processor-client/internal/settings';
import type { Entry } from '../../../../src/ledger/entry.ts';
import { OPERATOR_DECISIONS } from '../../../../src/ledger/operator.ts';
import { DECISION_HEADER } from '../../../../src/producers/result-events.ts';
import { topicNames } from 'payment-processor-contract/topics';
import type { CommandResult, OperatorDecision } from 'payment-processor-contract/types';
import { requireSettings, requireKey } from '../context.ts';
import type { CheckResult } from '../decided-transaction.ts';
import { checkRetry, checkSettling } from '../decision-checks.ts';
import { eventDocument, eventText, isoOf, resultText, placeText } from '../event-output.ts';
import { CliFailure, unsent } from '../exit-codes.ts';
import { phaseText, readEntry, noEntryText } from '../ledger.ts';
import { submitDecision, type DecidedResult } from '../operator-decision.ts';
import { waitOption, wholeNumber } from '../option-values.ts';
import type { Output } from '../output.ts';
import { canAsk, checkTexts, confirm, operatorName } from '../operator.ts';
import { keyCommand } from '../key-command.ts';

/** The processor's limits. */
const TEXT_MAX = 2_000;
const REVISION_MAX = 2 ** 31 - 1;

interface ResolveFlags {
  decision: (typeof OPERATOR_DECISIONS)[number];
  reason: string;
  operator?: string;
  transactionId?: string;
  expectedRevision?: number;
  waitFor: number;
  unverified: boolean;
  yes: boolean;
}

export function addResolveCommand(program: CliCommand): void {
  program
    .command('resolve')
    .description("publish a decision on a command's result, after you looked the payment up at the service")
    .argument('<key>', "the command's key")
    .addOption(
      new Option('--decision <decision>', "the operator's decision").choices(OPERATOR_DECISIONS).makeOptionMandatory(),
    )
    .requiredOption('--reason <text>', 'why; kept with the decision')
    .option('--operator <name>', 'who decides; default: PAYMENTS_OPERATOR or the system user')
    .option(
      '--transaction-id <id>',
      'with EXECUTED: the transaction that you found; it is first checked in the service',
    )
    .option(
      '--unverified',
      "decide even if the service's transaction contradicts the decision, or could not be checked; RETRY, even if the message was redriven under another key",
      false,
    )
    .option(
      '--expected-revision <number>',
      'the revision of the result that the decision is about; default: the current one',
      wholeNumber(1, REVISION_MAX),
    )
    .addOption(waitOption('--wait-for <duration>', 'longest wait for the result'))
    .option('--yes', 'do not ask for confirmation', false)
    .details(
      `
Decisions:
  EXECUTED      The service executed the command. UNKNOWN becomes ACCEPTED.
  NOT_EXECUTED  The service did not execute the command. UNKNOWN becomes EXPIRED.
  RETRY         Run the command again, after UNKNOWN, INVALID, EXPIRED or FAILED.
                On UNKNOWN it proves nothing. The processor first settles whether the earlier call took effect. If it
                cannot, the result is UNKNOWN again, without a call.
                On the others, ask the publisher first. If it has sent the payment under a new key, RETRY pays it again.
                It is refused (exit code 7) unless --unverified is given, if the message was redriven under another key,
                came from an earlier key whose command may be paid, or was acknowledged as a dead letter.

It first shows the current result. The decision makes the next revision of it. The processor refuses a decision on a
revision that is no longer the current one.

Before EXECUTED or NOT_EXECUTED it looks up the command's transaction at the service, if API_BASE_URL, API_TOKEN_ID and
API_CLIENT_SECRET are set. With --transaction-id it looks up that transaction instead, and these settings are required.
Give it for EXECUTED if neither the command nor an answer named the transaction: without it, nothing is looked up.
It prints which fields it compared with the command, and which it could not compare.
Unless --unverified is given, it refuses NOT_EXECUTED (exit code 7) if the look-up fails, if the service does not list that
transaction, if the transaction's status does not prove that the command took no effect, if a published status of it
shows an effect, or if its published statuses could not all be read. It refuses EXECUTED if
- the look-up fails, or the service does not list the transaction;
- its accounts, amount, quote or time differ from the command's, or nothing can be compared;
- the command executes a quote, but the transaction does not have the status of an executed quote;
- other transactions from the time of the command's calls match as well;
- its call creates the transaction, which belongs, or may belong, to another command of this TOPIC_PREFIX.

At a terminal it asks for confirmation, unless --yes is given. Without a terminal it does not ask. If it does not ask and
an operator has decided on the key before, --expected-revision must name the current revision.
Exit codes:
  0  the decision was carried out (a RETRY: and the command was ACCEPTED)
  3  the key is not known
  4  the retried command was not ACCEPTED
  5  no reply came in time
  7  the decision was refused
Settings: KAFKA_BROKERS, SCHEMA_REGISTRY_URL, TOPIC_PREFIX, and the API_ settings above.

Examples:
  $ npm run cli -- resolve order-17 --decision EXECUTED --transaction-id Transaction:5 --reason "found in the service's list"
  $ npm run cli -- resolve order-17 --decision NOT_EXECUTED --reason "not in the account's statement of today" --yes
  $ npm run --silent cli -- --output json resolve order-18 --decision RETRY --reason "account was unlocked" | jq .value.outcome`,
    )
    .runs(async (output, key: string, flags: ResolveFlags) => {
      const operator = checkFlags(key, flags);
      const settings = requireSettings(CLIENT_SETTING_NAMES);
      const { entry, result: current } = await currentResult(settings, key);
      showCurrent(output, current);
      requireRevision(entry, flags);
      requireUnknown(entry, current, flags);
      const { decision: name, transactionId: foundId = null } = flags;
      const checked =
        name === 'RETRY'
          ? checkRetry(settings, entry)
          : checkSettling(settings, entry, { decision: name, foundId }, output);
      judge(output, await checked, flags.unverified);
      if (flags.decision === 'NOT_EXECUTED') warnOfLateEffect(output, entry);
      const decision: OperatorDecision = {
        decision: flags.decision,
        expectedRevision: flags.expectedRevision ?? current.revision,
        transactionId: flags.transactionId ?? null,
        operator,
        reason: flags.reason,
      };
      output.note(
        `decision: ${decision.decision} on revision ${decision.expectedRevision} by ${operator}: ${flags.reason}`,
      );
      await confirm('Publish this decision?', { yes: flags.yes, withoutTerminal: 'go-on' });
      await submit(output, settings, key, decision, flags.waitFor);
    });
}

/** @returns the operator's name */
function checkFlags(key: string, flags: ResolveFlags): string {
  requireKey(key);
  if (flags.transactionId !== undefined && flags.decision !== 'EXECUTED') {
    throw unsent('usage', '--transaction-id requires --decision EXECUTED');
  }
  const operator = operatorName(flags.operator);
  checkTexts({ reason: flags.reason, operator, 'transaction-id': flags.transactionId ?? 'none' }, TEXT_MAX);
  return operator;
}

/**
 * An operator whom nobody asks for confirmation may have seen an earlier result, on which a colleague has decided
 * since. After NOT_EXECUTED a RETRY is a new call; on the previous UNKNOWN it would first have settled the doubt.
 */
function requireRevision({ audit, revision }: Entry, { expectedRevision, yes }: ResolveFlags): void {
  if (revision === 1 || expectedRevision !== undefined || (!yes && canAsk())) return;
  throw unsent(
    'refused',
    `an operator has decided on this key before (${audit.at(-1) ?? 'the decision is not known'}). To decide on the current result, give --expected-revision ${revision}`,
  );
}

/**
 * The processor would refuse it too, with a dead letter. It also refuses decisions on another revision than the current
 * one.
 */
function requireUnknown({ revision }: Entry, { outcome }: CommandResult, flags: ResolveFlags): void {
  const { decision, expectedRevision = revision } = flags;
  if (decision === 'RETRY' || outcome === 'UNKNOWN' || expectedRevision !== revision) return;
  throw unsent(
    'refused',
    `only an UNKNOWN result can be decided ${decision}; this one is ${outcome}. If a decision was wrong, see step 6 of docs/runbooks/unknown-results.md`,
  );
}

/** The key's result in the ledger, by which the processor judges a decision. */
async function currentResult(settings: ClientSettings, key: string): Promise<{ entry: Entry; result: CommandResult }> {
  const entry = await readEntry(settings, key);
  if (entry === null) {
    throw unsent('notFound', noEntryText(settings, key));
  }
  if (entry.phase.state !== 'DONE') {
    throw unsent(
      'refused',
      `${key} has no result yet, so it cannot be decided on: ${entry.phase.state}, ${phaseText(entry)}`,
    );
  }
  const { results } = topicNames(settings.TOPIC_PREFIX);
  const decoded = await createRegistry(settings).decode(results, entry.phase.result.value);
  if (decoded.kind !== 'record') {
    throw unsent('failed', `the current result of ${key} cannot be read: ${decoded.problem}`);
  }
  return { entry, result: decoded.value as CommandResult };
}

/** The processor's settling time is unknown here, so the text names the setting. */
function warnOfLateEffect(output: Output, { lastEndedMs }: Entry): void {
  if (lastEndedMs === null) return;
  output.note(
    `the last call ended by ${isoOf(lastEndedMs)}. It may take effect up to SETTLING_TIME_MS later, so a check before then proves nothing`,
  );
}

/** @throws CliFailure if a check found a doubt, unless the operator accepts the risk */
function judge(output: Output, said: readonly CheckResult[], unverified: boolean): void {
  for (const note of said.flatMap(({ notes }) => notes)) output.note(note);
  const doubts = said.flatMap(({ doubt }) => doubt ?? []);
  if (doubts.length === 0) return;
  const doubt = doubts.join('; ');
  if (!unverified) throw unsent('refused', `${doubt}. To decide anyway, give --unverified`);
  output.note(`warning: ${doubt}; decided anyway (--unverified)`);
}

function showCurrent(output: Output, result: CommandResult): void {
  output.note(`current: ${resultText(result)}`);
  output.note(
    `         completed ${isoOf(Number(result.completedAt))}, calls that were or may have been sent: ${result.attempts}`,
  );
  for (const warning of result.warnings) output.note(`         warning: ${warning}`);
}

async function submit(
  output: Output,
  settings: ClientSettings,
  key: string,
  decision: OperatorDecision,
  waitMs: number,
): Promise<void> {
  const reply = await submitDecision(settings, key, decision, waitMs, (place) =>
    output.note(`published (${placeText(place)}); waiting for the processor`),
  );
  switch (reply.kind) {
    case 'refused':
      throw new CliFailure(
        'refused',
        `the processor refused the decision, which changed nothing about ${key} and is now a dead letter (${reply.dlqReason}): ${reply.problem}`,
      );
    case 'no-reply':
      throw new CliFailure(
        'noResult',
        `the decision was published, but neither its result nor its refusal came within ${waitMs} ms: ${stateOf(reply.result, decision)}. ` +
          `Check with \`${keyCommand('show', key)}\`, and with \`doctor\` whether a processor runs`,
      );
    case 'decided': {
      const { result } = reply;
      output.document(eventDocument(result), eventText(result));
      const { outcome } = result.value;
      if (decision.decision === 'RETRY' && outcome !== 'ACCEPTED') {
        throw new CliFailure('notAccepted', `the retry of ${key} ended ${outcome}`);
      }
    }
  }
}

/** What is known of a decision without a reply. */
function stateOf(next: DecidedResult | null, { expectedRevision }: OperatorDecision): string {
  if (next === null) return 'it may still be carried out';
  const { outcome, revision } = next.value;
  const came = `revision ${revision} came instead (${outcome})`;
  return next.headers[DECISION_HEADER] === undefined
    ? `${came}, from another decision, which had no id`
    : `${came}, from another decision on revision ${expectedRevision}: yours can no longer be carried out`;
}
