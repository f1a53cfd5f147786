/** `hold` and `release`: stop new calls of command types in all processors, and allow them again. */
import { Argument } from 'commander';
import type { CliCommand } from '../cli-command.ts';
import { isInForce, ORDER_TEXT_MAX, type HoldOrder } from '../../../../src/ledger/holds.ts';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';
import { lanesInWords } from 'payment-processor-contract/keys';
import { settledWithin } from 'payment-processor-contract/settled-within';
import { CLI_SETTING_NAMES, requireSettings, type CliSettings } from '../context.ts';
import { CliFailure, unsent } from '../exit-codes.ts';
import { reasonOf } from '../failures.ts';
import {
  auditOf,
  holdText,
  othersEndedBy,
  readOrders,
  replacedBy,
  wantedInWords,
  type AuditedOrder,
  type ReadOrders,
} from '../hold-audit.ts';
import type { Output } from '../output.ts';
import { awaitConfirmation, placeOrder } from '../operator-hold.ts';
import { waitOption, instant } from '../option-values.ts';
import { checkTexts, operatorName } from '../operator.ts';

/** The wait for the confirmation begins only after this reading. */
const READ_REPLACED_MS_MAX = 5_000;
const NOTE_READING_AFTER_MS = 5_000;
/** A lost broker, or the reader's first join of its group, costs seconds for each connection. */
const READ_HOLDS_MS_MAX = 60_000;

interface OrderFlags {
  reason: string;
  operator?: string;
  until?: Date;
  endOthers: boolean;
  waitFor: number;
}

export function addHoldCommands(program: CliCommand): void {
  orderCommand(program, 'hold', 'stop payments: no processor begins a call for commands of these types')
    .requiredOption('--reason <text>', 'why; kept with the hold')
    .option('--until <instant>', 'when the hold ends by itself, in ISO 8601 with a time zone', instant).details(`
Without a type it holds all types. Exit code 0 means that each lane's owner has confirmed the hold. From then on, no member
of the group begins a call for these types until they are released or --until has passed.
Held commands wait in Kafka or in the ledger. At their own time limit they end: EXPIRED, or UNKNOWN if a call is in doubt.
Calls under way end, and their results are committed. Look-ups continue. A hold of execute-quote also holds quotes that
lead to an execution.
A later hold of a type replaces an earlier one; the command prints which. It needs no schema registry.
With --until it is refused (exit code 7) if it would end another operator's hold earlier: add --end-others. Without
--until it is never refused.
Exits with 5 in two cases:
- A lane has not confirmed in time, or has a later order. The hold is written to every lane, and in force in the lanes that
  confirmed.
- Kafka has not confirmed the write to a lane. The hold may be written there.
The operator is the name in --operator, else PAYMENTS_OPERATOR, else the system user. Another name is another operator.
Settings: KAFKA_BROKERS, KAFKA_GROUP_ID, TOPIC_PREFIX.

Examples:
  $ npm run cli -- hold --reason "the service pays twice, incident 31"
  $ npm run cli -- hold execute-quote create-quote --reason "wrong rates" --until 2026-01-31T12:00:00Z`);
  orderCommand(program, 'release', 'end holds: calls for these types may begin again').option(
    '--reason <text>',
    'why; kept with the release',
    'released',
  ).details(`
Without a type it releases all types. It prints whose holds it ends, and exits with 1 when it cannot read them. It is
refused (exit code 7) if another operator still wants one of these types held, even where a later hold replaced that
operator's: add --end-others. Exits with 5 when a lane has not confirmed in time, a later order replaced it, or Kafka has
not confirmed the write to a lane. That lane may still hold its commands.
Settings: KAFKA_BROKERS, KAFKA_GROUP_ID, TOPIC_PREFIX.

Examples:
  $ npm run cli -- release
  $ npm run cli -- release transfer-in --reason "incident 31 is over"`);
}

function orderCommand(program: CliCommand, name: 'hold' | 'release', description: string): CliCommand {
  return program
    .command(name)
    .description(description)
    .addArgument(new Argument('[types...]', 'command types; all if none is given').choices(COMMAND_TYPES))
    .option('--operator <name>', 'who gives the order; default: PAYMENTS_OPERATOR or the system user')
    .option('--end-others', 'even if another operator still wants these types held', false)
    .addOption(waitOption('--wait-for <duration>', 'longest wait for every lane to confirm'))
    .runs(async (output, types: string[], flags: OrderFlags) => {
      const order = orderOf(name === 'hold' ? 'HOLD' : 'RELEASE', types, flags);
      const settings = requireSettings([...CLI_SETTING_NAMES, 'KAFKA_GROUP_ID']);
      if (!flags.endOthers) await requireOwnHolds(settings, order, output);
      const placed = await placeOrder(settings, order);
      // Only now: others could write orders until ours was written.
      const replaced = await replacedHolds(output, order, readOrders(settings, placed.offsets));
      const { confirmedMs, overtaken, pending, unconfirmed } = await awaitConfirmation(settings, placed, {
        forMs: flags.waitFor,
        onWaiting: (unconfirmedNow) => output.note(`written to every lane; waiting for ${unconfirmedNow}`),
      });
      const { id } = placed;
      const lanes = placed.offsets.size;
      const isConfirmed = pending.length === 0;
      output.document(
        { kind: name, id, ...order, lanes, pending, replaced },
        isConfirmed ? doneText(order, lanes, Math.max(Date.now(), confirmedMs ?? 0)) : [],
      );
      if (isConfirmed) return;
      const calls = name === 'hold' ? 'calls may still begin there' : 'commands may still be held there';
      const late = `not confirmed within ${flags.waitFor} ms by ${unconfirmed}. Until these lanes confirm, ${calls}`;
      const replacedIn = `a later order replaced it in ${lanesInWords(overtaken)}: \`holds\` shows whose. Ask them before you repeat the command`;
      const why = [
        ...(pending.length > overtaken.length ? [late] : []),
        overtaken.length > 0 ? replacedIn : 'Repeat the command to keep waiting',
      ];
      throw new CliFailure('noResult', `the ${name} was written to every lane, but ${why.join('. ')}`);
    });
}

