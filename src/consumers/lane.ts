/**
 * One lane: partition p of every input topic and of the ledger.
 *
 *   closed      not ours, or not yet
 *   acquiring   courtesy wait -> producer opened -> OWNER committed (fences) -> ledger read to that record -> inputs sought
 *   open        transactions one after the other, each with all that has gathered (group commit)
 *   releasing   handed over or shutting down: nothing is admitted, calls end, their answers are committed
 *   stopped     cannot go on without a person; says why
 *
 * Ownership is the producer's epoch; the group only decides who tries. The lane is crash-only: on any doubt its producer
 * and memory are thrown away and it is acquired again, once the group has confirmed this process afresh (else a woken
 * process and the true owner would fence each other in turn). It owns its producer, inboxes, timers and memory.
 */
import type { Entry } from '../ledger/entry.ts';
import { LedgerFormatError } from '../ledger/ledger-records.ts';
import { callOf } from '../ledger/call-of.ts';
import { operationOf } from '../ledger/settlement.ts';
import type { LookUpQuery } from '../ledger/plan.ts';
import type { LaneProducer, OutgoingRecord } from '../producers/lane-producer.ts';
import type { CallEnd, CallOwner } from './calls.ts';
import type { BatchReply, FetchedBatch } from './group-member.ts';
import { acquireOwnership } from './lane-acquisition.ts';
import { LaneAlarms } from './lane-alarms.ts';
import type { AdmissionCause } from './lane-admission.ts';
import { laneDesk, type LaneDesk } from './lane-desk.ts';
import type { EntryEvent } from './lane-entries.ts';
import { LaneInputs } from './lane-inputs.ts';
import { LaneMemory } from './lane-memory.ts';
import { LaneRetention } from './lane-retention.ts';
import { LaneStoppedError, type LaneParts, type LaneStage, type LaneStatus } from './lane-parts.ts';
import { LaneSubmissions, SubmissionError } from './lane-submissions.ts';
import { LaneTransaction } from './lane-transaction.ts';
import { Signal, sleep } from './signal.ts';

/** Between looks at what is waited for. */
const STEP_MS = 50;
/** Between attempts to acquire. */
const ACQUIRE_AGAIN_MS = 300;
/** An idle lane looks again, for deadlines that pass while nothing happens. */
const LOOK_AGAIN_MS = 1_000;
/** Events taken at a time, between looks at the transaction's size. */
const EVENTS_STEP = 16;
/** Beyond a call's own deadline, for the commit of its answer. */
const RELEASE_MARGIN_MS = 2_000;

export class Lane {
  readonly #parts: LaneParts;
  readonly #inputs: LaneInputs;
  readonly #signal = new Signal();
  #stage: LaneStage = 'closed';
  /** Counts acquisitions; what belongs to an earlier one is void. */
  #generation = 0;
  #token = '';
  #commit = 0;
  #producer: LaneProducer | null = null;
  #memory: LaneMemory | null = null;
  #events: EntryEvent[] = [];
  readonly #alarms: LaneAlarms;
  readonly #submissions = new LaneSubmissions();
  #causes = new Map<string, AdmissionCause>();
  #stoppedReason: string | null = null;
  #openedMs = 0;
  /** Nothing is being committed. */
  #isIdle = false;

  constructor(parts: LaneParts) {
    this.#parts = parts;
    const wake = (): void => this.#signal.wake();
    this.#inputs = new LaneInputs(parts, wake);
    this.#alarms = new LaneAlarms(parts.clock, wake);
    parts.calls.onSpace(wake);
  }

