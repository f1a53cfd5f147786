/**
 * Judges a history by the topics and by the service's own books: the promises of a chaos run
 * (proofs/chaos/chaos-judgement.ts), and those that need the whole ledger.
 */
import type { CommandType } from 'payment-processor-contract/commands';
import { decodeEntry } from '../../src/ledger/entry-record.ts';
import {
  ownerRecords,
  positionRecords,
  ENTRY_PREFIX,
  OWNER_KEY,
  POSITION_KEY,
} from '../../src/ledger/ledger-records.ts';
import { laneOf } from 'payment-processor-contract/keys';
import { recordOfTopic, type TopicNames } from 'payment-processor-contract/topics';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { ChaosCommand, Plan } from '../chaos/chaos-commands.ts';
import { judgeAnswered, judgeChaos } from '../chaos/chaos-judgement.ts';
import { judgeNamedCommands } from '../chaos/named-commands.ts';
import { underWayAtKills } from '../chaos/under-way.ts';
import type { QuoteEvent, ResultEvent, TransactionEvent } from '../../test/support/journal.ts';
import type { Disturbance } from './disturbances.ts';
import { carriedOut, judgeDecided, unsettled } from './decided-judgement.ts';
import type { ConfirmedHold } from './holders.ts';
import type { GivenDecision } from './operators.ts';
import { correlationIdOf } from '../../test/support/commands.ts';
import { lanesOf } from './publishers.ts';
import { NO_POISON, type PutPoison } from '../chaos/poison-load.ts';
import { KINDS, POISON_PREFIX } from './poison.ts';
import type { SimulatedBroker } from './simulated-broker.ts';
import type { StoredRecord } from './simulated-log.ts';
import { resultName, type SimulatedFleet } from './simulated-fleet.ts';
import { eventValue } from './simulated-registry.ts';
import type { SimulatedService } from './simulated-service.ts';
import { judgeStores } from './store-judgement.ts';

export interface ReadHistory {
  readonly results: readonly ResultEvent[];
  readonly transactionEvents: readonly TransactionEvent[];
  readonly quoteEvents: readonly QuoteEvent[];
  readonly deadLetters: readonly TopicRecord[];
  readonly ledger: readonly TopicRecord[];
}

export interface JudgedHistory {
  readonly topics: TopicNames;
  readonly plan: Plan;
  readonly read: ReadHistory;
  readonly broker: Pick<SimulatedBroker, 'seemedShort'>;
  readonly service: SimulatedService;
  readonly fleet: Pick<SimulatedFleet, 'counted' | 'failures' | 'stores'>;
  readonly laneCount: number;
  readonly honourKeys: readonly CommandType[];
  /** The longest time that the poller waits for a command in doubt. */
  readonly heldForMsMax: number;
  /** Lanes that wait for an operator at the end, and why. */
  readonly stoppedLanes: ReadonlyMap<number, string>;
  readonly decisions: readonly GivenDecision[];
  readonly holds: readonly ConfirmedHold[];
  readonly disturbed: ReadonlySet<Disturbance>;
  /** When all processors went down for longer than transaction states are remembered; Infinity: never. */
  readonly absentFromMs: number;
  /** The poison that was published. */
  readonly poison: readonly PutPoison[];
  /** Lanes from which an administrator removed messages. */
  readonly jumpedLanes: ReadonlySet<number>;
}

/** Without operators, poison and other disturbances. */
const CALM = {
  decisions: [],
  holds: [],
  disturbed: new Set<Disturbance>(),
  absentFromMs: Infinity,
  poison: [],
  jumpedLanes: new Set<number>(),
};
export type GivenHistory = Omit<JudgedHistory, keyof typeof CALM> & Partial<Pick<JudgedHistory, keyof typeof CALM>>;

/** A member that was counted out may begin calls until its last heartbeat is older than the session timeout. */
const SESSION_TIMEOUT_MS = 6_000;
/** From the writing of an owner record until it can be read. */
const MARKER_MS = 2_000;