/**
 * A hold without --until is not checked: it ends no hold earlier, and nothing may delay it.
 * @throws CliFailure if the order would end holds that other operators still want, or those cannot be read
 */
async function requireOwnHolds(settings: CliSettings, order: HoldOrder, output: Output): Promise<void> {
  const { action, until } = order;
  if (action === 'HOLD' && until === null) return;
  const name = action.toLowerCase();
  const reading = readOrders(settings);
  if (!(await settledWithin(reading, NOTE_READING_AFTER_MS))) output.note(`reading whose holds this ${name} ends`);
  const isRead = await settledWithin(reading, READ_HOLDS_MS_MAX);
  const { hidden, laneCount, orders } = isRead
    ? await reading
    : { hidden: ['no answer in time'], laneCount: 0, orders: [] };
  const others = wantedInWords(othersEndedBy(order, orders, Date.now()), laneCount).join('; ');
  if (others !== '') {
    const stop = until === null ? '' : '. Without --until a hold is never refused';
    const when = until === null ? 'would end that' : `would end that at ${until}`;
    throw unsent(
      'refused',
      `${others}: this ${name} ${when}. Ask them; to order it nevertheless, add --end-others${stop}`,
    );
  }
  if (hidden.length === 0) return;
  const unknown = `it is not known whose holds this ${name} ends (${hidden.join('; ')}): try again`;
  const instead =
    until === null
      ? 'ask the operators of all holds that `holds` lists, also of replaced ones, and add --end-others'
      : 'hold without --until';
  throw unsent('failed', `${unknown}, or ${instead}`);
}

/**
 * Prints the earlier holds that the order ended: those in force, and replaced ones that other operators still wanted.
 * @returns the holds that were in force; none if they cannot be read
 */
async function replacedHolds(output: Output, order: HoldOrder, before: Promise<ReadOrders>): Promise<AuditedOrder[]> {
  const name = order.action.toLowerCase();
  const nowMs = Date.now();
  let replaced: AuditedOrder[] = [];
  let wanted: string[] = [];
  let unread = ['no answer yet'];
  const reading = before.then(
    ({ hidden, laneCount, orders }) => {
      unread = [...hidden];
      replaced = replacedBy(order, auditOf(orders, laneCount, nowMs));
      wanted = wantedInWords(othersEndedBy(order, orders, nowMs), laneCount);
    },
    (error: unknown) => {
      unread = [reasonOf(error)];
    },
  );
  await settledWithin(reading, READ_REPLACED_MS_MAX);
  if (unread.length > 0) output.note(`this ${name} may end more holds than are listed here: ${unread.join('; ')}`);
  const inForce = replaced.map(holdText);
  for (const text of inForce)
    output.note(`${text}; this ${name} ends it${name === 'hold' ? ', and a release does not bring it back' : ''}`);
  for (const text of wanted.filter((one) => !inForce.includes(one)))
    output.note(`${text}; a later hold replaced it, and this ${name} ends both`);
  if (wanted.length > 0) output.note(`tell these operators; if they still want it held, hold again`);
  return replaced;
}

/** A quote with immediatelyExecute is held by a hold of either. */
const QUOTE_STEPS = ['create-quote', 'execute-quote'];

/** @param nowMs after the confirmation: by then --until may have passed, if only by the brokers' clock */
function doneText({ action, until, ...order }: HoldOrder, lanes: number, nowMs: number): string {
  const types = order.commandTypes.length === 0 ? 'any type' : order.commandTypes.join(', ');
  const confirmed = `all ${lanes} lanes have confirmed`;
  if (action === 'RELEASE') {
    const [other, ...more] = QUOTE_STEPS.filter((type) => !order.commandTypes.includes(type));
    const isOneReleased = other !== undefined && more.length === 0;
    const steps = isOneReleased ? `. A quote with immediatelyExecute also waits while ${other} is held` : '';
    return `released: calls for ${types} may begin again; ${confirmed}${steps}`;
  }
  if (!isInForce({ until }, nowMs))
    return `held until ${until}, which has passed: calls for ${types} may begin again; ${confirmed}`;
  const release = `\`${['release', ...order.commandTypes].join(' ')}\``;
  const ends = until === null ? `until ${release}` : `until ${until}, or ${release}`;
  return `held ${ends}: no call for ${types} begins; ${confirmed}. Calls that had already begun still end`;
}

function orderOf(action: HoldOrder['action'], types: readonly string[], flags: OrderFlags): HoldOrder {
  const operator = operatorName(flags.operator);
  checkTexts({ reason: flags.reason, operator }, ORDER_TEXT_MAX);
  const until = flags.until ?? null;
  if (until !== null && until.getTime() <= Date.now())
    throw unsent('usage', `--until ${until.toISOString()} has passed`);
  const at = new Date().toISOString();
  return { action, commandTypes: types, operator, reason: flags.reason, until: until?.toISOString() ?? null, at };
}
