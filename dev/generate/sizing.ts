/**
 * How large a deployment has to be: measured costs of one command, and what follows from them. Pure.
 *
 * A group is one TOPIC_PREFIX with one ledger. Where one is not enough, the commands are shared out among several by key.
 */

/** Measured; where, is said in docs/sizing.md. */
export const COSTS = {
  /** CPU of a member for a command of its own lanes, without the transactions that it shares with others, ms. */
  ownCpuMs: 0.5,
  /** CPU of a member for a command of another's lanes: it follows the ledger of all, ms. */
  followedCpuMs: 0.145,
  transactionCpuMs: 2.5,
  /** One after the other: they grow larger, not more. */
  transactionsPerSecondMax: 50,
  transactionsPerCommand: 2,
  /** Of a core, while nothing comes: a part for the process, and one for each lane of the group. */
  idleCores: 0.022,
  idleCoresPerLane: 0.0005,
  /** On each member's disk, of each key that is remembered, bytes. */
  storeBytesPerKey: 1_400,
  /** Read from Kafka into a store that is empty, keys per second. */
  rebuiltKeysPerSecond: 9_500,
  /** Results and events, a command, bytes before replication. */
  outputBytes: 3_070,
  /** Commands and observations, the same. */
  inputBytes: 1_500,
  /** Of the ledger, once it is compacted, the same for each key. */
  ledgerBytesPerKey: 700,
} as const;

/** Of a member while another one is away: room for a busy minute. */
const BUSY_CORES_MAX = 0.7;
/** For calls that take longer than the mean, and for bursts. */
const SLOTS_HEADROOM = 2;
/** Of `API_MAX_CONCURRENCY`. */
const SLOTS_DEFAULT = 100;
const SLOTS_MAX = 1_000;
const MEMBERS_MIN = 2;
/** So that lanes can be shared out evenly, and members added: the number of lanes is fixed for the life of a prefix. */
const LANES_PER_MEMBER = 3;
/** Nobody has tried more. */
const LANE_NUMBERS = [6, 12, 24, 48, 96];
const DAY_SECONDS = 86_400;
const OUTPUT_DAYS = 30;
const PAGE = 100;
/** `POLL_MAX_CALLS_PER_MINUTE`. */
const POLL_CALLS_DEFAULT = 120;
const POLL_INTERVAL_SECONDS = 5;
/** Transactions come and go all the time. */
const POLL_HEADROOM = 1.5;
/** Between the answer with a page and the next question: it is judged and published. */
const PAGE_MS = 30;
/** Address space of the store. */
const STORE_MAP_BYTES = 64 * 1024 ** 3;
const REBUILD_SECONDS_MAX = 3_600;

export interface Demand {
  readonly commandsPerSecond: number;
  /** Of a call of the service, mean. */
  readonly latencyMs: number;
  /** `LEDGER_RETENTION`. */
  readonly retentionDays: number;
  /** Until nearly all payments have their last status: pages show those that have it between those that have not. */
  readonly openSeconds: number;
}

/** Figures but for those of the whole are of one group. */
export interface Size {
  readonly groups: number;
  readonly members: number;
  readonly lanes: number;
  /** Calls under way, mean. */
  readonly callsUnderWay: number;
  /** `API_MAX_CONCURRENCY`. */
  readonly slots: number;
  /** Of each member, cores: with all of them, and while one is away. */
  readonly busyCores: number;
  readonly busyCoresOneAway: number;
  /** On each member's disk, bytes. */
  readonly storeBytes: number;
  readonly rebuildSeconds: number;
  /** Longest `LEDGER_RETENTION` whose store fits into its address space. */
  readonly fittingDays: number;
  /** Of the whole, before replication. */
  readonly kafkaBytes: number;
  /** Calls per minute that a poller needs for all transactions of the account, and those that it can make. */
  readonly pollCallsNeeded: number;
  readonly pollCallsPossible: number;
  /** What gives way, the worst first. */
  readonly breaks: readonly Breaking[];
}

export type Breaking = 'following' | 'discovery' | 'revisits' | 'store' | 'rebuild' | 'poll-budget' | 'slots';

