/**
 * Checks the command keys in status events against the service's own books. An event that shows a command's effect must
 * name the command. No event may name a command that neither the books nor the results connect with the transaction.
 */
import type { CommandType } from 'payment-processor-contract/commands';
import { EXECUTE_SUFFIX } from 'payment-processor-contract/keys';
import { COMMAND_KEYS_MAX } from '../../src/status/transaction-state.ts';
import type { QuoteEvent, ResultEvent, TransactionEvent } from '../../test/support/journal.ts';

/** A command changed a transaction at the service. */
export interface Act {
  readonly key: string;
  readonly operation: CommandType;
  readonly transactionId: string;
  readonly atMs: number;
}

export interface NamedEvidence {
  readonly transactionEvents: readonly TransactionEvent[];
  readonly quoteEvents: readonly QuoteEvent[];
  readonly results: readonly ResultEvent[];
  readonly acts: readonly Act[];
  /** The transaction that the command's own fields name. */
  readonly subjectOf: (key: string) => string | null;
  /** As its publisher sent it; undefined: unknown. */
  readonly correlationIdOf: (key: string) => string | undefined;
  /** The longest time that the poller waits for a command in doubt. */
  readonly heldForMsMax: number;
}

const MAKES: readonly CommandType[] = ['create-quote', 'transfer-in', 'simulate-uma-receive'];
/** Results of two lanes that are this close may be reported in either order. */
const TOGETHER_MS = 1_000;
/** Statuses of a quote that was executed. */
const EXECUTED_QUOTE: readonly string[] = ['PROCESSING', 'COMPLETED'];

/** @returns what is wrong, in words; empty: each event names its command */
export function judgeNamedCommands(evidence: NamedEvidence): string[] {
  const judged = new Judged(evidence);
  const quoteEvents = Map.groupBy(evidence.quoteEvents, ({ value }) => value.transactionId ?? '');
  return [
    ...[...Map.groupBy(evidence.transactionEvents, ({ key }) => key)].flatMap(([id, events]) =>
      judged.transaction(id, events),
    ),
    ...[...quoteEvents].flatMap(([id, events]) => events.flatMap((event) => judged.quote(id, event))),
  ];
}

class Judged {
  readonly #evidence: NamedEvidence;
  readonly #acts: ReadonlyMap<string, readonly Act[]>;
  readonly #results: ReadonlyMap<string, readonly ResultEvent[]>;
  /** The commands whose results are about the transaction, by transaction. */
  readonly #claims = new Map<string, Set<string>>();

  constructor(evidence: NamedEvidence) {
    this.#evidence = evidence;
    this.#acts = Map.groupBy(evidence.acts, ({ transactionId }) => transactionId);
    const results = evidence.results.filter(
      ({ headers, value }) => value.outcome !== 'CONFLICT' && headers['replayed'] !== 'true',
    );
    this.#results = Map.groupBy(results, ({ key }) => key);
    for (const { key, value } of results.filter((result) => result.value.outcome === 'ACCEPTED'))
      for (const id of [value.transaction?.id, value.quote?.transactionId, evidence.subjectOf(key)])
        if (typeof id === 'string') this.#claims.set(id, (this.#claims.get(id) ?? new Set<string>()).add(key));
  }

