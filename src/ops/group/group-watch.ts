/**
 * Watches the other members of the group: asks each for its report, and remembers the last report of members that are gone.
 *
 *   start   asks every 5 s until stop, so that the next viewer gets recent figures and events
 *   read    asks at most every 1.5 s, once for all viewers, and waits a bounded time for the answers
 *
 * Owns its timer and the remembered members, samples and events, each bounded.
 */
import type { Clock } from 'payment-processor-contract/clock';
import { processName } from '../../consumers/group-processes.ts';
import { settledWithin } from 'payment-processor-contract/settled-within';
import type { Sample } from '../history.ts';
import type { MemberState } from '../members.ts';
import type { ProcessorState } from '../processor-state.ts';
import { laneRangesInWords, type TimelineEvent } from '../timeline.ts';
import type { MemberQuestion, MemberReply } from './ask-member.ts';
import { groupHistory, type GroupSample } from './group-history.ts';
import { groupState, type GroupState } from './group-state.ts';
import { GroupTimeline } from './group-timeline.ts';
import type { KnownMember } from './known-member.ts';
import { RELEASE } from '../release.ts';
import type { MemberSample } from './member-report.ts';

const ASK_INTERVAL_MS = 5_000;
/** Each viewer asks every 2 s. */
const FRESH_FOR_MS = 1_500;
/** How long a viewer waits for the other members once this process's state is read. The endpoints must answer within 5 s. */
const ANSWERS_WAIT_MAX_MS = 2_000;
/** Concurrent requests. With a hundred hanging members a round takes ten seconds; meanwhile viewers get the known state. */
const ASKED_AT_ONCE_MAX = 16;
/** More than any real group has. A client that may join the group can pose as any number of members, so we bound how many we follow. */
const MEMBERS_MAX = 200;
/** Limit of remembered members that are gone. */
const GONE_MAX = 20;
const GONE_MS_MAX = 3_600_000;
const SAMPLES_MAX = 180;
/** Samples for the page: those of a minute, and a few before. */
const RECENT_SAMPLES = 15;
/** A single late answer is not an event. */
const SILENCE_NOTED_MS = 5_000;
/** What our processes' names look like in the group. */
const PROCESS_PATTERN = /^(?:[\w.-]+\.)?[0-9a-f]{8}$/;

export interface GroupWatchOptions {
  readonly readState: () => Promise<ProcessorState>;
  /** This process's samples, oldest first. */
  readonly samples: () => readonly Sample[];
  readonly events: () => readonly TimelineEvent[];
  /** Settles within seconds, and never rejects. */
  readonly ask: (question: MemberQuestion) => Promise<MemberReply>;
  /** Read for each request, because it may change. */
  readonly authToken: string | null;
  readonly clock: Clock;
  /** Reading the state failed: a bug. */
  readonly onError: (error: unknown) => void;
}

