/**
 * One processor in a simulation: the real lanes with all their parts (group member, ledger reader, producers, calls,
 * look-ups, poller) and the real payment API, over simulated brokers and a simulated service. Its store is in memory.
 */
import type { Logger } from 'pino';
import type { HttpClient, HttpClientOptions } from '../../src/api/client.ts';
import { createPaymentApi, type PaymentApi } from '../../src/api/payment-api.ts';
import { apiSettings } from '../../src/lanes/lane-settings.ts';
import { readConfig, type Config } from 'payment-processor-contract/config';
import { LaneSet, type LaneSetOptions } from '../../src/lanes/lane-set.ts';
import { servedCommandTypes } from '../../src/lanes/lane-settings.ts';
import { StartSteps } from '../../src/lanes/ownership/start-steps.ts';
import { readiness, type Readiness } from '../../src/ops/health.ts';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';
import type { RecordRegistry } from 'payment-processor-contract/registry';
import type { CommandResult } from 'payment-processor-contract/types';
import type { PollReports } from '../../src/status/poller/session.ts';
import type { MemoryIndex } from './memory-index.ts';
import type { Scenario } from './scenario.ts';
import type { Caller } from './simulated-service.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface ProcessOptions {
  readonly name: string;
  readonly time: VirtualTime;
  readonly config: Config;
  readonly registry: RecordRegistry;
  readonly service: { client(caller: Caller, options: HttpClientOptions): HttpClient };
  readonly index: MemoryIndex;
  readonly clockAheadMs: number;
  readonly random: () => number;
  readonly log: (line: string) => void;
  /** Every line of its log, as it would be written. */
  readonly onLine?: (level: string, fields: Record<string, unknown>) => void;
  /** The reports of its lanes; undefined: nothing is reported. */
  readonly reports?: (log: Logger) => LaneSetOptions['reports'];
  /** The process must exit. */
  readonly onFatal: (process: SimulatedProcess, error: Error) => void;
  /** Counts results, as the metrics do; ignored if `reports` is given. */
  readonly onResult?: (result: CommandResult) => void;
  /** Our own code failed on a message: a bug, even if it had no consequences. */
  readonly onFailure: (error: unknown) => void;
  /** Called when the process was killed or has ended. */
  readonly onDeath: () => void;
}