  transaction(id: string, events: readonly TransactionEvent[]): string[] {
    const wrong: string[] = [];
    let before: readonly string[] = [];
    for (const event of events) {
      const { commandKey, commandKeys, observedBy, status } = event.value;
      const shownMs = event.value.changedAt === null ? -Infinity : Date.parse(event.value.changedAt);
      const due = observedBy === 'POLL' ? this.#dueAt(id, event.timestampMs, shownMs) : [];
      const problems = [
        ...this.#problemsOf(event, commandKey),
        ...due.filter((key) => !commandKeys.includes(key)).map((key) => `does not name ${key}, whose effect it shows`),
        ...due
          .filter((key) => this.#isAfter(key, commandKey))
          .map((key) => `names ${commandKey} as the last, not ${key}`),
        ...before.filter((key) => !commandKeys.includes(key)).map((key) => `does not name ${key} any more`),
        ...(commandKey === (commandKeys.at(-1) ?? null) ? [] : [`names ${commandKey} and [${commandKeys.join()}]`]),
        ...(new Set(commandKeys).size === commandKeys.length ? [] : [`names [${commandKeys.join()}]`]),
        ...(commandKeys.length <= COMMAND_KEYS_MAX ? [] : [`names ${commandKeys.length} commands`]),
        ...commandKeys.filter((key) => !this.#mayName(id, key)).map((key) => `names ${key}, which did nothing to it`),
      ];
      wrong.push(...problems.map((problem) => `${id}: ${status} (${observedBy}) ${problem}`));
      before = commandKeys;
    }
    return wrong;
  }

  quote(transactionId: string, event: QuoteEvent): string[] {
    const { commandKey, quoteId, status } = event.value;
    const isExecuted = EXECUTED_QUOTE.includes(status);
    const due = this.#dueAt(transactionId, event.timestampMs, isExecuted ? Infinity : -Infinity);
    return [
      ...this.#problemsOf(event, commandKey),
      ...(commandKey === null && due.length > 0 ? [`names none of ${due.join()}`] : []),
      ...(commandKey === null || this.#mayName(transactionId, commandKey) ? [] : [`names ${commandKey}`]),
    ].map((problem) => `${quoteId}: ${status} ${problem}`);
  }

  /** Whether the command was accepted well after the named one. */
  #isAfter(key: string, named: string | null): boolean {
    const [ofKey, ofNamed] = [this.#accepted(key), this.#accepted(named ?? '')];
    return ofKey !== undefined && ofNamed !== undefined && ofKey.timestampMs > ofNamed.timestampMs + TOGETHER_MS;
  }

  #accepted(key: string): ResultEvent | undefined {
    return this.#results.get(key)?.find(({ value }) => value.outcome === 'ACCEPTED');
  }

  #problemsOf({ headers }: TransactionEvent | QuoteEvent, commandKey: string | null): string[] {
    const carried = headers['correlation-id'];
    const wanted = commandKey === null ? undefined : this.#evidence.correlationIdOf(commandKey);
    if (commandKey !== null && wanted === undefined) return [];
    return carried === wanted ? [] : [`carries the correlation-id ${carried} beside ${commandKey}`];
  }

  #mayName(id: string, key: string): boolean {
    const isInBooks = this.#acts.get(id)?.some((act) => act.key === key) ?? false;
    return isInBooks || this.#claims.get(id)?.has(key) === true;
  }

  /** Commands that the event must name, because it shows their effects. */
  #dueAt(id: string, writtenMs: number, shownMs: number): string[] {
    const shown = (this.#acts.get(id) ?? []).filter(({ atMs }) => atMs <= shownMs);
    return shown.filter((act) => this.#isDue(act, writtenMs)).map(({ key }) => key);
  }

  #isDue({ atMs, key, operation, transactionId }: Act, writtenMs: number): boolean {
    const accepted = this.#accepted(key);
    // If an answer was lost and the repeated call made a second transaction, nobody can know who made the first.
    const isNamed = this.#claims.get(transactionId)?.has(key) === true;
    if (accepted === undefined || (MAKES.includes(operation) && !isNamed)) return false;
    const { heldForMsMax } = this.#evidence;
    const wasHeld = writtenMs - atMs < heldForMsMax;
    // An event soon after the result may report what was observed before it.
    const wasKnown = accepted.timestampMs + heldForMsMax <= writtenMs;
    // Events are held only for a command's first result; an operator's decision comes later.
    return wasKnown || (wasHeld && accepted.value.revision === 1);
  }
}

/** The command's key for an idempotency key; the execution of a quote uses a key with a suffix. */
export function commandKeyOf(key: string): string {
  return key.endsWith(EXECUTE_SUFFIX) ? key.slice(0, -EXECUTE_SUFFIX.length) : key;
}
