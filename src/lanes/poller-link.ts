/** Connects the status poller with the lanes: it reads the index, and publishes with the transactions of lane 0. */
import type { Logger } from 'pino';
import type { PaymentApi } from '../api/payment-api.ts';
import type { Clock } from 'payment-processor-contract/clock';
import type { Config } from 'payment-processor-contract/config';
import type { TopicOffsets } from '../consumers/topic-offsets.ts';
import { possibleEffectOf, type PossibleEffect } from '../ledger/effect.ts';
import type { Entry } from '../ledger/entry.ts';
import { TRANSACTION_PREFIX } from '../ledger/ledger-records.ts';
import { readable } from '../ledger/ledger-value.ts';
import type { OutgoingRecord } from '../producers/record-batch.ts';
import { observationRecord } from '../producers/status-events.ts';
import { laneOf } from 'payment-processor-contract/keys';
import type { LedgerEnds } from '../status/poller/outbox.ts';
import { StatusPoller, type PollerReports } from '../status/poller/poller.ts';
import { pollRecords, POLL_KEY } from '../status/poller/record.ts';
import type { PollPort } from '../status/poller/session.ts';
import { readableState } from '../status/transaction-state.ts';
import type { LedgerIndex } from './parts.ts';
import type { LedgerReader } from '../store/ledger-reader.ts';
import type { LaneSettings } from './lane-settings.ts';

/** The lane whose owner polls. */
export const POLLER_LANE = 0;

/** Limit of one submission, except for a single larger observation: a whole page may be larger than the topic's largest batch. */
const SUBMISSION_BYTES_MAX = 512 * 1024;

export interface LanePollerOptions {
  readonly config: Pick<Config, 'POLL_INTERVAL_MS' | 'POLL_START' | 'POLL_TERMINAL_FOR' | 'POLL_MAX_CALLS_PER_MINUTE'>;
  readonly laneSettings: Pick<LaneSettings, 'laneCount' | 'policy' | 'retention' | 'sessionTimeoutMs' | 'topics'>;
  readonly processId: string;
  readonly index: LedgerIndex;
  readonly reader: Pick<LedgerReader, 'position'>;
  readonly offsets: Pick<TopicOffsets, 'highWatermarks'>;
  readonly api: Pick<PaymentApi, 'listTransactions'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly reports: PollerReports;
  /** Commits records through the poller's lane; rejects when the commit is not certain. */
  readonly submit: (records: readonly OutgoingRecord[]) => Promise<void>;
}

/** For the look-up that ends a doubt, and for a takeover that takes longer than a session. */
const DOUBT_MARGIN_MS = 30_000;

/** Longest time that a dead process's calls stay in doubt: its lane is taken, then the calls end and their effects settle. */
export function heldForMsMax({ policy, sessionTimeoutMs }: Pick<LaneSettings, 'policy' | 'sessionTimeoutMs'>): number {
  return 2 * sessionTimeoutMs + policy.apiTimeoutMs + policy.settlingTimeMs + DOUBT_MARGIN_MS;
}

export function lanePoller(options: LanePollerOptions): StatusPoller {
  const { clock, config, laneSettings, log, reports } = options;
  return new StatusPoller({
    settings: {
      intervalMs: config.POLL_INTERVAL_MS,
      startMs: config.POLL_START,
      terminalForMs: config.POLL_TERMINAL_FOR,
      forgottenAfterMs: laneSettings.retention.transactionMs,
      callsPerMinuteMax: config.POLL_MAX_CALLS_PER_MINUTE,
      heldForMsMax: heldForMsMax(laneSettings),
    },
    port: portOf(options),
    clock,
    reports: {
      ...reports,
      began: (startMs, watched, unreadable) => {
        log.info({ event: 'polling', startMs, watched });
        if (unreadable > 0)
          log.warn(
            { event: 'states-unreadable', unreadable },
            'transactions whose state this release cannot read are not polled: run the release that wrote these states',
          );
      },
      leftForLater: ({ fromMs, toMs }) =>
        log.warn(
          {
            event: 'transactions-unlisted',
            createdFrom: new Date(fromMs).toISOString(),
            createdTo: new Date(toMs).toISOString(),
          },
          'the service fails to list transactions created in this range, so their statuses are not published; the poller retries every 10 minutes',
        ),
    },
    onFailure: (error) => log.warn({ event: 'poller-failed', err: error }),
  });
}

