/**
 * Assembles the state of this process from its parts. For each lane and input it remembers the instants from which ages
 * count: of lag, open transactions and uncommitted work. The numbers of lanes and topics bound this memory.
 */
import type { PaymentApi } from '../api/payment-api.ts';
import type { Clock } from 'payment-processor-contract/clock';
import type { LaneSetStatus } from '../lanes/lane-status.ts';
import type { StartWait } from '../lanes/ownership/start-steps.ts';
import type { KafkaAccess } from '../producers/rights-check.ts';
import { COMMAND_TYPES, isCommandType, type CommandType } from 'payment-processor-contract/commands';
import { readsFrom } from 'payment-processor-contract/kafka/partition-offsets';
import type { RegistryFault } from 'payment-processor-contract/registry';
import type { TopicNames } from 'payment-processor-contract/topics';
import type { LedgerCopy } from '../store/ledger-copy.ts';
import type { Activity } from './activity.ts';
import type { DeadLetterWatch } from './dead-letter-watch.ts';
import { readiness, type Readiness } from './health.ts';
import {
  ageSeconds,
  heldBack,
  inputLag,
  isHanging,
  NO_LAG,
  uncommittedSinceMs,
  type HeldBack,
  type InputLag,
  type KnownOffsets,
} from './lag.ts';
import { ledgerState, operatorHolds, unknownResults } from './ledger-state.ts';
import { memberStates } from './members.ts';
import { oldestUnanswered } from './oldest-unanswered.ts';
import {
  instant,
  serviceState,
  unfinishedStates,
  type Deployment,
  type LaneState,
  type ProcessorState,
  type WaitingElsewhere,
} from './processor-state.ts';
import { TopicEnds, type KnownTopicEnds, type OffsetSource, type TopicAnswer } from './topic-ends.ts';

export interface StateReaderOptions {
  readonly deployment: Deployment;
  readonly lanes: {
    readonly offsets: OffsetSource;
    readonly ledger: Pick<LedgerCopy, 'status'>;
    status(): LaneSetStatus;
  };
  readonly api: Pick<PaymentApi, 'snapshot'>;
  /** What startup waits for; null: nothing, or startup is over. */
  readonly starting: () => StartWait | null;
  /** The last finding; asks nobody. */
  readonly kafkaAccess: () => KafkaAccess;
  /** The last finding; asks nobody. */
  readonly registryFault: () => RegistryFault | null;
  readonly isDraining: () => boolean;
  readonly topics: TopicNames;
  /** Command types that this process serves. */
  readonly commandTypes: readonly CommandType[];
  readonly laneCount: number;
  /** Limit on concurrent calls. */
  readonly callSlots: number;
  /** Limit on admitted commands without a result in each lane. */
  readonly unfinishedMax: number;
  readonly activity: Pick<Activity, 'state'>;
  readonly letters: Pick<DeadLetterWatch, 'isRead' | 'open'>;
  readonly clock: Clock;
}

interface InputMemory {
  readonly lag: InputLag;
  readonly heldBack: HeldBack | null;
}

export class StateReader {
  readonly #options: StateReaderOptions;
  readonly #ends: TopicEnds;
  readonly #memory = new Map<string, InputMemory>();
  /** Open transactions in the ledger, by lane. */
  readonly #ledgerHeldBack = new Map<number, HeldBack>();
  /** Since when a lane with something to commit has committed nothing; by lane. */
  readonly #uncommitted = new Map<number, number>();

  constructor(options: StateReaderOptions) {
    this.#options = options;
    const { clock, commandTypes, lanes, topics } = options;
    const published = [
      ...commandTypes.map((type) => topics.commands[type]),
      topics.operatorDecisions,
      topics.operatorHolds,
    ];
    const asked = {
      published,
      internal: [topics.observations],
      others: [topics.ledger],
      displayed: [topics.deadLetters],
    };
    this.#ends = new TopicEnds(lanes.offsets, asked, clock);
  }

