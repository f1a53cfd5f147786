/**
 * The transactions of one ownership of a lane, once its ledger has been read.
 *
 *   admitting   each transaction takes events, submissions, due entries, and new messages
 *   draining    the lane is being released: events are still committed, nothing else begins
 *   over        ended or lost; ignores work still under way
 *
 * Owns the memory of unfinished entries, timers, submissions and events. The lane owns the inputs and the writer.
 */
import { aheadMsOf } from 'payment-processor-contract/clock';
import { longestWaitMs, sentEarlier, takenUp } from '../ledger/wrong-clocks.ts';
import type { OutgoingRecord } from '../producers/record-batch.ts';
import type { OwnCommit } from '../store/ledger-reader.ts';
import { AdmittedTime } from './inputs/admitted-time.ts';
import { CommandAdmission } from './inputs/admission.ts';
import { Answers } from './answers.ts';
import { Attempts } from './calls/attempts.ts';
import type { CarefulReading } from './inputs/careful-reading.ts';
import type { CommitReports } from './commits/commit-reports.ts';
import { decisionHandler } from './inputs/decisions.ts';
import { DueTurns } from './due-turns.ts';
import { Holds } from './inputs/holds.ts';
import type { InputHandlers, Inputs } from './inputs/inputs.ts';
import { LaneClock } from './lane-clock.ts';
import type { LaneCommit } from './commits/lane-commit.ts';
import type { AdmissionCause, OpenLaneStatus } from './lane-status.ts';
import type { LaneFiller, LaneWriter } from './commits/lane-writer.ts';
import { Memory } from './memory.ts';
import { observationHandler } from './inputs/observations.ts';
import { Outcomes } from './outcomes.ts';
import type { LaneParts } from './parts.ts';
import { Resting } from './resting.ts';
import { Retention } from './retention.ts';
import { Submissions } from './commits/submissions.ts';
import { Timers } from './timers.ts';
import { halfwayMs, LaneTransaction } from './commits/transaction.ts';
import type { MessagePlace } from './commits/troubles.ts';

/** After this time an idle ownership counts as healthy: it commits its position with nothing else to commit. */
const STEADY_MS = 30_000;

export interface Ownership {
  writer: LaneWriter;
  /** Token of the OWNER record that proved the ownership. */
  token: string;
  /** Null: messages are read as they come. The inputs share this object. */
  careful: CarefulReading | null;
  /** End offset of the topic of operators' holds, read after the lane was taken. */
  holdsEnd: bigint;
}

export class OpenLane implements LaneFiller {
  readonly #parts: LaneParts;
  readonly #inputs: Inputs;
  readonly #commitReports: CommitReports;
  readonly #ownership: Ownership;
  readonly #over = Promise.withResolvers<undefined>();
  readonly #memory: Memory;
  readonly #answers: Answers;
  readonly #handlers: InputHandlers;
  readonly #retention: Retention;
  readonly #timers: Timers;
  readonly #dueTurns: DueTurns;
  readonly #resting: Resting;
  readonly #attempts: Attempts;
  readonly #submissions = new Submissions();
  #stage: 'admitting' | 'draining' | 'over' = 'admitting';
  /** Number of the last committed transaction. */
  #commit = 0;
  /** Filled until it is committed; null: there is nothing to commit. */
  #transaction: LaneTransaction | null = null;
  /** Largest lead of the wall clock over the monotonic one during `#transaction`: a clock set back delays no entry. */
  #aheadMs = -Infinity;
  /** Offsets of all inputs after `#transaction`. */
  #nextPositions: ReadonlyMap<string, bigint> = new Map();
  #causes: ReadonlyMap<string, AdmissionCause> = new Map();
  #isDueFirst = false;
  /** True after a fill that found nothing to commit, until the next commit. */
  #isIdle = false;
  #committedMs: number;
  readonly #beganMonotonicMs: number;
  readonly #laneClock: LaneClock;
  readonly #inputTopics: ReadonlySet<string>;

