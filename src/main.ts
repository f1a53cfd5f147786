/**
 * The processor.
 *
 *   Kafka: commands -> lanes, each with its ledger -> the payment API -> lanes -> Kafka: results, status changes
 *
 *   start    settings -> endpoints -> schemas and topics checked -> payment service checked -> lanes open. Each step waits for
 *            an answer
 *   SIGTERM  lanes released (calls end, and their answers are committed) -> the process leaves the group -> end
 */
import { createPaymentApi } from './api/payment-api.ts';
import { systemClock } from 'payment-processor-contract/clock';
import { EXIT_CODE_CONFIG, readConfig } from 'payment-processor-contract/config';
import { LaneSet } from './lanes/lane-set.ts';
import { apiSettings, servedCommandTypes } from './lanes/lane-settings.ts';
import { StartSteps } from './lanes/ownership/start-steps.ts';
import { AccessWatch, mayBeRefused, registryWatch } from './ops/access-watch.ts';
import { Activity } from './ops/activity.ts';
import { DeadLetterWatch } from './ops/dead-letter-watch.ts';
import { deploymentOf } from './ops/deployment.ts';
import { askMember } from './ops/group/ask-member.ts';
import { GroupWatch } from './ops/group/group-watch.ts';
import { memberKey } from './ops/group/member-key.ts';
import { ownAddress } from './ops/group/own-address.ts';
import { History } from './ops/history.ts';
import { createHttpServer } from './ops/http-server.ts';
import { createLogger } from './ops/logging.ts';
import { createMetrics } from './ops/metrics.ts';
import { withOutcomeLog } from './ops/outcome-log.ts';
import { operationsRoutes } from './ops/routes.ts';
import { StateReader } from './ops/state-reader.ts';
import { Timeline } from './ops/timeline.ts';
import { openTracing } from './ops/tracing.ts';
import type { KafkaAccess } from './producers/rights-check.ts';
import { RecordRegistry } from 'payment-processor-contract/registry';
import { recordOfTopic, topicNames } from 'payment-processor-contract/topics';
import { checkPrerequisites, processorAccess, refusalAtStart, StartUpProblems } from './ops/start-up.ts';

const settings = readConfig(process.env);
if (!settings.ok) {
  console.error(`Startup failed. Fix these settings and retry:\n  ${settings.problems.join('\n  ')}`);
  process.exit(EXIT_CODE_CONFIG);
}
const { config } = settings;
const clock = systemClock;
const log = createLogger(config);
const topics = topicNames(config.TOPIC_PREFIX);
const deployment = deploymentOf(config, process.env);
const metrics = createMetrics();
const activity = new Activity(metrics, () => clock.nowMs());
const timeline = new Timeline(() => clock.nowMs());
const steps = new StartSteps({ clock, log });
const tracing = await openTracing(process.env, { config, topics, clock, log });

/** Of log lines about Kafka's answers. */
const ACCESS_LEVELS = { allowed: 'info', unknown: 'warn', refused: 'error' } as const;
/** The longest that `LaneSet.stop` takes. After that the process exits even if something hangs. */
const endDeadlineMs = config.API_TIMEOUT_MS + 35_000;
let isEnding = false;
/** A function: the compiler would assume that the variable is still false when the start below reads it. */
const isEndingNow = (): boolean => isEnding;

function end(): void {
  if (isEnding) return;
  isEnding = true;
  log.info({ event: 'ending', exitCode: 0 });
  setTimeout(() => process.exit(1), endDeadlineMs).unref();
  steps.end();
  history.stop();
  group.stop();
  access.stop();
  registryAccess.stop();
  void lanes
    .stop()
    .then(() => Promise.all([api.close(), http.stop(), tracing.stop(), letters.stop()]))
    .catch((error: unknown) => log.error({ event: 'end-failed', err: error }))
    .finally(() => {
      log.info({ event: 'ended', exitCode: 0 });
      process.exit(0);
    });
}