export function readHistory(broker: SimulatedBroker, topics: TopicNames): ReadHistory {
  const records = (topic: string): TopicRecord[] =>
    broker
      .logs(topic)
      .flatMap((log, partition) => log.committed().map((record) => topicRecord(topic, partition, record)));
  const schemas = recordOfTopic(topics);
  const events = (topic: string, kind: string): unknown[] =>
    records(topic).map(({ headers, key, offset, partition, timestampMs, value }) => ({
      kind,
      topic,
      partition,
      offset,
      timestampMs,
      key: key?.toString() ?? '',
      id: headers['ce_id'] ?? null,
      headers,
      value: eventValue(schemas, topic, value ?? Buffer.alloc(0)),
    }));
  return {
    results: events(topics.results, 'result') as ResultEvent[],
    transactionEvents: events(topics.transactionStatusChanged, 'transaction-status') as TransactionEvent[],
    quoteEvents: events(topics.quoteStatusChanged, 'quote-status') as QuoteEvent[],
    deadLetters: records(topics.deadLetters),
    ledger: records(topics.ledger),
  };
}

export function judgeHistory(given: GivenHistory): {
  wrong: string[];
  outcomes: Record<string, number>;
} {
  const history: JudgedHistory = { ...CALM, ...given };
  const { fleet, honourKeys, poison, service } = history;
  const { decisions, plan, read } = withoutExcused(history);
  const carried = carriedOut(decisions, read.deadLetters);
  const decided = Map.groupBy(carried, ({ key }) => key);
  const isDecided = ({ key }: { key: string }): boolean => decided.has(key);
  const put = judgedPoison(history, isDecided);
  const isPut = new Set(put.map((one) => one.poison.key));
  const isJudged = (key: string): boolean => !decided.has(key) && (!key.startsWith(POISON_PREFIX) || isPut.has(key));
  const { wrong, outcomes } = judgeChaos({
    ...read,
    results: read.results.filter(({ key }) => isJudged(key)),
    // A poller that reads the last minutes again may announce a forgotten transaction again.
    transactionEvents: read.transactionEvents.filter(({ timestampMs }) => timestampMs < history.absentFromMs),
    quoteEvents: read.quoteEvents.filter(({ timestampMs }) => timestampMs < history.absentFromMs),
    deadLetters: read.deadLetters.filter(
      ({ headers, key }) => headers['dlq-reason'] !== 'REFUSED_DECISION' && isJudged(key?.toString() ?? ''),
    ),
    plan: {
      commands: plan.commands.filter((command) => !isDecided(command)).map((command) => withAge(command, history)),
      messages: plan.messages.filter(({ command }) => !isDecided(command)),
    },
    honourKeys,
    unreadableEvents: 0,
    effects: service.state.effects(),
    books: service.state.books(),
    underWayAtKills: underWayAtKills(read.ledger),
    unclearKeys: service.unclearCommandKeys(),
    wasCutAround: () => false,
    // A look-up uses the clock of the process that sent the call.
    mayBeUnfound: history.disturbed.has('unfound') || history.disturbed.has('clocks'),
    poison: { ...NO_POISON, put, besidesAccepted: ['REFUSED', 'EXPIRED', 'UNKNOWN'] },
    residentMiBMax: new Map(),
    badStops: [],
  });
  const ofDecided = plan.commands
    .filter(isDecided)
    .flatMap((command) => judgeDecided(command, decided.get(command.key) ?? [], read.results, service.state));
  const messages = plan.messages.filter(({ command }) => isDecided(command));
  return {
    wrong: [
      ...wrong,
      ...ofDecided,
      ...judgeAnswered(messages, read.results),
      ...judgeStops(history),
      ...judgeCounted(history),
      // Poison may make our own code fail; then the message is set aside.
      ...(poison.length > 0 ? [] : fleet.failures),
      ...judgeLedger(read.ledger),
      ...judgeStores(fleet.stores(), history.read.ledger),
      ...judgeCalls(history),
      ...judgeHeld(history),
      ...judgeNames(history),
    ],
    outcomes,
  };
}