export class GroupWatch {
  readonly #options: GroupWatchOptions;
  readonly #members = new Map<string, KnownMember>();
  readonly #samples = new Map<string, readonly MemberSample[]>();
  readonly #timeline: GroupTimeline;
  /** Members present at the first poll are not reported as joins. */
  #hasSeenGroup = false;
  #round: Promise<void> | null = null;
  #roundBeganMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: GroupWatchOptions) {
    this.#options = options;
    this.#timeline = new GroupTimeline(() => options.clock.nowMs());
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.read().catch((error: unknown) => this.#options.onError(error));
    }, ASK_INTERVAL_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** The group as known now; settles within about 3 s, even if other members hang. */
  async read(): Promise<GroupState> {
    const { clock, events, readState } = this.#options;
    const own = await readState();
    this.#updateMembers(own.members);
    const nowMs = clock.monotonicMs();
    if (this.#round === null && nowMs - this.#roundBeganMs >= FRESH_FOR_MS) {
      this.#roundBeganMs = nowMs;
      this.#round = this.#askAll().finally(() => (this.#round = null));
    }
    if (this.#round !== null) await settledWithin(this.#round, this.#roundBeganMs + ANSWERS_WAIT_MAX_MS - nowMs);
    return groupState({
      nowMs: clock.nowMs(),
      own,
      members: [this.#ownMember(own), ...this.#members.values()],
      samples: this.history().slice(-RECENT_SAMPLES),
      timeline: this.#timeline.events(processName(own.processId), events()),
    });
  }

  /** Samples of all known members as last read, including those that are gone. Oldest first. */
  history(): GroupSample[] {
    return groupHistory([this.#options.samples(), ...this.#samples.values()], this.#options.clock.nowMs());
  }

  async #askAll(): Promise<void> {
    const asked = [...this.#members.values()].filter(({ standing }) => standing !== 'gone');
    const next = asked.values();
    const askInTurn = async (): Promise<void> => {
      for (const member of next) await this.#ask(member);
    };
    await Promise.all(Array.from({ length: ASKED_AT_ONCE_MAX }, askInTurn));
  }

  async #ask(member: KnownMember): Promise<void> {
    const { address, figures, process } = member;
    const { authToken, clock } = this.#options;
    const after = figures?.at ?? null;
    const reply: MemberReply =
      address === null
        ? { kind: 'fault', fault: 'no-address' }
        : await this.#options.ask({ address, process, authToken, after });
    // Read again: `#updateMembers` may have changed it in the meantime.
    const known = this.#members.get(process);
    if (known === undefined) return;
    const nowMs = clock.nowMs();
    if (reply.kind === 'fault') {
      const { isNoted = false, sinceMs = nowMs } = known.fault ?? {};
      const isNew = !isNoted && known.figures !== null && nowMs - sinceMs >= SILENCE_NOTED_MS;
      if (isNew) this.#timeline.saw(process, 'does not answer the other members');
      this.#members.set(process, { ...known, fault: { kind: reply.fault, sinceMs, isNoted: isNoted || isNew } });
      return;
    }
    const { events, release, samples, state } = reply.report;
    if (known.fault?.isNoted === true) this.#timeline.saw(process, 'answers again');
    this.#members.set(process, { ...known, figures: state, release, answeredMs: nowMs, fault: null });
    this.#timeline.reported(process, events);
    const earlier = (this.#samples.get(process) ?? []).filter(({ at }) => at < (samples[0]?.at ?? '~'));
    this.#samples.set(process, [...earlier, ...samples].slice(-SAMPLES_MAX));
  }

  /** Applies what Kafka and the ledger say about the members. */
  #updateMembers(states: readonly MemberState[]): void {
    // A new coordinator may know no member yet; that does not mean that they are gone.
    const isKnown = states.some(({ standing }) => standing === 'member');
    const others = states.filter(({ isThis, process }) => !isThis && process !== null && PROCESS_PATTERN.test(process));
    for (const state of others.slice(0, MEMBERS_MAX))
      this.#updateMember(isKnown ? state : { ...state, standing: 'unknown' });
    if (!isKnown) return;
    this.#hasSeenGroup = true;
    const named = new Set(others.map(({ process }) => process));
    for (const member of this.#members.values()) {
      if (!named.has(member.process)) this.#markGone(member, []);
    }
    this.#forget();
  }

  #updateMember(state: MemberState): void {
    const process = state.process ?? '';
    const known = this.#members.get(process);
    if (state.standing === 'gone' && known !== undefined) {
      this.#markGone(known, state.owned);
      return;
    }
    const isMember = state.standing === 'member';
    if (isMember && known === undefined && this.#hasSeenGroup) this.#timeline.saw(process, 'joined the group');
    if (isMember && known?.standing === 'gone') this.#timeline.saw(process, 'is in the group again');
    this.#members.set(process, {
      ...{ release: null, figures: null, answeredMs: null, fault: null, assigned: [] },
      ...known,
      ...{ process, isThis: false, owned: state.owned, ownedSince: state.since },
      goneSinceMs: isMember ? null : (known?.goneSinceMs ?? null),
      standing: state.standing === 'unknown' ? (known?.standing ?? 'unknown') : state.standing,
      host: state.host ?? known?.host ?? null,
      // Between two generations Kafka reports no addresses and no lanes.
      address: state.address ?? known?.address ?? null,
      ...(isMember && state.assigned.length > 0 ? { assigned: state.assigned } : {}),
    });
  }

  #markGone(member: KnownMember, owned: readonly number[]): void {
    const isNew = member.standing === 'member';
    const goneSinceMs = isNew ? this.#options.clock.nowMs() : member.goneSinceMs;
    this.#members.set(member.process, { ...member, standing: 'gone', owned, goneSinceMs });
    if (!isNew) return;
    const reported = member.figures?.lanes.map(({ lane }) => lane) ?? [];
    const had = reported.length > 0 ? reported : member.assigned;
    this.#timeline.saw(member.process, `is no longer in the group; had ${laneRangesInWords(had)}`);
  }

  /** Forgets members that are long gone, or beyond GONE_MAX, and own no lane; beyond MEMBERS_MAX owners too. */
  #forget(): void {
    const nowMs = this.#options.clock.nowMs();
    const gone = [...this.#members.values()]
      .filter(({ standing }) => standing === 'gone')
      .sort((left, right) => (right.goneSinceMs ?? 0) - (left.goneSinceMs ?? 0));
    gone.forEach(({ goneSinceMs, owned, process }, index) => {
      const isOld = goneSinceMs === null || nowMs - goneSinceMs > GONE_MS_MAX || index >= GONE_MAX;
      if (isOld && (owned.length === 0 || index >= MEMBERS_MAX)) this.#members.delete(process);
    });
    for (const process of this.#samples.keys()) if (!this.#members.has(process)) this.#samples.delete(process);
  }

  #ownMember(own: ProcessorState): KnownMember {
    const listed = own.members.find(({ isThis }) => isThis);
    const { address = null, assigned = [], host = null, owned = [], since = null, standing = 'unknown' } = listed ?? {};
    return {
      ...{ process: processName(own.processId), isThis: true, standing, goneSinceMs: null, host, address },
      ...{ assigned, owned, ownedSince: since, release: RELEASE, figures: own, answeredMs: null, fault: null },
    };
  }
}
