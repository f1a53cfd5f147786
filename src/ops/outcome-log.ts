/**
 * Logs what someone may ask about, one line each: UNKNOWN and FAILED results, dead letters, operators' decisions,
 * expired quotes, failures of our own code. Keys appear as hashes, and text from publishers is left out.
 */
import type { Logger } from 'pino';
import type { LaneReports } from '../lanes/reports.ts';
import { keyHash } from 'payment-processor-contract/key-hash';

/** The other outcomes are normal business; the metrics count them. */
const LOGGED: readonly string[] = ['UNKNOWN', 'FAILED'];

/** @param reports receives every report */
export function withOutcomeLog<Reports extends LaneReports>(reports: Reports, log: Logger): Reports {
  return {
    ...reports,
    resulted: (lane, result) => {
      reports.resulted(lane, result);
      const { commandKey, commandType, error, outcome, revision, settledBy, source } = result;
      if (!LOGGED.includes(outcome)) return;
      const code = error?.code ?? null;
      const place = { topic: source.topic, partition: source.partition, offset: String(source.offset) };
      log.info({
        event: 'result',
        lane,
        keyHash: keyHash(commandKey),
        commandType,
        outcome,
        revision,
        settledBy,
        code,
        ...place,
      });
    },
    deadLettered: (lane, letter) => {
      reports.deadLettered(lane, letter);
      const { key, lastOffset, offset, partition, reason, topic } = letter;
      const place = { topic, partition, offset: String(offset) };
      const batch = lastOffset === null ? {} : { lastOffset: String(lastOffset) };
      const hash = key === null ? null : keyHash(key.toString());
      log.info({ event: 'dead-letter', lane, keyHash: hash, reason, ...place, ...batch });
    },
    decided: (lane, key, decision, isCarriedOut, offset) => {
      reports.decided(lane, key, decision, isCarriedOut, offset);
      // Not the reason: it may name a customer, and the topic of decisions has it at this offset.
      const { decision: name, expectedRevision, operator } = decision;
      const what = { decision: name, expectedRevision, operator, isCarriedOut, offset: String(offset) };
      log.info({ event: 'operator-decision', lane, keyHash: keyHash(key), ...what });
    },
    quoteExpired: (lane, quote) => {
      reports.quoteExpired(lane, quote);
      log.warn({ event: 'quote-ran-out', lane, ...quote });
    },
    failed: (lane, where, error) => {
      reports.failed(lane, where, error);
      log.error({ event: 'own-failure', lane, where, err: error });
    },
  };
}
