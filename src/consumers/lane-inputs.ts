/**
 * The inputs of a lane: one inbox per command topic, one for decisions, one for observations; and how far each has been admitted.
 *
 * A position that the broker no longer has, or a group that has read on without a ledger, is loss: the lane stops and
 * says so, rather than go on with a gap.
 */
import type { PositionRecord } from '../ledger/ledger-records.ts';
import type { CommandType } from '../records/commands.ts';
import { decodeObservation, ID_LENGTH_MAX } from '../status/observation.ts';
import type { CarefulReading } from './careful-reading.ts';
import { readMessage, setAside, type CommandPlace } from './command-intake.ts';
import type { BatchReply, FetchedBatch } from './group-member.ts';
import { readDecision } from './decision-intake.ts';
import type { InputMessage } from './input-message.ts';
import type { AdmissionCause, CommandItem } from './lane-admission.ts';
import type { DecisionItem } from './lane-decisions.ts';
import type { LaneDesk } from './lane-desk.ts';
import type { ObservationItem } from './lane-status.ts';
import { LaneInbox, type ReadResult } from './lane-inbox.ts';
import { LaneStoppedError, type InputStatus, type LaneParts, type TopicStart } from './lane-parts.ts';
import type { LaneTransaction } from './lane-transaction.ts';
import { letterAside, originalMessage, type Aside, type Place } from './message-origin.ts';

export class LaneInputs {
  readonly #parts: LaneParts;
  readonly #commands: { place: CommandPlace; inbox: LaneInbox<CommandItem> }[];
  readonly #decisions: LaneInbox<DecisionItem>;
  readonly #observations: LaneInbox<ObservationItem>;
  /** Null: messages are read as they come. */
  #careful: CarefulReading | null = null;
  #positions = new Map<string, bigint>();
  /** Which command topic is admitted from first: each in turn, so that none starves the others. */
  #turn = 0;

