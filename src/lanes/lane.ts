/**
 * One lane: partition p of every input topic and of the ledger.
 *
 *   closed      not owned by this process
 *   acquiring   ask where the inputs start -> wait for earlier owners, or fence them -> commit OWNER -> read the ledger to
 *               that record -> seek the inputs
 *   open        commits one transaction after another, each with everything that is ready (group commit)
 *   releasing   handing over or shutting down: admits nothing, lets calls end, commits their answers
 *   stopped     cannot continue without an operator; says why
 *
 * The owner is the process of the last OWNER record in the ledger. Every earlier owner must have released the lane or be fenced.
 * The group only decides who tries.
 *
 * The lane is crash-only: whenever its state is in doubt, it discards its memory, and the process acquires it again. It first waits
 * until the group has confirmed this process again. Otherwise a process that wakes from a freeze and the true owner would fence
 * each other in turn.
 *
 * The lane owns its inputs and the resources of its state. Leaving a state disposes of resources that the next state does not take
 * over.
 */
import type { BatchReply, FetchedBatch, FilteredRecords, GroupOffset } from '../consumers/group-member.ts';
import { errorText } from '../consumers/message-failures.ts';
import { sleep } from '../consumers/signal.ts';
import {
  positionRecords,
  suspectRecords,
  SUSPECT_KEY,
  type EpochSpan,
  type Suspect,
} from '../ledger/ledger-records.ts';
import { LedgerFormatError, readable } from '../ledger/ledger-value.ts';
import type { OutgoingRecord } from '../producers/record-batch.ts';
import { CarefulReading } from './inputs/careful-reading.ts';
import { CommitReports } from './commits/commit-reports.ts';
import type { Reading } from './inputs/input-watch.ts';
import { Inputs } from './inputs/inputs.ts';
import { LaneStoppedError, NOT_OPEN, type LaneStage, type LaneStatus } from './lane-status.ts';
import { LaneWriter } from './commits/lane-writer.ts';
import { acquireOwnership, drainMsMax, Waits } from './ownership/ownership.ts';
import type { LaneParts } from './parts.ts';
import { SubmissionError } from './commits/submissions.ts';
import { OpenLane } from './open-lane.ts';
import { type LaneLoss, type MessagePlace, Troubles, lossOf } from './commits/troubles.ts';

/** Polling interval while the lane waits for something. */
const STEP_MS = 50;
/** Polling interval while the lane ends: shorter, because its next owner waits. */
const RELEASE_STEP_MS = 10;
/** Pause between attempts to acquire. */
const ACQUIRE_AGAIN_MS = 300;

/** Each attempt to acquire the lane has its own writer. What other writers do is ignored. */
type State =
  | { readonly stage: 'closed' }
  | { readonly stage: 'acquiring'; readonly writer: LaneWriter }
  | { readonly stage: 'open'; readonly writer: LaneWriter; readonly openLane: OpenLane; readonly openedMs: number }
  | {
      readonly stage: 'releasing';
      readonly writer: LaneWriter;
      readonly openLane: OpenLane;
      /** Why the lane stops after its release; null: it does not. */
      readonly stopFor: string | null;
      /** Resolves once the release is over. */
      readonly released: Promise<void>;
    }
  | { readonly stage: 'stopped'; readonly reason: string };

export class Lane {
  readonly #parts: LaneParts;
  readonly #inputs: Inputs;
  readonly #troubles = new Troubles();
  /** Kept when the lane is lost: whether its last transaction was committed may show only later, in the ledger. */
  readonly #commitReports = new CommitReports();
  #state: State = { stage: 'closed' };

  constructor(parts: LaneParts) {
    this.#parts = parts;
    const wake = (): void => this.#openLane()?.wake();
    this.#inputs = new Inputs(parts, wake);
    parts.calls.onCapacity(wake);
  }