/** Leaves out what has no answer in lanes that wait for an operator. */
function withoutExcused({
  decisions,
  laneCount,
  plan,
  read,
  stoppedLanes,
  topics,
}: JudgedHistory): Pick<JudgedHistory, 'decisions' | 'plan' | 'read'> {
  const answered = new Set(read.results.map(({ headers }) => headers['in-reply-to']));
  const unanswered = plan.messages.filter(
    ({ id, ...message }) => !answered.has(id) && lanesOf(message, laneCount).some((lane) => stoppedLanes.has(lane)),
  );
  const taken = decisions.filter(
    ({ offset, partition }) =>
      !stoppedLanes.has(partition) || offset < takenUpTo(read.ledger, partition, topics.operatorDecisions),
  );
  // Decisions that were begun in these lanes have no result either.
  const leftOpen = unsettled(taken, read).filter(({ partition }) => stoppedLanes.has(partition));
  const excused = new Set([...unanswered.map(({ command }) => command.key), ...leftOpen.map(({ key }) => key)]);
  const isJudged = (key: string): boolean => !excused.has(key);
  return {
    decisions: taken.filter((decision) => !leftOpen.includes(decision)),
    plan: {
      commands: plan.commands.filter(({ key }) => isJudged(key)),
      messages: plan.messages.filter(({ command }) => isJudged(command.key)),
    },
    read: {
      ...read,
      results: read.results.filter(({ key }) => isJudged(key)),
      deadLetters: read.deadLetters.filter(({ key }) => isJudged(key?.toString() ?? '')),
    },
  };
}

/** The next offset of a lane in a topic, by the lane's last position. */
function takenUpTo(ledger: readonly TopicRecord[], lane: number, topic: string): bigint {
  const isPosition = ({ key, partition, value }: TopicRecord): boolean =>
    partition === lane && key?.toString() === POSITION_KEY && value !== null;
  const value = ledger.findLast(isPosition)?.value ?? null;
  return (value === null ? undefined : positionRecords.decode(value).next[topic]) ?? 0n;
}

/** From a page of the poller until its events are written. */
const PUBLISHED_MS_MAX = 10_000;

/**
 * Judges the command keys of all events from before transactions may be forgotten. While the ledger seems to end too early, the
 * poller may not know that an intent was written.
 */
function judgeNames({ absentFromMs, broker, heldForMsMax, plan, read, service, topics }: JudgedHistory): string[] {
  const isJudged = ({ timestampMs }: TransactionEvent | QuoteEvent): boolean =>
    timestampMs < absentFromMs && !broker.seemedShort(topics.ledger, timestampMs, PUBLISHED_MS_MAX);
  const commands = new Map(plan.commands.map((command) => [command.key, command]));
  return judgeNamedCommands({
    transactionEvents: read.transactionEvents.filter(isJudged),
    quoteEvents: read.quoteEvents.filter(isJudged),
    results: read.results,
    acts: service.state.effectLog.map((effect) => ({ ...effect, atMs: Math.floor(effect.atMs) })),
    subjectOf: (key) => transactionAmong(commands.get(key)?.fields ?? {}),
    correlationIdOf: (key) => (commands.has(key) ? correlationIdOf(key) : undefined),
    heldForMsMax,
  });
}

function transactionAmong(fields: object): string | null {
  return 'transactionId' in fields && typeof fields.transactionId === 'string' ? fields.transactionId : null;
}

/** A lane may wait for an operator only if messages were removed from it. */
function judgeStops({ jumpedLanes, stoppedLanes }: JudgedHistory): string[] {
  return [...stoppedLanes]
    .filter(([lane]) => !jumpedLanes.has(lane))
    .map(([lane, reason]) => `lane ${lane} stopped without need: ${reason}`);
}