  constructor(parts: LaneParts, wake: () => void) {
    this.#parts = parts;
    const { lane, topics } = parts;
    const inboxOf = <Item>(
      topic: string,
      read: (message: InputMessage) => Promise<ReadResult<Item>>,
      aside: (message: InputMessage, aside: Aside) => Item,
    ): LaneInbox<Item> =>
      new LaneInbox({
        topic,
        lane,
        read,
        setAside: aside,
        beforeReading: async (offset) => (await this.#careful?.before(topic, offset)) ?? { kind: 'read' },
        failed: (offset, error) => {
          parts.reports.failed(lane, 'reading', error);
          return parts.failures.count(topic, offset);
        },
        wake,
        onRedelivered: parts.onRedelivered,
        seek: (offset) => parts.seek(topic, lane, offset),
        resume: () => parts.resume(topic, lane),
      });
    this.#commands = parts.commandTypes.map((type) => {
      const topic = topics.commands[type];
      const place = { topic, lane, commandType: type };
      const inbox = inboxOf<CommandItem>(
        topic,
        (message) => this.#readCommand(place, message),
        (message, aside) => setAside(parts, place, message, aside, parts.clock.nowMs()),
      );
      return { place, inbox };
    });
    this.#decisions = inboxOf<DecisionItem>(
      topics.operatorDecisions,
      (message) => this.#readDecision(message),
      (message, aside) => ({ kind: 'dead-letter', letter: letterAside(this.#decisionPlace(), message, aside) }),
    );
    this.#observations = inboxOf<ObservationItem>(
      topics.observations,
      async (message) => ({ kind: 'item', item: readObservation(this.#observationPlace(), parts.laneCount, message) }),
      (message, aside) => ({ kind: 'dead-letter', letter: letterAside(this.#observationPlace(), message, aside) }),
    );
  }

  /** Where each input's partition begins, and where the group stands in it. */
  async starts(): Promise<Map<string, TopicStart>> {
    const starts = new Map<string, TopicStart>();
    for (const topic of this.#topics()) starts.set(topic, await this.#parts.topicStart(topic, this.#parts.lane));
    return starts;
  }

  /**
   * Where each input goes on: the ledger's position, or the beginning for one that was never read.
   * @param starts asked for before the lane was taken: what the group committed until then is in the ledger read since
   * @throws LaneStoppedError when messages or the ledger were lost
   */
  startPositions(starts: ReadonlyMap<string, TopicStart>, known: PositionRecord | undefined): Map<string, bigint> {
    const positions = new Map<string, bigint>();
    for (const [topic, { lowOffset, committedOffset }] of starts) {
      const position = known?.next[topic];
      if (position === undefined && committedOffset !== null && committedOffset > lowOffset) {
        throw new LaneStoppedError(
          `${topic}, partition ${this.#parts.lane}: the group has read up to ${committedOffset}, but the ledger has no position: its topic was lost. See the runbook on a lost internal topic`,
        );
      }
      if (position !== undefined && position < lowOffset) {
        throw new LaneStoppedError(
          `${topic}, partition ${this.#parts.lane}: commands from ${position} to ${lowOffset - 1n} were deleted by retention before they were admitted`,
        );
      }
      positions.set(topic, position ?? lowOffset);
    }
    return positions;
  }

  /** @param careful null: messages are read as they come */
  open(positions: Map<string, bigint>, careful: CarefulReading | null): void {
    this.#positions = positions;
    this.#careful = careful;
    for (const { topic, inbox } of this.#all()) inbox.open(positions.get(topic) ?? 0n);
  }

  rejoin(): void {
    for (const { inbox } of this.#all()) inbox.rejoin();
  }

  close(): void {
    for (const { inbox } of this.#all()) inbox.close();
  }

  offer(batch: FetchedBatch): BatchReply {
    return (
      this.#all()
        .find(({ topic }) => topic === batch.topic)
        ?.inbox.offer(batch) ?? 'not-now'
    );
  }

  passFiltered(topic: string, firstOffset: bigint, lastOffset: bigint): void {
    this.#all()
      .find((input) => input.topic === topic)
      ?.inbox.passFiltered(firstOffset, lastOffset);
  }

  /** Puts what may be admitted into the transaction. @returns by topic, why the rest may not */
  async admit(desk: LaneDesk, transaction: LaneTransaction, commit: number): Promise<Map<string, AdmissionCause>> {
    const causes = new Map<string, AdmissionCause>();
    await desk.decisions.resolveFrom(transaction, commit, this.#decisionPlace(), this.#decisions);
    this.#decisions.makeRoom();
    await desk.statusChanges.reduceFrom(transaction, commit, this.#observationPlace(), this.#observations);
    this.#observations.makeRoom();
    this.#turn += 1;
    for (let index = 0; index < this.#commands.length; index += 1) {
      const command = this.#commands[(this.#turn + index) % this.#commands.length];
      if (command === undefined) continue;
      const { inbox, place } = command;
      const cause = await desk.admission.admitFrom(transaction, commit, place, inbox);
      if (cause !== null) causes.set(place.topic, cause);
      if (cause !== null && cause !== 'failed') this.#careful?.declined(place.topic);
      inbox.makeRoom();
    }
    return causes;
  }

  /** Offsets of all inputs, as they were committed last. */
  positions(): ReadonlyMap<string, bigint> {
    return this.#positions;
  }

  moved(positions: ReadonlyMap<string, bigint>): void {
    for (const [topic, position] of positions) this.#positions.set(topic, position);
    this.#careful?.committed(this.#positions);
    if (this.#careful?.isOver() === true) this.#careful = null;
  }

  status(causes: ReadonlyMap<string, AdmissionCause>): InputStatus[] {
    return this.#all().map(({ topic, type, inbox }) => {
      const { held, oldestTimestampMs, highWatermark, problem } = inbox.status();
      const cause = problem === null ? (causes.get(topic) ?? null) : 'registry';
      // Of the inbox: what is committed stands still while only records pass that are not for readers.
      const position = inbox.position();
      return { topic, commandType: type, held, oldestTimestampMs, position, highWatermark, cause, problem };
    });
  }

  #topics(): string[] {
    return this.#all().map(({ topic }) => topic);
  }

  #all(): {
    topic: string;
    type: CommandType | null;
    inbox: LaneInbox<CommandItem> | LaneInbox<DecisionItem> | LaneInbox<ObservationItem>;
  }[] {
    return [
      ...this.#commands.map(({ inbox, place }) => ({ topic: place.topic, type: place.commandType, inbox })),
      { topic: this.#parts.topics.operatorDecisions, type: null, inbox: this.#decisions },
      { topic: this.#parts.topics.observations, type: null, inbox: this.#observations },
    ];
  }

  #decisionPlace(): Place {
    return { topic: this.#parts.topics.operatorDecisions, lane: this.#parts.lane };
  }

  #observationPlace(): Place {
    return { topic: this.#parts.topics.observations, lane: this.#parts.lane };
  }

  async #readDecision(message: InputMessage): Promise<ReadResult<DecisionItem>> {
    const read = await readDecision(this.#parts.intake, this.#decisionPlace(), message);
    return read.kind === 'unavailable' ? read : { kind: 'item', item: read };
  }

  async #readCommand(place: CommandPlace, message: InputMessage): Promise<ReadResult<CommandItem>> {
    const { clock, intake } = this.#parts;
    const read = await readMessage(intake, place, message, clock.nowMs());
    return read.kind === 'unavailable' ? read : { kind: 'item', item: read };
  }
}

function readObservation(place: Place, laneCount: number, message: InputMessage): ObservationItem {
  const observation = message.cut === null ? decodeObservation(message.value) : null;
  const { key } = message;
  if (observation !== null && key !== null && key.length > 0 && key.length <= ID_LENGTH_MAX)
    return { kind: 'observation', id: key.toString(), observation };
  const reason = message.unreadableBatch === null ? 'UNREADABLE' : 'UNREADABLE_BATCH';
  const problem =
    message.unreadableBatch?.problem ?? 'not an observation of the processor, and nobody else writes here';
  return { kind: 'dead-letter', letter: { ...originalMessage(place, laneCount, message), reason, message: problem } };
}
