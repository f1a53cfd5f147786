/**
 * One ownership of a lane, from the moment its ledger has been read to its end: the transactions.
 *
 *   admitting   each transaction takes what has happened, what was submitted, what is due, and new messages
 *   draining    the lane is given away: what has happened is still committed, nothing else begins
 *   over        ended or lost; whatever is still under way finds itself outdated
 *
 * Owns the memory of unfinished entries, timers, submissions and events; the inputs, the writer and what is to be counted
 * are the lane's, which opens and ends them.
 */
import { Signal } from '../consumers/signal.ts';
import { encodeSuspect, SUSPECT_KEY, type Suspect } from '../ledger/ledger-records.ts';
import { longestWaitMs, takenUp } from '../ledger/wrong-clocks.ts';
import type { OutgoingRecord } from '../producers/transactional-producer.ts';
import { AdmittedTime } from './admitted-time.ts';
import { CommandAdmission, type AdmissionCause } from './admission.ts';
import { Answers } from './answers.ts';
import { Attempts } from './attempts.ts';
import { CarefulReading } from './careful-reading.ts';
import type { CommitReports } from './commit-reports.ts';
import { Decisions } from './decisions.ts';
import { DueTurns } from './due-turns.ts';
import { Holds } from './holds.ts';
import type { InputHandlers, Inputs } from './inputs.ts';
import type { LaneCommit } from './committer.ts';
import type { OpenLaneStatus } from './lane-status.ts';
import type { LaneWriter } from './lane-writer.ts';
import { Memory } from './memory.ts';
import { Observations } from './observations.ts';
import { Outcomes } from './outcomes.ts';
import type { LaneParts } from './parts.ts';
import { Retention } from './retention.ts';
import { Submissions } from './submissions.ts';
import { Timers } from './timers.ts';
import { LaneTransaction } from './transaction.ts';
import type { MessagePlace } from './troubles.ts';

/** An idle lane looks again, for deadlines that pass while nothing happens. */
const LOOK_AGAIN_MS = 1_000;
/** One that has lasted so long is no loss for its lane, though it had nothing to commit: it commits its position. */
const STEADY_MS = 30_000;

export interface Ownership {
  writer: LaneWriter;
  /** Of the OWNER record that proved it. */
  token: string;
  /** How messages are to be read: null, as they come; else one at a time, with the one that the lane was lost at last. */
  careful: { readonly suspect: Suspect | null } | null;
  /** Of the topic of operators' holds, asked once the lane was taken. */
  holdsEnd: bigint;
}

export class OpenLane {
  readonly #parts: LaneParts;
  readonly #inputs: Inputs;
  readonly #commitReports: CommitReports;
  readonly #ownership: Ownership;
  readonly #signal = new Signal();
  readonly #memory: Memory;
  readonly #answers: Answers;
  readonly #handlers: InputHandlers;
  readonly #retention: Retention;
  readonly #timers: Timers;
  readonly #dueTurns: DueTurns;
  readonly #attempts: Attempts;
  readonly #submissions = new Submissions();
  #stage: 'admitting' | 'draining' | 'over' = 'admitting';
  /** Of the transaction that was committed last. */
  #commit = 0;
  #causes: ReadonlyMap<string, AdmissionCause> = new Map();
  #isDueFirst = false;
  /** Nothing is being committed. */
  #isIdle = false;
  #committedMs: number;
  readonly #beganMonotonicMs: number;
  readonly #inputTopics: ReadonlySet<string>;
  readonly #careful: CarefulReading | null;
  /** What the transaction under way would admit. */
  #soleMessage: MessagePlace | null = null;