  /**
   * The group gave us the lane, or confirmed it.
   * @param isNewMember whether it may have been another's since: then what we hold of it is worth nothing
   */
  assigned(isNewMember: boolean): void {
    if (this.#stage === 'open' && !isNewMember) this.#inputs.rejoin();
    else if (this.#stage === 'open' || this.#stage === 'releasing') {
      this.#close();
      this.#start();
    } else if (this.#stage === 'closed') this.#start();
  }

  /** The group gave it to another member: commit what is under way as long as the new owner lets us. */
  async revoked(): Promise<void> {
    if (this.#stage === 'open') await this.release();
    else if (this.#stage !== 'releasing') this.#close();
  }

  /** Ends the lane in order; bounded by the deadline of a call. */
  async release(): Promise<void> {
    if (this.#stage !== 'open') {
      this.#close();
      return;
    }
    this.#stage = 'releasing';
    this.#submissions.reject('the lane is given away');
    this.#parts.onStageChange();
    const generation = this.#generation;
    this.#inputs.close();
    this.#alarms.clear();
    this.#signal.wake();
    const { clock, policy } = this.#parts;
    const untilMs = clock.monotonicMs() + policy.apiTimeoutMs + RELEASE_MARGIN_MS;
    while (this.#isCurrent(generation) && clock.monotonicMs() < untilMs && this.#isBusy()) await sleep(STEP_MS);
    if (this.#isCurrent(generation)) this.#close();
  }

  /** Commits records with the lane's next transaction. Rejects when the lane is not open, or lost before it is certain. */
  submit(records: readonly OutgoingRecord[]): Promise<void> {
    if (this.#stage !== 'open') return Promise.reject(new SubmissionError('the lane is not open'));
    const submitted = this.#submissions.add(records);
    this.#signal.wake();
    return submitted;
  }

  offer(batch: FetchedBatch): BatchReply {
    return this.#stage === 'open' ? this.#inputs.offer(batch) : 'not-now';
  }

  filtered(topic: string, firstOffset: bigint, lastOffset: bigint): void {
    this.#inputs.passFiltered(topic, firstOffset, lastOffset);
  }

  /** The index shows our ledger up to this commit. */
  commitApplied(token: string, commit: number): void {
    if (token === this.#token) this.#memory?.applied(commit);
  }

  stage(): LaneStage {
    return this.#stage;
  }

  status(): LaneStatus {
    const entries = this.#memory === null ? [] : [...this.#memory.unfinished.values()];
    return {
      stage: this.#stage,
      stoppedReason: this.#stoppedReason,
      openedMs: this.#openedMs,
      entries,
      inputs: this.#inputs.status(this.#causes),
    };
  }

  #start(): void {
    this.#stage = 'acquiring';
    void this.#acquire();
  }

  async #acquire(): Promise<void> {
    const { clock, lane, log } = this.#parts;
    let generation = this.#generation;
    while (this.#isCurrent(generation)) {
      const beganMs = clock.monotonicMs();
      try {
        await this.#acquireOnce(generation);
        return;
      } catch (error) {
        if (!this.#isCurrent(generation)) return;
        this.#discard();
        generation = this.#generation;
        if (error instanceof LaneStoppedError || error instanceof LedgerFormatError) {
          this.#stop(error.message);
          return;
        }
        log.warn({ event: 'lane-acquire-failed', lane, err: error });
        await this.#untilConfirmedSince(generation, beganMs);
        await sleep(ACQUIRE_AGAIN_MS);
      }
    }
  }

  async #acquireOnce(generation: number): Promise<void> {
    const { clock, index, lane, log, makeProducer } = this.#parts;
    const beganMs = clock.monotonicMs();
    const producer = makeProducer(lane);
    this.#producer = producer;
    const token = await acquireOwnership(this.#parts, producer, () => this.#isCurrent(generation));
    const positions = await this.#inputs.startPositions(index.position(lane));
    if (!this.#isCurrent(generation)) return;
    this.#token = token;
    this.#commit = 0;
    this.#memory = new LaneMemory(index, lane);
    this.#stage = 'open';
    this.#openedMs = clock.nowMs();
    for (const entry of this.#memory.unfinished.values()) this.#takeUp(entry, generation);
    this.#inputs.open(positions);
    const durationMs = Math.round(clock.monotonicMs() - beganMs);
    log.info({ event: 'lane-open', lane, durationMs, unfinished: this.#memory.unfinished.size });
    this.#parts.onStageChange();
    void this.#work(generation, producer, this.#memory);
  }

  /** An entry found in the ledger: its call is ours and goes on, was never begun, or is in doubt. */
  #takeUp(entry: Entry, generation: number): void {
    const { calls, clock, lane, policy, processId, sessionTimeoutMs } = this.#parts;
    const { phase } = entry;
    if (phase.state !== 'INTENT') {
      this.#alarms.set(entry);
      return;
    }
    const adoption =
      phase.processId === processId ? calls.adopt(phase.attemptId, this.#callOwner(entry, generation)) : 'unknown';
    if (adoption === 'adopted') return;
    if (adoption === 'never-begun') {
      calls.claimCommitted(phase.attemptId, operationOf(entry), lane);
      this.#begin(entry, generation);
      return;
    }
    // The former owner may still begin a call until its heartbeat is too old; that call ends within its deadline.
    const settleAtMs = clock.nowMs() + phase.timeoutMs + Math.max(policy.settlingTimeMs, sessionTimeoutMs);
    this.#events.push({ key: entry.key, event: { kind: 'orphaned', settleAtMs }, call: null });
  }

  async #work(generation: number, producer: LaneProducer, memory: LaneMemory): Promise<void> {
    const { calls, lane, log } = this.#parts;
    const desk = laneDesk(this.#parts, memory);
    const retention = new LaneRetention(this.#parts, memory);
    try {
      while (this.#isCurrent(generation)) {
        const commit = this.#commit + 1;
        const transaction = await this.#gather(desk, memory, retention, commit);
        if (!this.#isCurrent(generation)) return;
        if (transaction.isEmpty()) {
          for (const attemptId of transaction.settledAttempts) calls.settle(attemptId);
          this.#isIdle = true;
          await this.#signal.wait(LOOK_AGAIN_MS);
          this.#isIdle = false;
          continue;
        }
        const records = transaction.records({ token: this.#token, commit }, this.#inputs.positions());
        await producer.commit(records, transaction.groupOffsets());
        if (!this.#isCurrent(generation)) return;
        this.#committed(transaction, commit, generation);
      }
    } catch (error) {
      if (!this.#isCurrent(generation)) return;
      log.warn({ event: 'lane-lost', lane, err: error });
      await this.#lost();
    }
  }

  async #gather(
    desk: LaneDesk,
    memory: LaneMemory,
    retention: LaneRetention,
    commit: number,
  ): Promise<LaneTransaction> {
    const transaction = new LaneTransaction(this.#parts.topics.ledger, this.#parts.lane);
    while (this.#events.length > 0 && !transaction.isFull()) {
      for (const happened of this.#events.splice(0, EVENTS_STEP))
        await desk.entries.handleEvent(transaction, commit, happened);
    }
    if (this.#stage !== 'open') return transaction;
    this.#submissions.takeInto(transaction);
    for (const key of [...this.#alarms.due]) {
      const entry = memory.unfinished.get(key);
      const reply = entry === undefined ? null : await desk.entries.handleDue(transaction, commit, entry);
      if (reply?.kind === 'waits') continue;
      this.#alarms.due.delete(key);
      if (reply?.kind === 'look-up') void this.#lookUp(key, reply.query, this.#generation);
    }
    this.#causes = await this.#inputs.admit(desk, transaction, commit);
    // Last: what is forgotten must not be what this transaction is about.
    retention.gather(transaction);
    return transaction;
  }

  #committed(transaction: LaneTransaction, commit: number, generation: number): void {
    const { calls } = this.#parts;
    this.#commit = commit;
    this.#inputs.moved(transaction.positions());
    this.#submissions.committed();
    for (const report of transaction.reports) report();
    for (const attemptId of transaction.settledAttempts) calls.settle(attemptId);
    for (const entry of transaction.entries()) {
      if (entry.phase.state === 'INTENT') this.#begin(entry, generation);
      else this.#alarms.set(entry);
    }
    this.#parts.onCommit();
  }

  #begin(entry: Entry, generation: number): void {
    if (entry.phase.state !== 'INTENT') return;
    this.#parts.calls.begin({ attemptId: entry.phase.attemptId, ...callOf(entry) }, this.#callOwner(entry, generation));
  }

  /** The entry stays in doubt, without an alarm, until the scan has ended. */
  async #lookUp(key: string, query: LookUpQuery, generation: number): Promise<void> {
    const { clock, lookUps } = this.#parts;
    const { outcome, beganMs, endedMs } = await lookUps.find(query);
    if (!this.#isCurrent(generation)) return;
    const event = { kind: 'looked-up' as const, finding: outcome, nowMs: clock.nowMs() };
    this.#events.push({ key, event, call: { beganMs, endedMs } });
    this.#signal.wake();
  }

  #callOwner(entry: Entry, generation: number): CallOwner {
    const { clock, isConfirmed } = this.#parts;
    return {
      gate: () => {
        if (!this.#isCurrent(generation) || this.#stage !== 'open') return 'the lane is not open any more';
        if (!isConfirmed()) return 'the last confirmed heartbeat is too old';
        return clock.nowMs() >= entry.deadlineMs ? 'the time limit of the command passed' : null;
      },
      ended: (attemptId, end) => {
        if (!this.#isCurrent(generation)) return;
        this.#events.push({
          key: entry.key,
          event: eventOf(attemptId, end, clock.nowMs()),
          call: end.kind === 'answered' ? end : null,
        });
        this.#signal.wake();
      },
    };
  }

  async #lost(): Promise<void> {
    if (this.#stage === 'releasing') {
      this.#close();
      return;
    }
    const lostMs = this.#parts.clock.monotonicMs();
    this.#discard();
    const generation = this.#generation;
    this.#stage = 'acquiring';
    this.#parts.onStageChange();
    await this.#untilConfirmedSince(generation, lostMs);
    if (this.#isCurrent(generation)) this.#start();
  }

  async #untilConfirmedSince(generation: number, monotonicMs: number): Promise<void> {
    while (this.#isCurrent(generation) && !this.#parts.isConfirmedSince(monotonicMs)) await sleep(STEP_MS);
  }

  #stop(reason: string): void {
    this.#stage = 'stopped';
    this.#stoppedReason = reason;
    this.#parts.log.error({ event: 'lane-stopped', lane: this.#parts.lane, problem: reason });
    this.#parts.onStageChange();
  }

  #close(): void {
    this.#discard();
    this.#stage = 'closed';
    this.#stoppedReason = null;
    this.#parts.onStageChange();
    this.#signal.wake();
  }

  /** Throws away everything that an acquisition made; whatever of it is still under way finds itself outdated. */
  #discard(): void {
    this.#generation += 1;
    this.#producer?.drop();
    this.#producer = null;
    this.#memory = null;
    this.#events = [];
    this.#submissions.reject('the lane was lost');
    this.#alarms.clear();
    this.#inputs.close();
    this.#causes = new Map();
    this.#isIdle = false;
    this.#parts.calls.drop(this.#parts.lane);
  }

  /** A call is on its way, or what follows from one is not committed yet. */
  #isBusy(): boolean {
    if (!this.#isIdle || this.#events.length > 0) return true;
    for (const entry of this.#memory?.unfinished.values() ?? []) if (entry.phase.state === 'INTENT') return true;
    return false;
  }

  #isCurrent(generation: number): boolean {
    return generation === this.#generation;
  }
}

function eventOf(attemptId: string, end: CallEnd, nowMs: number): EntryEvent['event'] {
  return end.kind === 'answered'
    ? { kind: 'answered', attemptId, reading: end.reading, nowMs }
    : { kind: 'not-begun', attemptId, nowMs, reason: end.reason };
}
