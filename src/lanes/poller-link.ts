/** The status poller as the lanes see it: what it needs of the index and of lane 0, whose transactions carry what it publishes. */
import type { PaymentApi } from '../api/payment-api.ts';
import { TRANSACTION_PREFIX } from '../ledger/ledger-records.ts';
import type { OutgoingRecord } from '../producers/lane-producer.ts';
import { laneOf } from '../records/keys.ts';
import type { TopicNames } from '../records/topics.ts';
import { encodeObservation, observationKey, type Observation } from '../status/observation.ts';
import { decodePollRecord, encodePollRecord, POLL_KEY } from '../status/poller/record.ts';
import type { PollPort } from '../status/poller/session.ts';
import { decodeTransactionState } from '../status/transaction-state.ts';
import type { LedgerIndex } from '../store/ledger-index.ts';

/** The lane whose owner polls. */
export const POLLER_LANE = 0;

/** Of what is submitted at once, one larger observation apart: a page may be larger than a batch of the topic. */
const SUBMISSION_BYTES_MAX = 512 * 1024;

export interface PollerLinkOptions {
  readonly processId: string;
  readonly laneCount: number;
  readonly topics: TopicNames;
  readonly index: LedgerIndex;
  readonly api: Pick<PaymentApi, 'listTransactions'>;
  /** Commits records through the poller's lane; rejects when that is not certain. */
  readonly submit: (records: readonly OutgoingRecord[]) => Promise<void>;
}

export function pollerPort(options: PollerLinkOptions): Omit<PollPort, 'wait'> {
  const { api, index, laneCount, processId, submit, topics } = options;
  return {
    processId,
    list: (filter) => api.listTransactions(filter),
    state: (id) => {
      const value = index.value(laneOf(id, laneCount), TRANSACTION_PREFIX + id);
      return value === undefined ? undefined : decodeTransactionState(value);
    },
    *states(restingSinceMs) {
      for (let lane = 0; lane < laneCount; lane += 1) {
        yield* index.transactions(lane, restingSinceMs);
      }
    },
    record: () => {
      const value = index.value(POLLER_LANE, POLL_KEY);
      return value === undefined ? null : decodePollRecord(value);
    },
    publish: async (observations, record) => {
      let records: OutgoingRecord[] = [];
      let bytes = 0;
      for (const observation of observations) {
        const next = observationRecord(observation, topics, laneCount);
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
        const value = encodePollRecord(record);
        records.push({ topic: topics.ledger, partition: POLLER_LANE, key: POLL_KEY, value, headers: {} });
      }
      if (records.length > 0) await submit(records);
    },
  };
}

function observationRecord(observation: Observation, topics: TopicNames, laneCount: number): OutgoingRecord | null {
  const key = observationKey(observation);
  if (key === null) return null;
  const value = encodeObservation(observation);
  return { topic: topics.observations, partition: laneOf(key, laneCount), key, value, headers: {} };
}