function portOf(options: LanePollerOptions): Omit<PollPort, 'wait'> {
  const { api, index, laneSettings, offsets, processId, reader, submit } = options;
  const { laneCount, topics } = laneSettings;
  // Entries are immutable: the next phase is another object.
  const effects = new WeakMap<Entry, PossibleEffect | null>();
  const effectOf = (entry: Entry): PossibleEffect | null => {
    const known = effects.get(entry);
    const effect = known === undefined ? possibleEffectOf(entry) : known;
    effects.set(entry, effect);
    return effect;
  };
  return {
    processId,
    list: (filter) => api.listTransactions(filter),
    state: (id) => {
      const value = index.value(laneOf(id, laneCount), TRANSACTION_PREFIX + id);
      return value === undefined ? undefined : readableState(value);
    },
    *states(restingSinceMs) {
      for (let lane = 0; lane < laneCount; lane += 1) {
        yield* index.transactions(lane, restingSinceMs);
      }
    },
    ledgerEnds: () => ledgerEnds({ laneCount, offsets, reader, topic: topics.ledger }),
    // A gap of one offset is the control record of the last commit. An unread commit takes at least two.
    hasApplied: (ends) => [...ends].every(([lane, end]) => reader.position(lane) + 1n >= end),
    possibleEffects: () =>
      // A lane whose entries this release cannot read is stopped, and reports why.
      Array.from({ length: laneCount }, (_, lane) => readable(() => index.unfinished(lane)) ?? [])
        .flat()
        .flatMap((entry) => effectOf(entry) ?? []),
    record: () => {
      const value = index.value(POLLER_LANE, POLL_KEY);
      return value === undefined ? null : pollRecords.decode(value);
    },
    brokersMs: () => index.checkpoint(POLLER_LANE).timestampMs,
    publish: async (observations, record) => {
      let records: OutgoingRecord[] = [];
      let bytes = 0;
      for (const observation of observations) {
        const next = observationRecord(topics.observations, laneCount, observation);
        if (next === null) continue;
        bytes += next.value?.length ?? 0;
        if (records.length > 0 && bytes > SUBMISSION_BYTES_MAX) {
          await submit(records);
          records = [];
          bytes = next.value?.length ?? 0;
        }
        records.push(next);
      }
      if (record !== null) {
        const value = pollRecords.encode(record);
        records.push({ topic: topics.ledger, partition: POLLER_LANE, key: POLL_KEY, value, headers: {} });
      }
      if (records.length > 0) await submit(records);
    },
  };
}

export interface LedgerEndsParts extends Pick<LanePollerOptions, 'offsets' | 'reader'> {
  readonly topic: string;
  readonly laneCount: number;
}

/** @throws if an end is implausible or the brokers do not answer; the caller asks again */
export async function ledgerEnds({ laneCount, offsets, reader, topic }: LedgerEndsParts): Promise<LedgerEnds> {
  // Before the brokers are asked: our reader may read records that are written while they answer.
  const positions = Array.from({ length: laneCount }, (_, lane) => reader.position(lane));
  const ends = await offsets.highWatermarks(topic);
  // For seconds after its start a broker may say that a partition ends earlier than it does.
  for (const [lane, position] of positions.entries())
    if ((ends.get(lane) ?? -1n) < position)
      throw new Error(
        `the ledger of lane ${lane} was read up to offset ${position}, but Kafka says that it ends at offset ${ends.get(lane)}`,
      );
  return ends;
}
