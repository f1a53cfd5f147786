/**
 * A processor for the page to show: real endpoints, state, history and members, over lanes and a payment API set by a test.
 */
import { COMMAND_TYPES, type CommandType, type Outcome } from 'payment-processor-contract/commands';
import type { DeadLetterReason } from '../../src/producers/dead-letters.ts';
import { processName } from '../../src/consumers/group-processes.ts';
import { askMember } from '../../src/ops/group/ask-member.ts';
import { GroupWatch } from '../../src/ops/group/group-watch.ts';
import { memberKey } from '../../src/ops/group/member-key.ts';
import { History, SAMPLE_INTERVAL_MS } from '../../src/ops/history.ts';
import { createHttpServer, type HttpServer } from '../../src/ops/http-server.ts';
import { createMetrics } from '../../src/ops/metrics.ts';
import { operationsRoutes } from '../../src/ops/routes.ts';
import { StateReader } from '../../src/ops/state-reader.ts';
import { Timeline } from '../../src/ops/timeline.ts';
import type { LedgerLaneStatus } from '../../src/store/ledger-view.ts';
import type { InputStatus, LaneStatus } from '../../src/lanes/lane-status.ts';
import { aResult, FakeProcessor, inputStatus, laneOwner, laneStatus, ledgerLane, TOPICS } from './fake-processor.ts';

const LANES = 6;
const END = 5_000n;

export class ShownProcessor extends FakeProcessor {
  readonly errors: unknown[] = [];
  /** The group's committed offset in every command topic, by lane. */
  readonly groupOffsets = new Map(Array.from({ length: LANES }, (_, lane) => [lane, END]));
  readonly #reader = new StateReader(this.sources());
  readonly #history = new History({
    activity: this.activity,
    readState: () => this.#reader.read(),
    clock: this.clock,
    onError: (error) => this.errors.push(error),
  });
  readonly timeline = new Timeline(() => this.nowMs);
  /** Where it is served; also afterwards. */
  address: string | null = null;
  watch: GroupWatch | null = null;
  #server: HttpServer | null = null;

  constructor(startedMs?: number) {
    super(startedMs);
    this.ends = async () => new Map(Array.from({ length: LANES }, (_, lane) => [lane, { low: 0n, high: END }]));
    this.committed = async () => this.groupOffsets;
  }

  /** All lanes open, nothing waiting. */
  openLanes(): void {
    this.lanes.assigned = Array.from({ length: LANES }, (_, lane) => lane);
    this.lanes.keysRemembered = 48_211;
    for (const lane of this.lanes.assigned) this.setLane(lane, this.lane());
  }

  /** A lane with all its inputs; `change` applies to those of command types. */
  lane(changes: Partial<Record<CommandType, Partial<InputStatus>>> = {}, change: Partial<LaneStatus> = {}): LaneStatus {
    const commands = COMMAND_TYPES.map((type) =>
      inputStatus({ topic: TOPICS.commands[type], name: type, position: END, ...changes[type] }),
    );
    const others = [
      inputStatus({ topic: TOPICS.operatorDecisions, name: 'operator-decision', position: END }),
      inputStatus({ topic: TOPICS.observations, name: 'observation', position: END }),
    ];
    return laneStatus({ openedMs: this.nowMs - 60_000, inputs: [...commands, ...others], ...change });
  }

  /** Adds an UNKNOWN result to the ledger, in any lane. */
  unknown(command: CommandType, key: string, lane: number, ageMs: number): void {
    const completedMs = this.nowMs - ageMs;
    const lanes = Array.from({ length: LANES }, (_, number): LedgerLaneStatus => {
      const known = this.ledger.lanes[number] ?? ledgerLane(number, { nextOffset: END });
      if (number !== lane) return known;
      return { ...known, unknown: [...known.unknown, { command, count: 1, oldestMs: completedMs }] };
    });
    const oldestUnknown = [...this.ledger.oldestUnknown, { lane, key, command, completedMs }];
    this.ledger = { ...this.ledger, lanes, oldestUnknown };
  }

  /** Sets which process owns which lanes in the ledger. */
  owners(owners: readonly { processId: string; lanes: readonly number[]; atMs: number }[]): void {
    const lanes = Array.from({ length: LANES }, (_, lane): LedgerLaneStatus => {
      const found = owners.find((owner) => owner.lanes.includes(lane));
      const owner = found === undefined ? null : laneOwner(found.processId, found.atMs);
      return { ...(this.ledger.lanes[lane] ?? ledgerLane(lane, { nextOffset: END })), owner };
    });
    this.ledger = { ...this.ledger, lanes };
  }

  result(outcome: Outcome, commandType: CommandType = 'transfer-in', commandKey = 'key'): void {
    const times = { commandTimestamp: BigInt(this.nowMs - 180), completedAt: BigInt(this.nowMs) };
    this.activity.reports.resulted(0, aResult({ commandKey, commandType, outcome, ...times }));
  }

  call(durationMs: number): void {
    const outcome = { outcomeKind: 'accepted', isAnswered: true, httpStatus: null };
    this.activity.onCall({ operation: 'transfer-in', ...outcome, durationMs });
  }

  deadLetter(reason: DeadLetterReason): void {
    const known = this.openLetters.find((letters) => letters.reason === reason);
    const others = this.openLetters.filter((letters) => letters !== known);
    const lastAt = new Date(this.nowMs).toISOString();
    this.openLetters = [...others, { reason, count: (known?.count ?? 0) + 1, lastAt }];
  }

  /** Runs for some samples, doing something in each interval. */
  async live(samples: number, each: (index: number) => void = () => undefined): Promise<void> {
    for (let index = 0; index < samples; index += 1) {
      this.nowMs += SAMPLE_INTERVAL_MS;
      each(index);
      await this.#history.sample();
      this.timeline.seen(await this.#reader.read());
    }
  }

  /** Sets the other members of Kafka's group. */
  groupWith(...others: readonly { readonly processor: ShownProcessor; readonly lanes: readonly number[] }[]): void {
    // Kafka's last answer counts for two seconds.
    this.nowMs += 2_500;
    const memberOf = (processor: ShownProcessor, lanes: readonly number[]) => ({
      process: processName(processor.lanes.processId),
      host: '10.0.0.7',
      lanes,
      address: processor.address,
    });
    this.members = async () => [
      memberOf(this, [...this.lanes.lanes.keys()]),
      ...others.map(({ lanes, processor }) => memberOf(processor, lanes)),
    ];
  }

  /** @returns the page's URL */
  async serve(authToken: string | null = null, port = 0, askTimeoutMs?: number): Promise<string> {
    const state = this.#reader;
    const [history, timeline] = [this.#history, this.timeline];
    const onError = (error: unknown): unknown => this.errors.push(error);
    const group = new GroupWatch({
      ...{ readState: () => state.read(), samples: () => history.samples(), events: () => timeline.events() },
      ask: (question) => askMember(question, askTimeoutMs),
      // Pauses between requests pass in real time, whatever the test's clock says.
      ...{ authToken, onError, clock: { nowMs: () => this.nowMs, monotonicMs: () => performance.now() } },
    });
    this.watch = group;
    this.#server = createHttpServer({
      ...{ host: '127.0.0.1', port, authToken },
      routes: operationsRoutes({
        ...{ state, history, timeline, group, metrics: createMetrics(), command: (key) => this.command(key) },
        memberKey: () => (authToken === null || this.address === null ? null : memberKey(authToken, this.address)),
      }),
      onError: (_path, error) => onError(error),
    });
    this.address = `http://127.0.0.1:${(await this.#server.start()).port}`;
    return `${this.address}/`;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }
}