export function sizeOf(demand: Demand): Size {
  const { commandsPerSecond, latencyMs, openSeconds, retentionDays } = demand;
  for (let groups = 1; ; groups += 1) {
    const rate = commandsPerSecond / groups;
    const callsUnderWay = (rate * latencyMs) / 1_000;
    const members = membersOf(rate, callsUnderWay);
    if (members === null) continue;
    const lanes = lanesOf(members) ?? 0;
    const keys = rate * retentionDays * DAY_SECONDS;
    const keysPerDay = commandsPerSecond * DAY_SECONDS;
    const discovered = (commandsPerSecond * 60) / PAGE;
    const revisited = (commandsPerSecond * openSeconds * 60) / (PAGE * POLL_INTERVAL_SECONDS);
    const size = {
      groups,
      members,
      lanes,
      callsUnderWay,
      slots: slotsOf(callsUnderWay, members),
      busyCores: busyCoresOf(rate, members, lanes),
      busyCoresOneAway: busyCoresOf(rate, members - 1, lanes),
      storeBytes: keys * COSTS.storeBytesPerKey,
      rebuildSeconds: keys / COSTS.rebuiltKeysPerSecond,
      fittingDays: STORE_MAP_BYTES / (rate * DAY_SECONDS * COSTS.storeBytesPerKey),
      kafkaBytes:
        keysPerDay * (COSTS.outputBytes * OUTPUT_DAYS + (COSTS.inputBytes + COSTS.ledgerBytesPerKey) * retentionDays),
      // A page of the young shows what is new as well.
      pollCallsNeeded: Math.max(discovered, revisited) * POLL_HEADROOM,
      pollCallsPossible: 60_000 / (latencyMs + PAGE_MS),
    };
    return { ...size, breaks: breaksOf(size, discovered) };
  }
}

/** Commands per second of which the following of their ledger alone keeps a member busy. */
export function followingLimit(): number {
  return (BUSY_CORES_MAX * 1_000) / COSTS.followedCpuMs;
}

/** New transactions per second that one process finds at most, page after page. */
export function discoveryLimit(latencyMs: number): number {
  return (PAGE * 1_000) / (latencyMs + PAGE_MS);
}

/** Null: more than one group can have. */
function membersOf(commandsPerSecond: number, callsUnderWay: number): number | null {
  for (let members = MEMBERS_MIN; ; members += 1) {
    const lanes = lanesOf(members);
    if (lanes === null) return null;
    const busyCores = busyCoresOf(commandsPerSecond, members - 1, lanes);
    if (busyCores <= BUSY_CORES_MAX && slotsOf(callsUnderWay, members) <= SLOTS_MAX) return members;
  }
}

function lanesOf(members: number): number | null {
  return LANE_NUMBERS.find((lanes) => lanes >= members * LANES_PER_MEMBER) ?? null;
}

/** Enough while one is away. */
function slotsOf(callsUnderWay: number, members: number): number {
  return Math.max(SLOTS_DEFAULT, Math.ceil((callsUnderWay * SLOTS_HEADROOM) / (members - 1)));
}

function busyCoresOf(commandsPerSecond: number, members: number, lanes: number): number {
  const own = commandsPerSecond / members;
  const transactions = Math.min(COSTS.transactionsPerSecondMax, own * COSTS.transactionsPerCommand);
  const cpuMs =
    own * COSTS.ownCpuMs + transactions * COSTS.transactionCpuMs + (commandsPerSecond - own) * COSTS.followedCpuMs;
  return cpuMs / 1_000 + COSTS.idleCores + lanes * COSTS.idleCoresPerLane;
}

function breaksOf(
  { groups, pollCallsNeeded, pollCallsPossible, rebuildSeconds, slots, storeBytes }: Omit<Size, 'breaks'>,
  discoveredPerMinute: number,
): Breaking[] {
  const isFound = discoveredPerMinute <= pollCallsPossible;
  const found: [Breaking, boolean][] = [
    ['following', groups > 1],
    ['discovery', !isFound],
    ['revisits', isFound && pollCallsNeeded > pollCallsPossible],
    ['store', storeBytes > STORE_MAP_BYTES],
    ['rebuild', rebuildSeconds > REBUILD_SECONDS_MAX],
    ['poll-budget', pollCallsNeeded > POLL_CALLS_DEFAULT && pollCallsNeeded <= pollCallsPossible],
    ['slots', slots > SLOTS_DEFAULT],
  ];
  return found.filter(([, isSo]) => isSo).map(([name]) => name);
}