  /**
   * The group gave us the lane, or confirmed it.
   * @param isNewMember another member may have owned the lane since: then our memory of it is worthless
   */
  assigned(isNewMember: boolean): void {
    switch (this.#state.stage) {
      case 'open':
        if (!isNewMember) {
          this.#inputs.rejoin();
          return;
        }
        this.#parts.reports.laneLost('counted-out');
        void this.#acquire();
        return;
      case 'closed':
      case 'releasing':
        void this.#acquire();
        return;
      case 'acquiring':
      case 'stopped':
    }
  }

  /**
   * The group gave the lane to another member: we finish work under way and release it. The new owner fences us if that
   * takes too long.
   */
  async revoked(): Promise<void> {
    const state = this.#state;
    if (state.stage === 'open') await this.release();
    // The next owner decides again whether the lane must stop.
    else if (state.stage === 'releasing') this.#state = { ...state, stopFor: null };
    else this.#enter({ stage: 'closed' });
  }

  /** Ends an open lane in an orderly way, then stops it. Bounded like `release`. */
  async stopInOrder(reason: string): Promise<void> {
    if (this.#state.stage === 'open') await this.release(reason);
  }

  /** Ends the lane in an orderly way; bounded by the deadline of a call and two commits. */
  async release(stopFor: string | null = null): Promise<void> {
    const state = this.#state;
    switch (state.stage) {
      case 'open': {
        const { openLane, writer } = state;
        this.#inputs.close();
        openLane.drain();
        // Deferred, so that the stage is entered first.
        const released = Promise.resolve().then(() => this.#awaitDrain(openLane, writer));
        this.#enter({ stage: 'releasing', writer, openLane, stopFor, released });
        return released;
      }
      case 'releasing':
        return state.released;
      case 'closed':
      case 'acquiring':
      case 'stopped':
        this.#enter({ stage: 'closed' });
    }
  }

  /** Where an open lane reads the topic next. */
  reading(topic: string): Reading | null {
    return this.#state.stage === 'open' ? this.#inputs.reading(topic) : null;
  }

  /** The broker still has the records that we read in this leader epoch. */
  epochHeld(topic: string, span: EpochSpan): void {
    if (this.#state.stage === 'open') this.#inputs.epochHeld(topic, span);
  }

  /**
   * The committed position of each input that has one in the ledger; none while the lane is being acquired. A group offset
   * without a position shows that the ledger was lost.
   */
  committedOffsets(): GroupOffset[] {
    const { index, lane } = this.#parts;
    if (this.#state.stage === 'acquiring') return [];
    // A position that another release wrote stops the lane, so we report none.
    const recorded = readable(() => index.position(lane))?.next ?? {};
    return [...this.#inputs.positions()].flatMap(([topic, offset]) =>
      recorded[topic] === undefined ? [] : [{ topic, lane, offset }],
    );
  }

  /** Commits records with the lane's next transaction. Rejects if the lane is not open, or is lost before the commit is certain. */
  submit(records: readonly OutgoingRecord[]): Promise<void> {
    const state = this.#state;
    if (state.stage !== 'open') return Promise.reject(new SubmissionError('the lane is not open'));
    return state.openLane.submit(records);
  }

  offer(batch: FetchedBatch): BatchReply {
    return this.#state.stage === 'open' ? this.#inputs.offer(batch) : 'not-now';
  }

  filtered(filtered: FilteredRecords): void {
    this.#inputs.passFiltered(filtered);
  }

  /** The index shows the lane's ledger up to the commit that ends with this position. */
  commitApplied(position: Buffer): void {
    const openLane = this.#openLane();
    // Other members' commits do not concern this lane.
    if (openLane === null && !this.#commitReports.isWaiting()) return;
    const { commit, token } = positionRecords.decode(position);
    this.#commitReports.committed(token, commit);
    openLane?.commitApplied(token, commit);
  }

  stage(): LaneStage {
    return this.#state.stage;
  }

  status(): LaneStatus {
    const state = this.#state;
    const { causes, ...shown } = this.#openLane()?.status() ?? NOT_OPEN;
    return {
      stage: state.stage,
      stoppedReason: state.stage === 'stopped' ? state.reason : null,
      trouble: this.#troubles.now(this.#parts.clock.nowMs()),
      openedMs: state.stage === 'open' ? state.openedMs : 0,
      ...shown,
      inputs: this.#inputs.status(causes),
    };
  }

  /**
   * Tries until the lane is open, stopped, or taken from us.
   * @param lostMs when the lane was lost, on the monotonic clock: the first attempt waits until the group has confirmed
   *   this process since; null: it does not
   * @param retakeMs pause before the first attempt, after that confirmation
   */
  async #acquire(lostMs: number | null = null, retakeMs = 0): Promise<void> {
    const { clock, committer, lane, topics } = this.#parts;
    const waits = new Waits();
    let confirmedFromMs = lostMs;
    let pauseMs = retakeMs;
    for (;;) {
      const writer = new LaneWriter(committer, { topic: topics.ledger, partition: lane });
      this.#enter({ stage: 'acquiring', writer });
      if (confirmedFromMs !== null) await this.#awaitConfirmation(confirmedFromMs, writer);
      if (pauseMs > 0) await sleep(pauseMs);
      if (!this.#isCurrent(writer)) return;
      confirmedFromMs = clock.monotonicMs();
      pauseMs = ACQUIRE_AGAIN_MS;
      try {
        await this.#acquireWith(writer, waits);
        return;
      } catch (error) {
        if (!this.#isCurrent(writer)) return;
        if (error instanceof LaneStoppedError || error instanceof LedgerFormatError) {
          this.#stop(error.message);
          return;
        }
        this.#logAcquireFailed(error);
        this.#parts.reports.laneLost('not-acquired');
        this.#countLoss('not-acquired', error, null);
      }
    }
  }

  /** Limits the log: each lane retries several times a second. */
  #logAcquireFailed(error: unknown): void {
    const { lane, log, repeats } = this.#parts;
    const problem = errorText(error);
    const repeated = repeats.unlogged(problem);
    if (repeated !== null) log.warn({ event: 'lane-acquire-failed', lane, problem, ...(repeated > 0 && { repeated }) });
  }

  async #acquireWith(writer: LaneWriter, waits: Waits): Promise<void> {
    const { clock, index, lane, log, offsets, topics } = this.#parts;
    const beganMs = clock.monotonicMs();
    const isWanted = (): boolean => this.#isCurrent(writer);
    // Before we claim: later the group's offsets may show the progress of a process that took the lane from us. That would look like
    // a lost ledger.
    const starts = await this.#inputs.starts();
    const token = await acquireOwnership(this.#parts, writer, isWanted, waits);
    if (token === null || !isWanted()) return;
    const positions = await this.#inputs.startPositions(starts, index.position(lane), isWanted);
    // Read only now: an operator may have written a hold while nobody owned the lane.
    const holdsEnd = (await offsets.highWatermarks(topics.operatorHolds)).get(lane);
    if (holdsEnd === undefined) throw new Error(`${topics.operatorHolds} has no partition ${lane}`);
    if (!isWanted()) return;
    const careful = this.#carefulFrom(positions);
    const openLane = new OpenLane(this.#parts, this.#inputs, this.#commitReports, { writer, token, careful, holdsEnd });
    this.#enter({ stage: 'open', writer, openLane, openedMs: clock.nowMs() });
    this.#inputs.open(positions, careful);
    const durationMs = Math.round(clock.monotonicMs() - beganMs);
    log.info({ event: 'lane-open', lane, durationMs, unfinished: openLane.status().entries.length });
    if (careful !== null)
      log.warn(
        { event: 'lane-reads-carefully', lane, suspect: careful.suspectText() },
        'the lane reads one message at a time, because a message may have caused its loss',
      );
    void this.#runUntilLost(openLane, writer);
  }

  async #runUntilLost(openLane: OpenLane, writer: LaneWriter): Promise<void> {
    const { clock, lane, log, repeats, reports } = this.#parts;
    try {
      await openLane.run();
    } catch (error) {
      if (!this.#isCurrent(writer)) return;
      const reason = lossOf(error);
      reports.laneLost(reason);
      this.#countLoss(reason, error, openLane.soleMessage());
      const retakeMs = this.#troubles.retakeMs();
      const repeated = retakeMs === 0 ? 0 : repeats.unlogged(`lane-lost: ${errorText(error)}`);
      if (repeated !== null)
        log.warn({ event: 'lane-lost', lane, reason, err: error, ...(repeated > 0 && { repeated }) });
      if (this.#state.stage === 'releasing') this.#endRelease();
      else void this.#acquire(clock.monotonicMs(), retakeMs);
    }
  }

  async #awaitConfirmation(sinceMs: number, writer: LaneWriter): Promise<void> {
    while (this.#isCurrent(writer) && !this.#parts.member.isConfirmedSinceMs(sinceMs)) await sleep(STEP_MS);
  }

  #countLoss(reason: LaneLoss, error: unknown, soleMessage: MessagePlace | null): void {
    this.#troubles.lost({ reason, message: errorText(error), nowMs: this.#parts.clock.nowMs() }, soleMessage);
  }

  /** Null: no message is suspect. */
  #carefulFrom(positions: ReadonlyMap<string, bigint>): CarefulReading | null {
    const { index, lane } = this.#parts;
    const isAdmitted = ({ offset, topic }: Suspect): boolean => offset < (positions.get(topic) ?? 0n);
    const mark = index.value(lane, SUSPECT_KEY);
    const marked = mark === undefined ? null : suspectRecords.decode(mark).message;
    const isOpenMark = marked !== null && !isAdmitted(marked);
    const withoutCommit = index.owner(lane)?.barren ?? 0;
    const { isCareful, suspect } = this.#troubles.reading(isOpenMark ? marked : null, withoutCommit, isAdmitted);
    return isCareful ? new CarefulReading(suspect) : null;
  }

  async #awaitDrain(openLane: OpenLane, writer: LaneWriter): Promise<void> {
    const { clock } = this.#parts;
    const untilMs = clock.monotonicMs() + drainMsMax(this.#parts);
    while (this.#isCurrent(writer) && clock.monotonicMs() < untilMs && openLane.isBusy()) await sleep(RELEASE_STEP_MS);
    if (this.#isCurrent(writer)) this.#endRelease();
    // The next owner waits for this release.
    await writer.end();
  }

  #endRelease(): void {
    const state = this.#state;
    if (state.stage === 'releasing' && state.stopFor !== null) this.#stop(state.stopFor);
    else this.#enter({ stage: 'closed' });
  }

  #stop(reason: string): void {
    this.#enter({ stage: 'stopped', reason });
    this.#parts.log.error({ event: 'lane-stopped', lane: this.#parts.lane, problem: reason });
  }

  #enter(next: State): void {
    const before = this.#state;
    this.#state = next;
    // From now on others may write to the lane's ledger.
    if (before.stage === 'open' && next.stage !== 'open') this.#parts.reader.fetchAgain(this.#parts.lane);
    if ('writer' in before && !this.#isCurrent(before.writer)) {
      if ('openLane' in before) before.openLane.end();
      void before.writer.end();
      this.#inputs.close();
      this.#parts.calls.release(this.#parts.lane);
    }
    this.#parts.onStageChange();
  }

  #openLane(): OpenLane | null {
    return 'openLane' in this.#state ? this.#state.openLane : null;
  }

  #isCurrent(writer: LaneWriter): boolean {
    return 'writer' in this.#state && this.#state.writer === writer;
  }
}