  constructor(parts: LaneParts, inputs: Inputs, commitReports: CommitReports, ownership: Ownership) {
    this.#parts = parts;
    this.#inputs = inputs;
    this.#commitReports = commitReports;
    this.#ownership = ownership;
    // The OWNER record has just been committed.
    this.#committedMs = parts.clock.nowMs();
    this.#beganMonotonicMs = parts.clock.monotonicMs();
    this.#inputTopics = new Set([...Object.values(parts.topics.commands), parts.topics.operatorDecisions]);
    this.#careful =
      ownership.careful === null
        ? null
        : new CarefulReading(ownership.careful.suspect, (suspect) => this.submit([this.#markOf(suspect)]));
    this.#memory = new Memory(parts.index, parts.lane, ownership.token);
    const outcomes = new Outcomes({ ...parts, memory: this.#memory });
    const holds = new Holds({ ...parts, outcomes }, () => inputs.hasHoldsBefore(ownership.holdsEnd));
    const shared = { ...parts, memory: this.#memory, outcomes, holds };
    this.#answers = new Answers(shared);
    this.#handlers = {
      commands: new CommandAdmission(shared),
      decisions: new Decisions(shared),
      holds,
      observations: new Observations(shared),
    };
    const admitted = new AdmittedTime({
      ...parts,
      topics: parts.commandTypes.map((type) => parts.topics.commands[type]),
      positions: () => this.#inputs.positions(),
    });
    this.#retention = new Retention(parts, this.#memory, admitted);
    const wake = (): void => this.wake();
    ownership.writer.onBroken(wake);
    this.#timers = new Timers(parts.clock, longestWaitMs(parts.policy), wake);
    this.#dueTurns = new DueTurns(this.#timers.due);
    this.#attempts = new Attempts(parts, {
      isCurrent: () => this.#stage !== 'over',
      isOpen: () => this.#stage === 'admitting',
      isHeld: (entry) => holds.refusal(entry) !== null,
      wake,
    });
    for (const known of [...this.#memory.unfinished.values()]) {
      const entry = takenUp(known, parts.clock.nowMs(), parts.policy);
      this.#memory.putEntry(entry, this.#commit);
      if (entry.phase.state === 'INTENT') this.#attempts.takeUp(entry);
      else this.#timers.set(entry);
    }
  }

  /**
   * One transaction after the other.
   * @returns once it is over
   * @throws when a transaction did not go through: then whether it was committed is for the ledger to say
   */
  async run(): Promise<void> {
    const { calls } = this.#parts;
    while (!this.#isOver()) {
      const transaction = await this.#gather();
      if (this.#isOver()) return;
      if (transaction.isEmpty()) {
        this.#ownership.writer.assertWhole();
        for (const attemptId of transaction.settledAttempts) calls.settle(attemptId);
        this.#isIdle = true;
        await this.#signal.wait(LOOK_AGAIN_MS);
        this.#isIdle = false;
        continue;
      }
      const { token, writer } = this.#ownership;
      let next = this.#inputs.positions();
      const toCommit = (): LaneCommit => {
        this.#soleMessage = transaction.soleMessage();
        next = this.#inputs.next(transaction.positions());
        return transaction.toCommit({ token, topicIds: this.#inputs.topicIds() }, next);
      };
      this.#commitReports.handOver(token, transaction);
      // What happens while it waits for its turn goes along.
      const own = await writer.commit(toCommit(), async () => {
        await this.#fill(transaction);
        return toCommit();
      });
      if (this.#isOver()) return;
      if (own !== null) this.#parts.reader.ownCommitted(this.#parts.lane, own);
      this.#committed(transaction, next);
    }
  }

  wake(): void {
    this.#signal.wake();
  }

  /** For the inputs. */
  careful(): CarefulReading | null {
    return this.#careful;
  }

  /** The one message that the last transaction was about; null where it was about more, or none. */
  soleMessage(): MessagePlace | null {
    return this.#soleMessage;
  }

  /** Nothing begins any more. */
  drain(): void {
    if (this.#stage !== 'admitting') return;
    this.#stage = 'draining';
    this.#submissions.reject('the lane is given away');
    this.#timers.clear();
    this.#careful?.drain();
    if (this.#commit === 0 || this.#careful?.isMarkStale() === true) this.#isIdle = false;
    this.wake();
  }

  end(): void {
    this.#stage = 'over';
    this.#submissions.reject('the lane was lost');
    this.#timers.clear();
    this.wake();
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

  /** With why, by topic, what has been fetched is not admitted. */
  status(): OpenLaneStatus {
    const entries = [...this.#memory.unfinished.values()];
    return { isIdle: this.#isIdle, committedMs: this.#committedMs, entries, causes: this.#causes };
  }

  /** A call is on its way, or what follows from one is not committed yet. */
  isBusy(): boolean {
    if (!this.#isIdle || this.#attempts.waitingEvents > 0) return true;
    return [...this.#memory.unfinished.values()].some(({ phase }) => phase.state === 'INTENT');
  }

  async #gather(): Promise<LaneTransaction> {
    const { clock, lane, reports, topics } = this.#parts;
    const transaction = new LaneTransaction({
      lane,
      commit: this.#commit + 1,
      ledgerTopic: topics.ledger,
      inputTopics: this.#inputTopics,
      unitsMax: this.#careful?.isOver() === false ? 1 : Infinity,
    });
    transaction.reports.push(() => reports.committed());
    if (this.#careful?.isMarkStale() === true) transaction.add(this.#markOf(null));
    if (this.#isBarren(clock.monotonicMs())) transaction.want();
    await this.#fill(transaction);
    // Last: what is forgotten must not be what this transaction is about.
    if (this.#stage === 'admitting') this.#retention.gather(transaction);
    return transaction;
  }

  /** With all that there is now, as far as there is room and time. */
  async #fill(transaction: LaneTransaction): Promise<void> {
    if (this.#isOver()) return;
    const { clock } = this.#parts;
    transaction.beginFilling(clock.monotonicMs());
    while (transaction.hasRoom(clock.monotonicMs())) {
      const happened = this.#attempts.takeEvent();
      if (happened === undefined) break;
      await this.#answers.handleEvent(transaction, happened);
      transaction.unitDone();
    }
    if (this.#stage !== 'admitting') return;
    this.#submissions.takeInto(transaction);
    // In turn: while a breaker lets single calls through, commands that always fail must not get all of them.
    this.#isDueFirst = !this.#isDueFirst;
    if (this.#isDueFirst) await this.#handleDue(transaction);
    // What is due and has to wait takes time, and fills nothing.
    transaction.beginFilling(clock.monotonicMs());
    this.#causes = await this.#inputs.admit(this.#handlers, transaction);
    if (!this.#isDueFirst) await this.#handleDue(transaction);
  }

  async #handleDue(transaction: LaneTransaction): Promise<void> {
    const { clock } = this.#parts;
    transaction.beginFilling(clock.monotonicMs());
    for (const key of this.#dueTurns.inTurn()) {
      if (!transaction.hasRoom(clock.monotonicMs())) return;
      const entry = this.#memory.unfinished.get(key);
      const reply = entry === undefined ? null : await this.#answers.handleDue(transaction, entry);
      if (reply?.kind === 'waits') {
        this.#dueTurns.waits(key);
        continue;
      }
      this.#timers.due.delete(key);
      transaction.unitDone();
      if (reply?.kind === 'look-up') void this.#attempts.lookUp(key, reply.query);
    }
  }

  #isBarren(monotonicMs: number): boolean {
    return this.#commit === 0 && (this.#stage === 'draining' || monotonicMs - this.#beganMonotonicMs > STEADY_MS);
  }

  #markOf(suspect: Suspect | null): OutgoingRecord {
    const { lane, topics } = this.#parts;
    return { topic: topics.ledger, partition: lane, key: SUSPECT_KEY, value: encodeSuspect(suspect), headers: {} };
  }

  #committed(transaction: LaneTransaction, next: ReadonlyMap<string, bigint>): void {
    const { calls, clock, lane, onMoved } = this.#parts;
    this.#commit = transaction.commit;
    this.#committedMs = clock.nowMs();
    const moved = this.#inputs.moved(next);
    this.#submissions.committed();
    this.#commitReports.committed(this.#ownership.token, transaction.commit);
    for (const attemptId of transaction.settledAttempts) calls.settle(attemptId);
    for (const entry of transaction.entries()) {
      if (entry.phase.state === 'INTENT') this.#attempts.begin(entry);
      else this.#timers.set(entry);
    }
    onMoved(moved.map(([topic, offset]) => ({ topic, lane, offset })));
  }

  /** Asked after every wait: it may have changed meanwhile. */
  #isOver(): boolean {
    return this.#stage === 'over';
  }
}
