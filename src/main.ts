/**
 * The processor: commands from Kafka -> lanes and their ledger -> the payment API -> results and status changes to Kafka.
 *
 *   settings -> schemas and topics checked -> payment service checked -> lanes -> (SIGTERM) lanes released -> end
 */
import pino from 'pino';
import { createPaymentApi } from './api/payment-api.ts';
import { systemClock } from './api/clock.ts';
import { EXIT_CODE_CONFIG, readConfig } from './config.ts';
import { LaneSet } from './consumers/lane-set.ts';
import { RecordRegistry } from './records/registry.ts';
import { recordOfTopic, topicNames } from './records/topics.ts';

const read = readConfig(process.env);
if (!read.ok) {
  for (const p of read.problems) console.error(p);
  process.exit(EXIT_CODE_CONFIG);
}
const config = read.config;
const log = pino({ level: config.LOG_LEVEL });
const topics = topicNames(config.TOPIC_PREFIX);
const registry = new RecordRegistry({ url: config.SCHEMA_REGISTRY_URL, username: config.SCHEMA_REGISTRY_USERNAME, password: config.SCHEMA_REGISTRY_PASSWORD, records: recordOfTopic(topics) });
await registry.prepare([topics.results, topics.transactionStatusChanged, topics.quoteStatusChanged]);
const api = createPaymentApi({ baseUrl: config.API_BASE_URL, tokenId: config.API_TOKEN_ID, clientSecret: config.API_CLIENT_SECRET, timeoutMs: config.API_TIMEOUT_MS, maxConcurrency: config.API_MAX_CONCURRENCY, breakerErrorPercent: config.BREAKER_ERROR_PERCENT, breakerResetMs: config.BREAKER_RESET_MS, log: (level, event, fields) => log[level]({ event, ...fields }) });
await api.start();
const noop = () => undefined;
const lanes = new LaneSet({ config, api, registry, clock: systemClock, log, onFatal: (e) => { log.fatal(e); process.exit(1); }, reports: { resulted: noop, replayed: noop, deadLettered: noop, moved: noop, statusChanged: noop, committed: noop, failed: (l, w, e) => log.error({ l, w, err: e }) } });
await lanes.start();
process.on('SIGTERM', () => { void lanes.stop().then(() => api.close()).then(() => process.exit(0)); });
process.on('SIGINT', () => { void lanes.stop().then(() => api.close()).then(() => process.exit(0)); });