/** A result that is counted without a commit, or twice, makes the metrics too high. */
function judgeCounted({ fleet: { counted }, read }: JudgedHistory): string[] {
  const written = Map.groupBy(
    read.results.filter(({ headers }) => headers['replayed'] === undefined),
    ({ value }) => resultName(value),
  );
  return [...counted]
    .filter(([name, count]) => count > (written.get(name)?.length ?? 0))
    .map(([name, count]) => `${name}: counted ${count} times, written ${written.get(name)?.length ?? 0} times`);
}

/** Poison without a decision on it, except what has no answer in lanes that wait for an operator. */
function judgedPoison(
  { laneCount, poison, read, stoppedLanes }: JudgedHistory,
  isDecided: (of: { key: string }) => boolean,
): PutPoison[] {
  const answered = new Set(read.results.map(({ key }) => key));
  // Poison that must be moved is first in another lane, which may be any of the stopped ones.
  const isInStoppedLane = ({ kind, poison: { key } }: PutPoison): boolean =>
    kind.partition === 'other' ? stoppedLanes.size > 0 : stoppedLanes.has(laneOf(key ?? '', laneCount));
  return poison.filter((one) => {
    const key = one.poison.key ?? '';
    return !isDecided({ key }) && (answered.has(key) || !isInStoppedLane(one));
  });
}

/**
 * Which commands may become too old, and so EXPIRED:
 * - a command whose doubt a repeated call settles, if the service then answers HTTP 409, as for an expired quote
 * - any command, if a clock is wrong or if the service makes all calls wait
 * - any command, if brokers refuse several messages: the lane is opened four times for each
 * - any command, if markers come up to a minute late: a lane that two processes take in turn waits for several
 */
function withAge(command: ChaosCommand, { disturbed, honourKeys, poison }: JudgedHistory): ChaosCommand {
  const areSeveralRefused = poison.filter(({ kind }) => kind === KINDS['poison-refused']).length > 1;
  if (areSeveralRefused || (['clocks', 'masses', 'coordinator'] as const).some((kind) => disturbed.has(kind)))
    return { ...command, hasExpiry: true, allowed: [...command.allowed, 'EXPIRED'] };
  const operation = command.type === 'immediate-quote' ? 'execute-quote' : command.commandType;
  const isOneShot = operation === 'execute-quote' || operation === 'reject-transaction';
  return isOneShot && honourKeys.includes(operation) ? { ...command, hasExpiry: true } : command;
}

/** From an owner's record to its last commit, only that owner commits. Positions never step back. */
function judgeLedger(ledger: readonly TopicRecord[]): string[] {
  const wrong = [...Map.groupBy(ledger, ({ partition }) => partition)].flatMap(([lane, records]) =>
    judgeOwners(lane, records),
  );
  const positions = new Map<string, bigint>();
  for (const { key, offset, partition, value } of ledger) {
    if (value === null || key?.toString() !== POSITION_KEY) continue;
    const { next } = positionRecords.decode(value);
    for (const [topic, position] of Object.entries(next)) {
      const name = `${topic}/${partition}`;
      if (position < (positions.get(name) ?? 0n))
        wrong.push(`${name}: the position steps back to ${position} at ${offset}`);
      positions.set(name, position);
    }
  }
  return wrong;
}

/** An owner that had to fence another first did not open the lane, and has no commits. */
function judgeOwners(lane: number, records: readonly TopicRecord[]): string[] {
  const began = new Map<string, bigint>();
  const commits: { token: string; offset: bigint }[] = [];
  for (const { key, offset, value } of records) {
    if (value === null) continue;
    if (key?.toString() === OWNER_KEY) began.set(ownerRecords.decode(value).token, offset);
    if (key?.toString() === POSITION_KEY) commits.push({ token: positionRecords.decode(value).token, offset });
  }
  return commits.flatMap(({ offset, token }) => {
    const from = began.get(token);
    if (from === undefined) return [`lane ${lane}: a commit of nobody's at ${offset}`];
    const other = commits.find((commit) => commit.token !== token && commit.offset > from && commit.offset < offset);
    return other === undefined ? [] : [`lane ${lane}: a commit of a former owner at ${other.offset}`];
  });
}

