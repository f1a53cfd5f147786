/**
 * The proof of status changes: `node proofs/chaos/status-run.ts --transactions 10000 --processors 2 --kill-every-seconds 20
 * [--per-second 20] [--settle-seconds 10] [--poll-interval-ms 5000] [--calls-per-minute 600] [--seed 1] [--json]
 * [--keep-logs]`.
 * Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if set, else an engine of its own. Exit code 0 when every promise held,
 * 1 with what was wrong.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { kafkaAtHand } from '../kafka-at-hand.ts';
import { FAILURE_REASONS } from '../../dev/sandbox/scenarios.ts';
import { judgeStatusHistory } from './status-history.ts';
import { PAYMENT_KINDS } from './status-payments.ts';
import { statusReportOf, statusTextOf } from './status-report.ts';
import { runStatuses, type StatusRunOptions } from './status-scenario.ts';

const { values } = parseArgs({
  options: {
    transactions: { type: 'string', default: '10000' },
    processors: { type: 'string', default: '2' },
    'kill-every-seconds': { type: 'string', default: '20' },
    'per-second': { type: 'string', default: '20' },
    'settle-seconds': { type: 'string', default: '10' },
    'poll-interval-ms': { type: 'string', default: '5000' },
    'calls-per-minute': { type: 'string', default: '600' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    json: { type: 'boolean', default: false },
    'keep-logs': { type: 'boolean', default: false },
  },
});

const TROUBLED_SHARE = 0.55;
/** With fewer transactions not every status and reason need occur. */
const COVERING_TRANSACTIONS = 1_000;
const STATUSES = ['CREATED', 'PENDING', 'PROCESSING', 'SENT', 'COMPLETED', 'REJECTED', 'FAILED', 'REFUNDED', 'EXPIRED'];

const onProgress = (line: string): void => console.error(line);
const logDirectory = await mkdtemp(join(tmpdir(), 'payment-status-'));
const kafka = await kafkaAtHand(onProgress);
let hasFailed = true;
try {
  const options: StatusRunOptions = {
    kafkaBrokers: kafka.kafkaBrokers,
    schemaRegistryUrl: kafka.schemaRegistryUrl,
    logDirectory,
    transactions: Number(values.transactions),
    perSecond: Number(values['per-second']),
    processors: Number(values.processors),
    killEveryMs: Number(values['kill-every-seconds']) * 1000,
    settleMs: Number(values['settle-seconds']) * 1000,
    pollIntervalMs: Number(values['poll-interval-ms']),
    callsPerMinuteMax: Number(values['calls-per-minute']),
    kinds: PAYMENT_KINDS,
    troubledShare: TROUBLED_SHARE,
    seed: Number(values.seed),
    onProgress,
  };
  const evidence = await runStatuses(options);
  const isCovering = options.transactions >= COVERING_TRANSACTIONS;
  const due = { statuses: isCovering ? STATUSES : [], failureReasons: isCovering ? FAILURE_REASONS : [] };
  const report = statusReportOf(options, evidence, judgeStatusHistory(evidence), due);
  hasFailed = report.wrong.length > 0;
  console.log(values.json ? JSON.stringify(report, null, 2) : statusTextOf(report));
} finally {
  await kafka.stop();
  if (hasFailed || values['keep-logs']) console.error(`logs are in ${logDirectory}`);
  else await rm(logDirectory, { recursive: true, force: true });
  process.exitCode = hasFailed ? 1 : 0;
}