  /** Synchronous: asks no other process. */
  readiness(): Readiness {
    const { api, commandTypes, isDraining, kafkaAccess, lanes, registryFault, starting } = this.#options;
    return readiness({
      isDraining: isDraining(),
      starting: starting(),
      lanes: lanes.status(),
      kafkaAccess: kafkaAccess(),
      registryFault: registryFault(),
      api: api.snapshot(),
      servedOperations: commandTypes,
    });
  }

  /** Settles within about a second, even if Kafka does not answer; a Kafka failure never rejects it. */
  async read(): Promise<ProcessorState> {
    const known = await this.#ends.latest();
    const { activity, api, callSlots, clock, deployment, laneCount, lanes, letters } = this.#options;
    const { kafkaAccess, registryFault, topics, unfinishedMax } = this.#options;
    const status = lanes.status();
    const ledger = lanes.ledger.status();
    const nowMs = clock.nowMs();
    const laneStates = this.#laneStates(status, known, nowMs);
    const ledgerShown = ledgerState(ledger, known.topics.get(topics.ledger)?.ends);
    const holds = operatorHolds(ledger, nowMs);
    const access = kafkaAccess();
    const service = api.snapshot();
    const { ready, reasons } = this.readiness();
    return {
      at: instant(nowMs),
      deployment,
      processId: status.processId,
      ready,
      reasons,
      kafkaRefusal: access.kind === 'refused' ? access.cause : null,
      registryFailure: registryFault()?.failure.kind ?? null,
      isGroupConfirmed: status.isGroupConfirmed,
      service: serviceState(service),
      operations: COMMAND_TYPES.map((operation) => ({ operation, ...service.operations[operation] })),
      lanesConfigured: laneCount,
      lanes: laneStates,
      lagEndsAgeSeconds: known.ageMs / 1000,
      unfinished: unfinishedStates(
        [...status.lanes.values()].flatMap((lane) => lane.entries),
        nowMs,
      ),
      ...oldestUnanswered(status.lanes, laneStates, holds, nowMs),
      callsUnderWay: status.callsRunning,
      callSlots,
      unfinishedMax,
      keysRemembered: status.keysRemembered,
      ledger: ledgerShown,
      members: memberStates(known.members, ledgerShown.owners, status.processId),
      unknownResults: unknownResults(ledger, new Set(status.lanes.keys()), nowMs),
      holds,
      openLetters: letters.open((lane) => known.topics.get(topics.deadLetters)?.ends.get(lane)?.low ?? 0n),
      areLettersRead: letters.isRead(),
      waitingElsewhere: this.#waitingElsewhere(status, known),
      activity: activity.state(),
    };
  }