const registry = new RecordRegistry({
  url: config.SCHEMA_REGISTRY_URL,
  username: config.SCHEMA_REGISTRY_USERNAME,
  get password() {
    return config.SCHEMA_REGISTRY_PASSWORD;
  },
  records: recordOfTopic(topics),
});
const api = createPaymentApi({
  ...apiSettings(config),
  clock,
  log: timeline.withApiLog((level, event, fields) => log[level]({ event, ...fields })),
  onCall: activity.onCall,
});
const lanes = new LaneSet({
  config,
  api,
  registry,
  clock,
  log,
  reports: timeline.withReports(withOutcomeLog(activity.reports, log)),
  traces: tracing.traces,
  steps,
  address: () => address,
  // After a restart the process can work again. Without one it would keep lanes that it cannot serve.
  onFatal: (error) => {
    log.fatal({ event: 'fatal', err: error }, 'the process cannot continue: it exits, and must be restarted');
    process.exit(1);
  },
});
const access = new AccessWatch<KafkaAccess>({
  allowed: { kind: 'allowed' },
  ask: () => processorAccess(config),
  hasProblem: async () => mayBeRefused(await state.read()),
  onChange: (found) => log[ACCESS_LEVELS[found.kind]]({ event: 'kafka-access', ...found }),
});
const registryAccess = registryWatch(registry, log);
const letters = new DeadLetterWatch({
  settings: config,
  groupId: `${config.KAFKA_GROUP_ID}-ledger-letters`,
  clientId: `${config.KAFKA_GROUP_ID}@${deployment.host}@letters`,
  topic: topics.deadLetters,
  ends: () => lanes.offsets.ends(topics.deadLetters),
  partitionCount: config.LANES,
  sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
  // The lanes' clients already log what Kafka does.
  log: () => undefined,
  onProblem: (error) => log.warn({ event: 'dead-letters-not-read', err: error }),
});
const state: StateReader = new StateReader({
  deployment,
  lanes,
  api,
  starting: () => steps.now(),
  kafkaAccess: () => access.known(),
  registryFault: () => registryAccess.known(),
  isDraining: isEndingNow,
  topics,
  commandTypes: servedCommandTypes(config),
  laneCount: config.LANES,
  callSlots: config.API_MAX_CONCURRENCY,
  unfinishedMax: config.MAX_UNFINISHED_PER_LANE,
  activity,
  letters,
  clock,
});
const history = new History({
  activity,
  readState: async () => {
    const read = await state.read();
    timeline.seen(read);
    return read;
  },
  clock,
  onError: (error) => log.error({ event: 'sample-failed', err: error }),
});
const group = new GroupWatch({
  readState: () => state.read(),
  samples: () => history.samples(),
  events: () => timeline.events(),
  ask: askMember,
  get authToken() {
    return config.HTTP_AUTH_TOKEN;
  },
  clock,
  onError: (error) => log.error({ event: 'group-read-failed', err: error }),
});
/** Address of this process's endpoints, for the other members; null until they listen. */
let address: string | null = null;
const http = createHttpServer({
  host: config.HTTP_HOST,
  port: config.HTTP_PORT,
  get authToken() {
    return config.HTTP_AUTH_TOKEN;
  },
  routes: operationsRoutes({
    state,
    metrics,
    history,
    timeline,
    group,
    command: (key) => lanes.ledger.command(key),
    memberKey: () =>
      config.HTTP_AUTH_TOKEN === null || address === null ? null : memberKey(config.HTTP_AUTH_TOKEN, address),
  }),
  onError: (path, error) => log.error({ event: 'endpoint-failed', path, err: error }),
});

process.on('SIGTERM', end);
process.on('SIGINT', end);
process.on('uncaughtException', (error) => {
  log.fatal({ event: 'uncaught', err: error });
  process.exit(1);
});

try {
  const { port } = await http.start();
  address = ownAddress(config, port);
  log.info({ event: 'listening', host: config.HTTP_HOST, port, advertised: address });
  registryAccess.start();
  await checkPrerequisites(config, registry, topics, steps);
  if (!isEndingNow()) await api.start();
  if (!isEndingNow()) {
    // Before the lanes, which may have to wait: the page already has data then, and shows why they wait.
    history.start();
    group.start();
    access.start();
    await lanes.start();
    // After the lanes: a start that waits for Kafka, or reads its ledger, should not also read dead letters.
    if (!isEndingNow()) letters.start();
  }
} catch (error) {
  // During a shutdown this error is expected: the shutdown closes the clients that the start still uses.
  if (!isEndingNow()) failStart(error);
}

function failStart(error: unknown): never {
  if (error instanceof StartUpProblems) {
    console.error(`Startup failed. Fix these and retry:\n  ${error.problems.join('\n  ')}`);
    process.exit(EXIT_CODE_CONFIG);
  }
  const refusal = refusalAtStart(error, config);
  if (refusal !== null) {
    console.error(`Startup failed. Fix these and retry:\n  ${refusal}`);
    process.exit(EXIT_CODE_CONFIG);
  }
  log.fatal({ event: 'start-failed', err: error });
  process.exit(1);
}