/** A process sends a call only after committing its intent, and not long after another process took the lane. */
function judgeCalls({ decisions, laneCount, read, service }: JudgedHistory): string[] {
  const owners = new Map<number, { processId: string; token: string; atMs: number }[]>();
  /** When each owner first committed, by token: until then, previous owners may go on. */
  const workingFromMs = new Map<string, number>();
  const intents = new Map<string, { processId: string; atMs: number }[]>();
  for (const { key, partition, timestampMs, value } of read.ledger) {
    if (key === null || value === null) continue;
    const name = key.toString();
    if (name === OWNER_KEY) {
      const { processId, token } = ownerRecords.decode(value);
      owners.set(partition, [...(owners.get(partition) ?? []), { processId, token, atMs: timestampMs }]);
    } else if (name === POSITION_KEY) {
      const { token } = positionRecords.decode(value);
      if (!workingFromMs.has(token)) workingFromMs.set(token, timestampMs);
    } else if (name.startsWith(ENTRY_PREFIX)) {
      const { key: command, phase } = decodeEntry(value);
      if (phase.state !== 'INTENT') continue;
      intents.set(command, [...(intents.get(command) ?? []), { processId: phase.processId, atMs: timestampMs }]);
    }
  }
  // An operator's decision that nothing took effect may be wrong.
  const decidedKeys = new Set(decisions.map(({ key }) => key));
  const overlaps = service.overlaps.filter((key) => !decidedKeys.has(key));
  const wrong = overlaps.map((key) => `${key}: called while an earlier call of it was on its way`);
  for (const { atMs, key, processId } of service.sendings) {
    const isIntended =
      intents.get(key)?.some((intent) => intent.processId === processId && intent.atMs <= atMs) ?? false;
    if (!isIntended) wrong.push(`${key}: called without a committed intent`);
    const taken = owners.get(laneOf(key, laneCount)) ?? [];
    const ownIndex = taken.findLastIndex((owner) => owner.processId === processId && owner.atMs <= atMs);
    const takenMs = workingFromMs.get(taken[ownIndex + 1]?.token ?? '') ?? Infinity;
    if (takenMs + SESSION_TIMEOUT_MS + MARKER_MS < atMs)
      wrong.push(`${key}: called ${Math.round(atMs - takenMs)} ms after the lane was taken over`);
  }
  return wrong;
}

/** Once every lane has confirmed a hold, no call that it covers may begin. */
function judgeHeld({ holds, plan, service }: JudgedHistory): string[] {
  const commands = new Map(plan.commands.map((command) => [command.key, command]));
  return service.sendings.flatMap(({ atMs, key }) => {
    const command = commands.get(key);
    if (command === undefined) return [];
    const types = [command.commandType, ...(command.type === 'immediate-quote' ? ['execute-quote'] : [])];
    const hold = holds.find(
      ({ commandTypes, fromMs, untilMs }) =>
        fromMs < atMs && atMs < untilMs && types.some((type) => commandTypes.includes(type)),
    );
    return hold === undefined ? [] : [`${key}: called ${Math.round(atMs - hold.fromMs)} ms after it was held`];
  });
}

/** The record as readers get it. */
export function topicRecord(
  topic: string,
  partition: number,
  { headers, key, offset, value, writtenMs }: StoredRecord,
): TopicRecord {
  const texts = headers.map(([name, bytes]): [string, string] => [name, bytes?.toString() ?? '']);
  const headerTexts = Object.fromEntries(texts);
  return { topic, partition, offset: BigInt(offset), timestampMs: writtenMs, key, value, headers: headerTexts };
}
