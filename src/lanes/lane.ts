/**
 * One lane: partition p of every input topic and of the ledger.
 *
 *   closed      not ours, or not yet
 *   acquiring   starts of the inputs asked for -> courtesy wait, earlier owners fenced -> OWNER committed -> ledger read to
 *               that record -> inputs sought
 *   open        a tenure: transactions one after the other, each with all that has gathered (group commit)
 *   releasing   handed over or shutting down: nothing is admitted, calls end, their answers are committed
 *   stopped     cannot go on without a person; says why
 *
 * Ownership is the last OWNER record in the ledger, once every earlier owner has released the lane or is fenced; the group
 * only decides who tries. The lane is crash-only: on any doubt its tenure is
 * thrown away and the lane is acquired again, once the group has confirmed this process afresh (else a woken process and
 * the true owner would fence each other in turn). It owns its inputs and, while it has one, its tenure.
 */
import type { BatchReply, FetchedBatch, GroupOffset } from '../consumers/group-member.ts';
import { errorText } from '../consumers/message-failures.ts';
import { sleep } from '../consumers/signal.ts';
import { decodeSuspect, LedgerFormatError, SUSPECT_KEY, type Suspect } from '../ledger/ledger-records.ts';
import type { OutgoingRecord } from '../producers/transactional-producer.ts';
import { LaneInputs } from './inputs.ts';
import { LaneStoppedError, type LaneStage, type LaneStatus } from './lane-status.ts';
import { LaneWriter } from './lane-writer.ts';
import { acquireOwnership, RELEASE_MARGIN_MS } from './ownership.ts';
import type { LaneParts } from './parts.ts';
import { SubmissionError } from './submissions.ts';
import { LaneTenure, type Ownership } from './tenure.ts';
import { type Attempted, type LaneLoss, LaneTroubles, lossOf } from './troubles.ts';

/** Between looks at what is waited for. */
const STEP_MS = 50;
/** Between attempts to acquire. */
const ACQUIRE_AGAIN_MS = 300;

export class Lane {
  readonly #parts: LaneParts;
  readonly #inputs: LaneInputs;
  #stage: LaneStage = 'closed';
  /** Counts attempts at the lane; what belongs to an earlier one is void. */
  #generation = 0;
  /** Of an acquisition under way, then of the tenure. */
  #writer: LaneWriter | null = null;
  #tenure: LaneTenure | null = null;
  #stoppedReason: string | null = null;
  readonly #troubles = new LaneTroubles();
  /** Why it is to be stopped once it is released. */
  #stopFor: string | null = null;
  #openedMs = 0;

  constructor(parts: LaneParts) {
    this.#parts = parts;
    const wake = (): void => this.#tenure?.wake();
    this.#inputs = new LaneInputs(parts, wake);
    parts.calls.onSpace(wake);
  }

