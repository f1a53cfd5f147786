/**
 * The inputs of a lane, and how far each has been admitted: one inbox per command topic, one each for decisions, holds
 * and observations.
 */
import { readMessage, type Intake, type CommandPlace } from '../../consumers/command-intake.ts';
import { readDecision, type DecisionIntake } from '../../consumers/decision-intake.ts';
import { readHold, type HoldIntake } from '../../consumers/hold-intake.ts';
import type { BatchReply, FetchedBatch, FilteredRecords } from '../../consumers/group-member.ts';
import { Inbox, type Unavailable } from '../../consumers/inbox.ts';
import type { InputMessage } from '../../consumers/input-message.ts';
import type { Place } from '../../consumers/message-origin.ts';
import type { TopicStart } from '../../consumers/topic-offsets.ts';
import type { EpochSpan, PositionRecord } from '../../ledger/ledger-records.ts';
import type { CarefulReading } from './careful-reading.ts';
import { EpochTrails } from './epoch-trails.ts';
import type { HoldStop } from './holds.ts';
import { lastingJump, startPositions } from './input-positions.ts';
import type { Reading } from './input-watch.ts';
import { ObservationReader, type ObservationItem } from './observations.ts';
import { LaneStoppedError, type AdmissionCause, type InputName, type InputStatus } from '../lane-status.ts';
import type { LaneParts } from '../parts.ts';
import { takeFrom, type Input, type InputHandler } from './taking.ts';
import { halfwayMs, type LaneTransaction } from '../commits/transaction.ts';

/** Handlers for the messages of each input. */
export interface InputHandlers {
  readonly commands: InputHandler<Intake, AdmissionCause, CommandPlace>;
  readonly decisions: InputHandler<DecisionIntake, never>;
  readonly holds: InputHandler<HoldIntake, HoldStop>;
  readonly observations: InputHandler<ObservationItem, never>;
}

/** How long observations wait to share a commit. Each commit costs the same, and nobody waits for an observation. */
const OBSERVATIONS_WAIT_MS = 100;
/** After this time the lane commits its position past records that readers never get, even without other work. */
const AHEAD_MS_MAX = 10_000;

type AnyInbox = Inbox<Intake> | Inbox<DecisionIntake> | Inbox<HoldIntake> | Inbox<ObservationItem>;

export class Inputs {
  readonly #parts: LaneParts;
  readonly #commands: Input<Intake, CommandPlace>[];
  readonly #decisions: Input<DecisionIntake>;
  readonly #holds: Input<HoldIntake>;
  readonly #observations: Input<ObservationItem>;
  /** Null: no observation waits. Kept when it has fired, until none waits. */
  #observationsTimer: NodeJS.Timeout | null = null;
  #haveObservationsWaited = false;
  readonly #wake: () => void;
  /** Null: messages are read as they come. */
  #careful: CarefulReading | null = null;
  #positions = new Map<string, bigint>();
  /** Topic ids that the positions belong to. */
  #topicIds: Readonly<Record<string, string>> = {};
  readonly #epochs = new EpochTrails();
  /** Whether the ledger has recorded `#topicIds`. */
  #isBound = true;
  /** Since when an input has been ahead of the ledger's position, on the monotonic clock; null: none is. */
  #aheadSinceMs: number | null = null;
  /** The command topic to admit from first: each in turn, so that none starves the others. */
  #turn = 0;