  constructor(parts: LaneParts, inputs: Inputs, commitReports: CommitReports, ownership: Ownership) {
    this.#parts = parts;
    this.#inputs = inputs;
    this.#commitReports = commitReports;
    this.#ownership = ownership;
    // The OWNER record has just been committed.
    this.#committedMs = parts.clock.nowMs();
    this.#beganMonotonicMs = parts.clock.monotonicMs();
    this.#inputTopics = new Set([...Object.values(parts.topics.commands), parts.topics.operatorDecisions]);
    this.#memory = new Memory(parts.index, parts.lane, ownership.token);
    this.#laneClock = new LaneClock(parts, this.#memory);
    const outcomes = new Outcomes({ ...parts, memory: this.#memory });
    const holds = new Holds({ ...parts, outcomes }, () => inputs.hasHoldsBefore(ownership.holdsEnd));
    const shared = { ...parts, memory: this.#memory, outcomes, holds, laneClock: this.#laneClock };
    this.#answers = new Answers(shared);
    this.#handlers = {
      commands: new CommandAdmission(shared),
      decisions: decisionHandler(shared),
      holds,
      observations: observationHandler(shared),
    };
    const admitted = new AdmittedTime({
      ...parts,
      topics: parts.commandTypes.map((type) => parts.topics.commands[type]),
      positions: () => this.#inputs.positions(),
      brokerMs: () => parts.index.checkpoint(parts.lane).timestampMs,
    });
    this.#retention = new Retention(parts, this.#memory, admitted);
    const wake = (): void => this.wake();
    this.#timers = new Timers(parts.clock, longestWaitMs(parts.policy), wake);
    this.#dueTurns = new DueTurns(this.#timers.due);
    this.#resting = new Resting(parts.commandTypes.length);
    this.#attempts = new Attempts(parts, {
      isCurrent: () => this.#stage !== 'over',
      isOpen: () => this.#stage === 'admitting',
      isHeld: (entry) => holds.refusal(entry) !== null,
      wake,
      present: (committed) => {
        this.#laneClock.look();
        return this.#memory.unfinished.get(committed.key) ?? committed;
      },
    });
    const nowMs = parts.clock.nowMs();
    const behindMs = this.#laneClock.behindMs();
    for (const known of [...this.#memory.unfinished.values()]) {
      const entry = takenUp(sentEarlier(known, behindMs, parts.policy), nowMs, parts.policy);
      this.#memory.putEntry(entry, this.#commit);
      if (entry.phase.state === 'INTENT') this.#attempts.takeUp(entry);
      else this.#timers.set(entry, aheadMsOf(parts.clock));
    }
  }

  /**
   * Fills one transaction after the other.
   * @returns once the ownership is over
   * @throws if a transaction failed: then only the ledger can say whether it was committed
   */
  run(): Promise<undefined> {
    this.#ownership.writer.join(this);
    return this.#over.promise;
  }

  fill(untilMs: number): LaneCommit | null {
    this.#laneClock.look();
    const begun = this.#transaction;
    this.#aheadMs = Math.max(aheadMsOf(this.#parts.clock), begun === null ? -Infinity : this.#aheadMs);
    const transaction = begun ?? this.#begin();
    this.#fill(transaction, untilMs);
    // Last, because retention must not forget a record that this transaction changes.
    if (begun === null && this.#stage === 'admitting') this.#retention.gather(transaction);
    if (transaction.isEmpty()) {
      for (const attemptId of transaction.settledAttempts) this.#parts.calls.settle(attemptId);
      this.#isIdle = this.#resting.mayRest(transaction);
      if (!this.#isIdle) this.#ownership.writer.wake();
      return null;
    }
    const { token } = this.#ownership;
    this.#isIdle = false;
    this.#resting.reset();
    this.#transaction = transaction;
    this.#nextPositions = this.#inputs.next(transaction.positions());
    this.#commitReports.handOver(token, transaction);
    const bound = { topicIds: this.#inputs.topicIds(), epochs: this.#inputs.epochs(this.#nextPositions) };
    return transaction.toCommit({ token, ...bound }, this.#nextPositions);
  }

  committed(own: OwnCommit | null): void {
    const transaction = this.#transaction;
    this.#transaction = null;
    if (this.#stage === 'over' || transaction === null) return;
    const { calls, clock, lane, onMoved, reader } = this.#parts;
    if (own !== null) reader.ownCommitted(lane, own);
    this.#commit = transaction.commit;
    this.#committedMs = clock.nowMs();
    const moved = this.#inputs.moved(this.#nextPositions);
    this.#submissions.committed();
    this.#commitReports.committed(this.#ownership.token, transaction.commit);
    for (const attemptId of transaction.settledAttempts) calls.settle(attemptId);
    for (const entry of transaction.entries()) {
      if (entry.phase.state === 'INTENT') this.#attempts.begin(entry);
      else this.#timers.set(entry, this.#aheadMs);
    }
    if (this.#stage === 'draining') this.#endWaitingCalls();
    onMoved(moved.map(([topic, offset]) => ({ topic, lane, offset })));
  }

  lost(error: unknown): void {
    this.#over.reject(error);
  }

  wake(): void {
    this.#resting.reset();
    this.#ownership.writer.wake();
  }

  /** The message of the uncommitted transaction's only unit; null if it has more units, or none with a message. */
  soleMessage(): MessagePlace | null {
    return this.#transaction?.soleMessage() ?? null;
  }

  /** From now on nothing new begins. */
  drain(): void {
    if (this.#stage !== 'admitting') return;
    this.#stage = 'draining';
    this.#submissions.reject('the lane is being released');
    this.#timers.clear();
    this.#ownership.careful?.drain();
    this.#endWaitingCalls();
    if (this.#commit === 0 || this.#ownership.careful?.isMarkStale() === true) this.#isIdle = false;
    this.wake();
  }

  end(): void {
    this.#stage = 'over';
    this.#submissions.reject('the lane was lost');
    this.#timers.clear();
    this.#over.resolve(undefined);
  }

  submit(records: readonly OutgoingRecord[]): Promise<void> {
    const submitted = this.#submissions.add(records);
    this.wake();
    return submitted;
  }

  /** The index shows the ledger up to this commit of the owner with the token. */
  commitApplied(token: string, commit: number): void {
    this.#memory.applied(token, commit);
  }

  status(): OpenLaneStatus {
    const entries = [...this.#memory.unfinished.values()];
    return { isIdle: this.#isIdle, committedMs: this.#committedMs, entries, causes: this.#causes };
  }

  /** A call is under way, or its consequences are not committed yet. */
  isBusy(): boolean {
    if (!this.#isIdle || this.#attempts.waitingEvents > 0) return true;
    return [...this.#memory.unfinished.values()].some(({ phase }) => phase.state === 'INTENT');
  }

  #endWaitingCalls(): void {
    this.#parts.calls.drain(this.#parts.lane, 'the lane was released before its call began');
  }

  #begin(): LaneTransaction {
    const { clock, lane, reports, topics } = this.#parts;
    const transaction = new LaneTransaction({
      lane,
      commit: this.#commit + 1,
      ledgerTopic: topics.ledger,
      inputTopics: this.#inputTopics,
      unitsMax: this.#ownership.careful?.isOver() === false ? 1 : Infinity,
    });
    transaction.reports.push(() => reports.committed());
    if (this.#ownership.careful?.isMarkStale() === true) {
      transaction.mark(null);
      this.#ownership.careful.markCleared();
    }
    if (this.#mustShowProgress(clock.monotonicMs())) transaction.commitAnyway();
    return transaction;
  }

  /**
   * Fills the transaction with everything that waits, as far as there is room and time.
   * @param untilMs of the monotonic clock
   */
  #fill(transaction: LaneTransaction, untilMs: number): void {
    const { clock } = this.#parts;
    transaction.beginPhase(untilMs);
    while (this.#attempts.waitingEvents > 0 && transaction.mayTake(clock.monotonicMs())) {
      const event = this.#attempts.takeEvent();
      if (event === undefined) break;
      this.#answers.handleEvent(transaction, event);
      transaction.unitDone();
    }
    if (this.#stage !== 'admitting') return;
    this.#submissions.takeInto(transaction);
    // Take turns: while a breaker lets single calls through, entries that always fail must not get all of them.
    this.#isDueFirst = !this.#isDueFirst;
    // Due entries that must wait take time but add nothing, so new messages get at least half of the time.
    if (this.#isDueFirst) this.#handleDue(transaction, halfwayMs(clock.monotonicMs(), untilMs));
    this.#causes = this.#inputs.admit(this.#handlers, transaction, untilMs);
    if (!this.#isDueFirst) this.#handleDue(transaction, untilMs);
  }

  #handleDue(transaction: LaneTransaction, untilMs: number): void {
    const { clock } = this.#parts;
    transaction.beginPhase(untilMs);
    for (const key of this.#dueTurns.inTurn()) {
      if (!transaction.mayTake(clock.monotonicMs())) return;
      const entry = this.#memory.unfinished.get(key);
      const reply = entry === undefined ? null : this.#answers.handleDue(transaction, entry);
      if (reply?.kind === 'waits') {
        this.#dueTurns.mustWait(key);
        continue;
      }
      this.#timers.due.delete(key);
      transaction.unitDone();
      if (reply?.kind === 'look-up') void this.#attempts.lookUp(key, reply.query);
    }
    this.#resting.triedAllDue();
  }

  /**
   * True if this ownership has committed nothing yet, and is ending cleanly or older than STEADY_MS. It then commits
   * its position. Otherwise several owners in a row without a commit would look as if a message made them fail.
   */
  #mustShowProgress(monotonicMs: number): boolean {
    return this.#commit === 0 && (this.#stage === 'draining' || monotonicMs - this.#beganMonotonicMs > STEADY_MS);
  }
}