  /**
   * The group gave us the lane, or confirmed it.
   * @param isNewMember whether it may have been another's since: then what we hold of it is worth nothing
   */
  assigned(isNewMember: boolean): void {
    if (this.#stage === 'open' && !isNewMember) this.#inputs.rejoin();
    else if (this.#stage === 'open' || this.#stage === 'releasing') {
      if (this.#stage === 'open') this.#parts.reports.laneLost('counted-out');
      this.#close();
      this.#start();
    } else if (this.#stage === 'closed') this.#start();
  }

  /** The group gave it to another member: commit what is under way as long as the new owner lets us. */
  async revoked(): Promise<void> {
    // Whoever has it next finds out anew whether it must stop.
    this.#stopFor = null;
    if (this.#stage === 'open') await this.release();
    else if (this.#stage !== 'releasing') this.#close();
  }

  /** An open lane ends in order, and is stopped then. Bounded as `release` is. */
  async stopInOrder(reason: string): Promise<void> {
    if (this.#stage !== 'open') return;
    this.#stopFor = reason;
    await this.release();
  }

  /** Ends the lane in order; bounded by the deadline of a call. */
  async release(): Promise<void> {
    const tenure = this.#tenure;
    if (this.#stage !== 'open' || tenure === null) {
      this.#close();
      return;
    }
    this.#stage = 'releasing';
    this.#inputs.close();
    tenure.drain();
    this.#parts.onStageChange();
    const generation = this.#generation;
    const { clock, policy } = this.#parts;
    const untilMs = clock.monotonicMs() + policy.apiTimeoutMs + RELEASE_MARGIN_MS;
    while (this.#isCurrent(generation) && clock.monotonicMs() < untilMs && tenure.isBusy()) await sleep(STEP_MS);
    const writer = this.#writer;
    if (this.#isCurrent(generation)) this.#released();
    // The next owner waits for it to be said.
    await writer?.end();
  }

  /** Where an open lane reads the topic next, and the topic's id that this is bound to. */
  reading(topic: string): ReturnType<LaneInputs['reading']> {
    return this.#stage === 'open' ? this.#inputs.reading(topic) : null;
  }

  /** How far the inputs are in the ledger: of a lane that is open, or was released last. */
  committedOffsets(): GroupOffset[] {
    const { lane } = this.#parts;
    if (this.#stage === 'acquiring') return [];
    return [...this.#inputs.positions()].map(([topic, offset]) => ({ topic, lane, offset }));
  }

  /** Commits records with the lane's next transaction. Rejects when the lane is not open, or lost before it is certain. */
  submit(records: readonly OutgoingRecord[]): Promise<void> {
    if (this.#stage !== 'open' || this.#tenure === null)
      return Promise.reject(new SubmissionError('the lane is not open'));
    return this.#tenure.submit(records);
  }

  offer(batch: FetchedBatch): BatchReply {
    return this.#stage === 'open' ? this.#inputs.offer(batch) : 'not-now';
  }

  filtered(topic: string, firstOffset: bigint, lastOffset: bigint): void {
    this.#inputs.passFiltered(topic, firstOffset, lastOffset);
  }

  /** The index shows our ledger up to this commit. */
  commitApplied(token: string, commit: number): void {
    this.#tenure?.commitApplied(token, commit);
  }

  stage(): LaneStage {
    return this.#stage;
  }

  status(): LaneStatus {
    return {
      stage: this.#stage,
      stoppedReason: this.#stoppedReason,
      trouble: this.#troubles.now(this.#parts.clock.nowMs()),
      openedMs: this.#openedMs,
      isIdle: this.#tenure?.isIdle() ?? true,
      committedMs: this.#tenure?.committedMs() ?? 0,
      entries: this.#tenure?.entries() ?? [],
      inputs: this.#inputs.status(this.#tenure?.causes() ?? new Map()),
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
        this.#parts.reports.laneLost('not-acquired');
        this.#troubled('not-acquired', error, null);
        await this.#untilConfirmedSince(generation, beganMs);
        await sleep(ACQUIRE_AGAIN_MS);
      }
    }
  }

  async #acquireOnce(generation: number): Promise<void> {
    const { clock, committer, index, lane, log, topics } = this.#parts;
    const beganMs = clock.monotonicMs();
    const writer = new LaneWriter(committer.writer(), { topic: topics.ledger, partition: lane });
    this.#writer = writer;
    // First: asked after the lane was taken, it could be the next owner's progress, and look like a ledger that was lost.
    const starts = await this.#inputs.starts();
    const token = await acquireOwnership(this.#parts, writer, () => this.#isCurrent(generation));
    if (!this.#isCurrent(generation)) return;
    const isWanted = (): boolean => this.#isCurrent(generation);
    const positions = await this.#inputs.startPositions(starts, index.position(lane), isWanted);
    if (!this.#isCurrent(generation)) return;
    const careful = this.#carefulFrom(positions);
    const tenure = new LaneTenure(this.#parts, this.#inputs, { writer, token, careful });
    this.#tenure = tenure;
    this.#stage = 'open';
    this.#openedMs = clock.nowMs();
    this.#inputs.open(positions, tenure.careful());
    const durationMs = Math.round(clock.monotonicMs() - beganMs);
    log.info({ event: 'lane-open', lane, durationMs, unfinished: tenure.entries().length });
    if (careful !== null) log.warn({ event: 'lane-reads-carefully', lane, suspect: suspectText(careful.suspect) });
    this.#parts.onStageChange();
    void this.#hold(tenure, generation);
  }

  async #hold(tenure: LaneTenure, generation: number): Promise<void> {
    try {
      await tenure.run();
    } catch (error) {
      if (!this.#isCurrent(generation)) return;
      const reason = lossOf(error);
      this.#parts.log.warn({ event: 'lane-lost', lane: this.#parts.lane, reason, err: error });
      this.#parts.reports.laneLost(reason);
      this.#troubled(reason, error, tenure.attempted());
      await this.#lost();
    }
  }

  async #lost(): Promise<void> {
    if (this.#stage === 'releasing') {
      this.#released();
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
    while (this.#isCurrent(generation) && !this.#parts.member.isConfirmedSinceMs(monotonicMs)) await sleep(STEP_MS);
  }

  #troubled(reason: LaneLoss, error: unknown, attempted: Attempted | null): void {
    this.#troubles.lost({ reason, message: errorText(error), nowMs: this.#parts.clock.nowMs() }, attempted);
  }

  /** Null: messages are read as they come. */
  #carefulFrom(positions: ReadonlyMap<string, bigint>): Ownership['careful'] {
    const { index, lane } = this.#parts;
    const isAdmitted = ({ offset, topic }: Suspect): boolean => offset < (positions.get(topic) ?? 0n);
    const mark = index.value(lane, SUSPECT_KEY);
    const marked = mark === undefined ? null : decodeSuspect(mark);
    const isOpenMark = marked !== null && !isAdmitted(marked);
    const barren = index.owner(lane)?.barren ?? 0;
    const { isCareful, suspect } = this.#troubles.reading(isOpenMark ? marked : null, barren, isAdmitted);
    return isCareful ? { suspect } : null;
  }

  #released(): void {
    const reason = this.#stopFor;
    this.#close();
    if (reason !== null) this.#stop(reason);
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
    this.#stopFor = null;
    this.#parts.onStageChange();
  }

  /** Throws away everything that an attempt at the lane made. */
  #discard(): void {
    this.#generation += 1;
    this.#tenure?.end();
    this.#tenure = null;
    void this.#writer?.end();
    this.#writer = null;
    this.#inputs.close();
    this.#parts.calls.drop(this.#parts.lane);
  }

  #isCurrent(generation: number): boolean {
    return generation === this.#generation;
  }
}

function suspectText(suspect: Suspect | null): string | null {
  return suspect === null ? null : `${suspect.topic} at offset ${suspect.offset}, tried ${suspect.tries} times`;
}