  constructor(parts: LaneParts, wake: () => void) {
    this.#parts = parts;
    this.#wake = wake;
    const { lane, topics } = parts;
    const inputOf = <Item extends { readonly kind: string }, At extends Place>(
      place: At,
      read: (message: InputMessage) => Item | Unavailable | Promise<Item | Unavailable>,
      onOffered = wake,
    ): Input<Item, At> => {
      const { topic } = place;
      const inbox = new Inbox({
        topic,
        lane,
        read,
        wake: onOffered,
        onRedelivered: (messages) => parts.reports.redelivered(messages),
        seek: (offset) => parts.member.seek(topic, lane, offset),
        resume: () => parts.member.resume(topic, lane),
      });
      return { place, inbox };
    };
    this.#commands = parts.commandTypes.map((type) => {
      const place = { topic: topics.commands[type], lane, commandType: type };
      return inputOf<Intake, CommandPlace>(place, (message) =>
        readMessage(parts.intake, place, message, parts.clock.nowMs()),
      );
    });
    const decisions = { topic: topics.operatorDecisions, lane };
    this.#decisions = inputOf<DecisionIntake, Place>(decisions, (message) =>
      readDecision(parts.intake, decisions, message),
    );
    const holds = { topic: topics.operatorHolds, lane };
    this.#holds = inputOf<HoldIntake, Place>(holds, (message) => readHold(holds, parts.laneCount, message));
    const observations = { topic: topics.observations, lane };
    const observationReader = new ObservationReader(parts);
    this.#observations = inputOf<ObservationItem, Place>(
      observations,
      (message) => observationReader.read(observations, message),
      () => this.#beginObservationsWait(),
    );
  }

  /** The bounds of each input's partition, its topic's id, and the group's offset, by topic. */
  async starts(): Promise<Map<string, TopicStart>> {
    const { lane, offsets } = this.#parts;
    const startOf = async (topic: string): Promise<[string, TopicStart]> => [topic, await offsets.startOf(topic, lane)];
    return new Map(await Promise.all(this.#all().map(({ topic }) => startOf(topic))));
  }

  /**
   * Where each input continues: at the ledger's position, or at the beginning if it was never read. Waits out transient
   * faults of the brokers.
   * @param starts read before the lane was taken: later the group's offsets may show another owner's progress
   * @param isWanted whether we still want the lane
   * @throws LaneStoppedError when messages or the ledger were lost
   */
  async startPositions(
    starts: ReadonlyMap<string, TopicStart>,
    recorded: PositionRecord | undefined,
    isWanted: () => boolean,
  ): Promise<Map<string, bigint>> {
    const positions = startPositions(this.#parts, starts, recorded);
    const jump = await lastingJump(this.#parts, { starts, startsNow: () => this.starts(), recorded, isWanted });
    if (jump !== null) throw new LaneStoppedError(jump.reason);
    this.#bind(starts, recorded);
    this.#epochs.open(recorded?.epochs ?? {});
    return positions;
  }

  /** Uses the brokers' current ids for topics whose ids the ledger does not have yet. */
  #bind(starts: ReadonlyMap<string, TopicStart>, recorded: PositionRecord | undefined): void {
    const { ledgerTopicId, topics } = this.#parts;
    const present = [...starts].map(([topic, { topicId }]): [string, string | null] => [topic, topicId]);
    const unbound = [...present, [topics.ledger, ledgerTopicId()] as const].flatMap(([topic, id]) =>
      id === null || recorded?.topicIds[topic] !== undefined ? [] : [[topic, id] as const],
    );
    this.#isBound = unbound.length === 0;
    this.#topicIds = { ...recorded?.topicIds, ...Object.fromEntries(unbound) };
  }

  topicIds(): Readonly<Record<string, string>> {
    return this.#topicIds;
  }

  /** @param positions to be written with the next position record */
  epochs(positions: ReadonlyMap<string, bigint>): PositionRecord['epochs'] {
    return this.#epochs.upTo(positions);
  }

  epochHeld(topic: string, span: EpochSpan): void {
    this.#epochs.held(topic, span);
  }

  /** Where the topic is read next; null: not at all. */
  reading(topic: string): Reading | null {
    const offset = this.#inboxOf(topic)?.expected() ?? null;
    return offset === null ? null : { offset, boundId: this.#topicIds[topic], span: this.#epochs.first(topic) };
  }

  /** @param careful null: messages are read as they come */
  open(positions: Map<string, bigint>, careful: CarefulReading | null): void {
    this.#positions = positions;
    this.#aheadSinceMs = null;
    this.#careful = careful;
    for (const { topic, inbox } of this.#all()) inbox.open(positions.get(topic) ?? 0n);
  }

  rejoin(): void {
    for (const { inbox } of this.#all()) inbox.rejoin();
  }

  close(): void {
    this.#endObservationsWait();
    for (const { inbox } of this.#all()) inbox.close();
  }

  offer(batch: FetchedBatch): BatchReply {
    const inbox = this.#inboxOf(batch.topic);
    if (inbox === undefined) return 'not-now';
    const before = inbox.expected();
    const reply = inbox.offer(batch);
    this.#noteEpoch(batch, before, inbox.expected());
    return reply;
  }

  passFiltered(filtered: FilteredRecords): void {
    const inbox = this.#inboxOf(filtered.topic);
    if (inbox === undefined) return;
    const before = inbox.expected();
    inbox.passFiltered(filtered);
    this.#noteEpoch(filtered, before, inbox.expected());
  }

  /** Records the leader epoch of a fetch, if it advanced its input. */
  #noteEpoch(
    { leaderEpoch, topic }: FilteredRecords | FetchedBatch,
    before: bigint | null,
    after: bigint | null,
  ): void {
    if (before !== null && after !== null && after > before) this.#epochs.read(topic, leaderEpoch, after);
  }

  /**
   * Adds to the transaction the messages that may be admitted.
   * @param untilMs of the monotonic clock
   * @returns by command topic, why the rest must wait
   */
  admit(handlers: InputHandlers, transaction: LaneTransaction, untilMs: number): Map<string, AdmissionCause> {
    const causes = new Map<string, AdmissionCause>();
    // Until the ids are bound, a recreated topic would look like the one that we read.
    if (!this.#isBound || this.#hasBeenAheadTooLong()) transaction.commitAnyway();
    transaction.beginPhase(untilMs);
    this.#take(transaction, this.#holds, handlers.holds);
    this.#take(transaction, this.#decisions, handlers.decisions);
    // Commands get their own share of the time, because there may be many observations.
    transaction.beginPhase(halfwayMs(this.#parts.clock.monotonicMs(), untilMs));
    if (!transaction.isEmpty() || this.#haveObservationsWaited) this.#takeObservations(handlers, transaction);
    transaction.beginPhase(untilMs);
    this.#turn += 1;
    for (let index = 0; index < this.#commands.length; index += 1) {
      const command = this.#commands[(this.#turn + index) % this.#commands.length];
      if (command === undefined) continue;
      const cause = this.#take(transaction, command, handlers.commands);
      if (cause !== null) causes.set(command.place.topic, cause);
    }
    if (!transaction.isEmpty()) this.#takeObservations(handlers, transaction);
    return causes;
  }

  #take<Item extends { readonly kind: string }, Stop, At extends Place>(
    transaction: LaneTransaction,
    input: Input<Item, At>,
    handler: InputHandler<Item, Stop, At>,
  ): Stop | 'failed' | null {
    const stop = takeFrom(this.#parts, this.#careful, transaction, input, handler);
    input.inbox.makeRoom();
    return stop;
  }

  /** Whether the lane has taken all hold orders before the offset. */
  hasHoldsBefore(offset: bigint): boolean {
    return (this.#holds.inbox.position() ?? -1n) >= offset;
  }

  /** Offsets of all inputs, as last committed. */
  positions(): ReadonlyMap<string, bigint> {
    return this.#positions;
  }

  /**
   * Offsets of all inputs after a transaction. They pass records that readers never get (aborted ones, Kafka's
   * markers). Otherwise, once retention deletes those records, they would look like lost messages.
   * @param handled offsets after the messages of the transaction
   */
  next(handled: ReadonlyMap<string, bigint>): ReadonlyMap<string, bigint> {
    const passed = this.#all().flatMap(({ inbox, topic }) => {
      const position = inbox.position();
      return position === null ? [] : [[topic, position] as const];
    });
    const next = new Map(this.#positions);
    for (const [topic, position] of [...handled, ...passed])
      if (position > (next.get(topic) ?? -1n)) next.set(topic, position);
    return next;
  }

  /**
   * @param positions the ledger's positions now
   * @returns the positions that have changed
   */
  moved(positions: ReadonlyMap<string, bigint>): [topic: string, position: bigint][] {
    const moved = [...positions].filter(([topic, position]) => position !== this.#positions.get(topic));
    this.#isBound = true;
    this.#aheadSinceMs = null;
    this.#positions = new Map(positions);
    this.#careful?.committed(this.#positions);
    if (this.#careful?.isOver() === true) this.#careful = null;
    return moved;
  }

  status(causes: ReadonlyMap<string, AdmissionCause>): InputStatus[] {
    return this.#all().map(({ topic, name, inbox }) => {
      const { buffered, oldestTimestampMs, highWatermark, problem } = inbox.status();
      const cause = problem === null ? (causes.get(topic) ?? null) : 'registry';
      // Not the committed position: it stands still while we pass only records that readers never get.
      const position = inbox.position();
      return { topic, name, buffered, oldestTimestampMs, position, highWatermark, cause, problem };
    });
  }

  #takeObservations({ observations }: InputHandlers, transaction: LaneTransaction): void {
    this.#take(transaction, this.#observations, observations);
    if (this.#observations.inbox.head() === undefined) this.#endObservationsWait();
  }

  #beginObservationsWait(): void {
    this.#observationsTimer ??= setTimeout(() => {
      this.#haveObservationsWaited = true;
      this.#wake();
    }, OBSERVATIONS_WAIT_MS);
  }

  #endObservationsWait(): void {
    if (this.#observationsTimer !== null) clearTimeout(this.#observationsTimer);
    this.#observationsTimer = null;
    this.#haveObservationsWaited = false;
  }

  #hasBeenAheadTooLong(): boolean {
    const isAhead = this.#all().some(
      ({ inbox, topic }) => (inbox.position() ?? 0n) > (this.#positions.get(topic) ?? 0n),
    );
    const nowMs = this.#parts.clock.monotonicMs();
    this.#aheadSinceMs = isAhead ? (this.#aheadSinceMs ?? nowMs) : null;
    return this.#aheadSinceMs !== null && nowMs - this.#aheadSinceMs >= AHEAD_MS_MAX;
  }

  #inboxOf(topic: string): AnyInbox | undefined {
    return this.#all().find((input) => input.topic === topic)?.inbox;
  }

  #all(): { topic: string; name: InputName; inbox: AnyInbox }[] {
    return [
      ...this.#commands.map(({ inbox, place }) => ({ topic: place.topic, name: place.commandType, inbox })),
      { topic: this.#decisions.place.topic, name: 'operator-decision', inbox: this.#decisions.inbox },
      { topic: this.#holds.place.topic, name: 'operator-hold', inbox: this.#holds.inbox },
      { topic: this.#observations.place.topic, name: 'observation', inbox: this.#observations.inbox },
    ];
  }
}