export class SimulatedProcess implements Caller {
  readonly name: string;
  clockAheadMs: number;
  readonly held: (() => void)[] = [];
  #isAlive = true;
  isFrozen = false;
  isStopping = false;
  dialling = 0;
  readonly #options: ProcessOptions;
  #lanes: LaneSet | null = null;
  #api: PaymentApi | null = null;
  #steps: StartSteps | null = null;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.name = options.name;
    this.clockAheadMs = options.clockAheadMs;
    const failed = (error: unknown): void => options.onFatal(this, error as Error);
    options.time.after(0, this, () => void this.#run().catch(failed));
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  set isAlive(isAlive: boolean) {
    this.#isAlive = isAlive;
    if (!isAlive) this.#options.onDeath();
  }

  /** The process id in the ledger. */
  processId(): string {
    return this.#lanes?.status().processId ?? '';
  }

  /** Lanes that cannot go on without an operator, and why. */
  stoppedLanes(): Map<number, string> {
    const lanes = [...(this.#lanes?.status().lanes ?? [])].filter(([, { stage }]) => stage === 'stopped');
    return new Map(lanes.map(([lane, { stoppedReason }]) => [lane, stoppedReason ?? '']));
  }

  /** Lanes on which it works. */
  openLanes(): number[] {
    const lanes = [...(this.#lanes?.status().lanes ?? [])];
    return lanes.filter(([, { stage }]) => stage === 'open').map(([lane]) => lane);
  }

  /** Whether one of its lanes is neither open nor stopped yet. */
  isTakingLanes(): boolean {
    return [...(this.#lanes?.status().lanes.values() ?? [])].some(({ stage }) => stage === 'acquiring');
  }

  /** Its readiness, apart from access to Kafka and the registry; null: it has not started yet. */
  readiness(): Readiness | null {
    if (this.#lanes === null || this.#api === null || this.#steps === null) return null;
    return readiness({
      isDraining: this.isStopping,
      starting: this.#steps.now(),
      lanes: this.#lanes.status(),
      kafkaAccess: { kind: 'allowed' },
      registryFault: null,
      api: this.#api.snapshot(),
      servedOperations: servedCommandTypes(this.#options.config),
    });
  }

  /** Ends in order, as on SIGTERM. */
  end(whenEnded: () => void): void {
    this.isStopping = true;
    this.#options.time.after(0, this, () => void this.#lanes?.stop().then(whenEnded));
  }

  async #run(): Promise<void> {
    const { config, index, onFailure, onFatal, onResult, random, registry, reports, service, time } = this.#options;
    const clock = time.clockOf(this);
    const api = createPaymentApi({
      ...apiSettings(config),
      clock,
      random,
      log: (level, event, fields) => this.#logger()[level]({ event, ...fields }),
      makeClient: (made) => service.client(this, made),
    });
    this.#api = api;
    this.#steps = new StartSteps({ clock, log: this.#logger() });
    const failed = (_lane: number, _where: string, error: unknown): void => onFailure(error);
    const resulted = (_lane: number, result: CommandResult): void => onResult?.(result);
    const parts = {
      config,
      api,
      registry,
      clock,
      log: this.#logger(),
      reports: reports?.(this.#logger()) ?? tellingNobody({ failed, resulted, poll: POLL_REPORTS }),
      traces: tellingNobody({}),
      steps: this.#steps,
      onFatal: (error: Error) => onFatal(this, error),
      index,
    };
    this.#lanes = new LaneSet(parts as unknown as LaneSetOptions);
    await api.start();
    await this.#lanes.start();
  }

  #logger(): Logger {
    const { log, onLine } = this.#options;
    const at =
      (level: string) =>
      (fields: Record<string, unknown>): void => {
        const { event, lane, err, problem, lanes } = fields;
        const about = [event, lane, lanes, (err as Error | undefined)?.message, problem];
        log([this.name, ...about.filter((part) => part !== undefined)].map(String).join(' '));
        onLine?.(level, fields);
      };
    const levels = { info: at('info'), warn: at('warn'), error: at('error'), fatal: at('fatal') };
    return { debug: () => undefined, ...levels } as unknown as Logger;
  }
}

/** Settings with the shortest times that are allowed, because histories are long enough. */
export function simulatedConfig(
  { apiTimeoutMs, breakerErrorPercent, callsPerSecond, honourKeys, laneCount }: Scenario,
  others: Readonly<Record<string, string>> = {},
): Config {
  const settings = {
    KAFKA_BROKERS: 'simulated:9092',
    SCHEMA_REGISTRY_URL: 'http://simulated',
    API_BASE_URL: 'http://simulated',
    API_TOKEN_ID: 'token',
    API_CLIENT_SECRET: 'secret',
    TOPIC_PREFIX: 'simulated',
    LANES: String(laneCount),
    API_TIMEOUT_MS: String(apiTimeoutMs),
    SETTLING_TIME_MS: String(SETTLING_TIME_MS),
    API_MAX_CONCURRENCY: '4',
    ...(callsPerSecond !== null && { API_MAX_RPS: String(callsPerSecond) }),
    API_IDEMPOTENT_OPERATIONS: honourKeys.join(','),
    BREAKER_ERROR_PERCENT: String(breakerErrorPercent),
    BREAKER_RESET_MS: '2000',
    COMMAND_MAX_AGE: COMMAND_TYPES.map((type) => `${type}=${COMMAND_MAX_AGE}`).join(','),
    SANDBOX_COMMANDS: 'true',
    ...others,
  };
  const read = readConfig(settings);
  if (!read.ok) throw new Error(read.problems.join('\n'));
  return read.config;
}

/** Longer than a history, except refusals that the service repeats for ever. At one call a second its calls take two minutes. */
const COMMAND_MAX_AGE = '3m';

/** Every late effect happens within this time. */
export const SETTLING_TIME_MS = 3_000;
/** The longest time from a call's loss to its effect: almost the settling time, so that an earlier look-up may miss it. */
export const LATE_MS_MAX = 0.9 * SETTLING_TIME_MS;

const silence = (): void => undefined;
const POLL_REPORTS: LaneSetOptions['reports']['poll'] & PollReports = {
  began: silence,
  called: silence,
  published: silence,
  waitedForBudget: silence,
  watching: silence,
  leftForLater: silence,
  swept: silence,
  polling: silence,
};

/** Ignores all reports and traces except the given ones. */
function tellingNobody(given: Record<string, unknown>): unknown {
  return new Proxy(given, { get: (target, name) => target[name as string] ?? silence });
}