  #laneStates(status: LaneSetStatus, known: KnownTopicEnds, nowMs: number): LaneState[] {
    const inputs = this.#inputs(status, known, nowMs);
    const uncommitted = this.#uncommittedSince(status, inputs, nowMs);
    const hanging = this.#hangingInLedger(known, nowMs);
    return [...status.lanes].map(([lane, { entries, inputs: read, openedMs, stage, stoppedReason }]) => ({
      lane,
      stage,
      stoppedReason,
      openedAt: stage === 'open' ? instant(openedMs) : null,
      unfinished: entries.length,
      uncommittedSeconds: secondsSince(uncommitted.get(lane), nowMs),
      ledgerHeldBackSeconds: secondsSince(hanging.get(lane)?.sinceMs, nowMs),
      inputs: read.map(({ name, problem, topic }) => {
        const { heldBack: held = null, lag = NO_LAG } = inputs.get(inputName(lane, topic)) ?? {};
        return {
          topic,
          name,
          command: isCommandType(name) ? name : null,
          lagMessages: lag.messages,
          oldestSeconds: lag.oldestSeconds,
          cause: lag.cause,
          problem,
          position: lag.position?.toString() ?? null,
          heldBackMessages: held?.messages ?? 0,
          heldBackSeconds: secondsSince(held?.sinceMs, nowMs),
        };
      }),
    }));
  }

  #inputs(status: LaneSetStatus, known: KnownTopicEnds, nowMs: number): ReadonlyMap<string, InputMemory> {
    const seen = new Set<string>();
    for (const [lane, { stage, inputs }] of status.lanes) {
      for (const input of inputs) {
        const name = inputName(lane, input.topic);
        const { heldBack: held = null, lag = NO_LAG } = this.#memory.get(name) ?? {};
        const answer = known.topics.get(input.topic);
        this.#memory.set(name, {
          lag: inputLag(stage, input, offsetsOf(answer, lane), lag, nowMs),
          heldBack: heldBackIn(answer, lane, held, nowMs - known.ageMs),
        });
        seen.add(name);
      }
    }
    // A lane that moves away and comes back must not bring its old position.
    for (const name of this.#memory.keys()) if (!seen.has(name)) this.#memory.delete(name);
    return this.#memory;
  }

  /** All lanes, not only our own: a hanging transaction keeps any next owner from reading the ledger. */
  #hangingInLedger(known: KnownTopicEnds, nowMs: number): ReadonlyMap<number, HeldBack> {
    const answer = known.topics.get(this.#options.topics.ledger);
    for (const lane of answer?.ends.keys() ?? []) {
      const held = heldBackIn(answer, lane, this.#ledgerHeldBack.get(lane) ?? null, nowMs - known.ageMs);
      if (held === null) this.#ledgerHeldBack.delete(lane);
      else this.#ledgerHeldBack.set(lane, held);
    }
    return new Map([...this.#ledgerHeldBack].filter(([, held]) => isHanging(held, nowMs)));
  }

  #waitingElsewhere(status: LaneSetStatus, known: KnownTopicEnds): WaitingElsewhere[] | null {
    const { commandTypes, topics } = this.#options;
    const waiting: WaitingElsewhere[] = [];
    for (const command of commandTypes) {
      const answer = known.topics.get(topics.commands[command]);
      if (answer === undefined) return null;
      for (const [lane, ends] of answer.ends) {
        if (status.lanes.has(lane)) continue;
        const messages = Number(ends.high - readsFrom(ends, answer.committed?.get(lane)));
        if (messages > 0) waiting.push({ lane, command, messages });
      }
    }
    return waiting;
  }

  #uncommittedSince(
    status: LaneSetStatus,
    inputs: ReadonlyMap<string, InputMemory>,
    nowMs: number,
  ): ReadonlyMap<number, number> {
    const earlier = new Map(this.#uncommitted);
    this.#uncommitted.clear();
    for (const [lane, laneStatus] of status.lanes) {
      const lags = laneStatus.inputs.map(({ topic }) => inputs.get(inputName(lane, topic))?.lag ?? NO_LAG);
      const sinceMs = uncommittedSinceMs(laneStatus, lags, earlier.get(lane) ?? null, nowMs);
      if (sinceMs !== null) this.#uncommitted.set(lane, sinceMs);
    }
    return this.#uncommitted;
  }
}

function heldBackIn(
  answer: TopicAnswer | undefined,
  lane: number,
  earlier: HeldBack | null,
  askedMs: number,
): HeldBack | null {
  const ends = answer?.ends.get(lane);
  const highWatermark = answer?.highWatermarks?.get(lane);
  return ends === undefined || highWatermark === undefined ? null : heldBack(ends, highWatermark, earlier, askedMs);
}

function offsetsOf(answer: TopicAnswer | undefined, lane: number): KnownOffsets {
  const ends = answer?.ends.get(lane);
  if (answer === undefined || ends === undefined) return { endOffset: null, groupOffset: null };
  return {
    endOffset: ends.high,
    groupOffset: answer.committed === null ? null : readsFrom(ends, answer.committed.get(lane)),
  };
}

function secondsSince(sinceMs: number | undefined, nowMs: number): number | null {
  return sinceMs === undefined ? null : ageSeconds(sinceMs, nowMs);
}

function inputName(lane: number, topic: string): string {
  return `${lane} ${topic}`;
}
