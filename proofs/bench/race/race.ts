/**
 * The processor beside a plain consumer, interleaved: see USAGE.
 *
 * Full speed: all commands are there when the contestant starts; from the first call to the last result that a reader of
 * committed records gets. Latency: commands come at a steady rate, each timed from its publishing to its result; what comes in
 * the first ten seconds does not count. Idle: time on processors while nothing comes. Each run's correctness is checked:
 * a result and a call for each command, no more. Exit code 1 where it is not so.
 */
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parseArguments } from 'payment-processor-local-kafka/command-line';
import { kafkaAtHand } from '../../kafka-at-hand.ts';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { Stack } from '../../../test/support/stack.ts';
import { spreadOf } from '../../spread.ts';
import { memoryOf } from '../process-memory.ts';
import { CONTESTANTS, cpuMs, start, startScript, type Contestant } from './contestants.ts';
import { ResultTimes } from './result-times.ts';
import { writtenBytes } from './written-bytes.ts';

const USAGE = `Usage: npm run bench -- [options]

Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if set, else starts Kafka and a registry.

  --commands 20000, --rounds 3, --lanes 6
  --rates 200,500            commands per second of the rounds that measure latency
  --processes 1              processors; they share the call slots
  --only A,B                 contestants: ${CONTESTANTS.join(', ')}
  --json                     the figures as JSON
`;

const values = parseArguments(USAGE, (args) => {
  const { values: given } = parseArgs({
    args,
    options: {
      commands: { type: 'string', default: '20000' },
      rounds: { type: 'string', default: '3' },
      rates: { type: 'string', default: '200,500' },
      lanes: { type: 'string', default: '6' },
      processes: { type: 'string', default: '1' },
      only: { type: 'string', default: CONTESTANTS.join() },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return given.help ? null : given;
});

const SLOTS = 100;
const SERVICE_MS = 5;
const WARM_UP_MS = 10_000;
const STEADY_MS = 20_000;
const IDLE_MS = 20_000;
const MEMORY_EVERY_MS = 250;
const PUBLISHED_TOGETHER = 1_000;

interface Run {
  readonly contestant: Contestant;
  /** Figures by name; what could not be measured is left out. */
  readonly figures: Readonly<Record<string, number>>;
  readonly wrong: readonly string[];
}

const commands = Number(values.commands);
const rates = values.rates === '' ? [] : values.rates.split(',').map(Number);
const only = values.only.split(',');
const chosen = CONTESTANTS.filter((contestant) => only.includes(contestant));
const kafka = await kafkaAtHand((text) => console.error(text));
const kafkaBrokers = kafka.kafkaBrokers;
const schemaRegistryUrl = kafka.schemaRegistryUrl;
try {
  const runs: Run[] = [];
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    for (const contestant of chosen) {
      console.error(`round ${round}: ${contestant}`);
      runs.push(await measured(contestant));
    }
  }
  const environment = { cores: cpus().length, cpu: cpus()[0]?.model, node: process.version, ...values };
  console.log(values.json ? JSON.stringify({ environment, runs }, null, 2) : tableOf(runs));
  for (const { contestant, wrong } of runs) for (const text of wrong) console.error(`${contestant}: ${text}`);
  if (runs.some(({ wrong }) => wrong.length > 0)) process.exitCode = 1;
} finally {
  await kafka.stop();
}

async function measured(contestant: Contestant): Promise<Run> {
  const lanes = Number(values.lanes);
  const stack = await Stack.open({
    name: 'race',
    kafkaBrokers,
    schemaRegistryUrl,
    lanes,
    // Whoever measures takes no more of the machine than for other contestants.
    isRead: false,
    // As in operation: the tests' are short.
    settings: { KAFKA_SESSION_TIMEOUT_MS: '6000', KAFKA_HEARTBEAT_INTERVAL_MS: '1000', API_TIMEOUT_MS: '10000' },
  });
  const service = await startScript('service-stub.ts', { SERVICE_MS: String(SERVICE_MS) });
  const serviceUrl = `http://127.0.0.1:${service.line}`;
  try {
    for (let first = 0; first < commands; first += PUBLISHED_TOGETHER)
      await publish(stack, first, Math.min(PUBLISHED_TOGETHER, commands - first));
    const running = await start(contestant, stack, {
      apiBaseUrl: serviceUrl,
      lanes,
      slots: SLOTS,
      processes: Number(values.processes),
    });
    const results = await ResultTimes.open(stack.kafka, running.resultTopic);
    let ownMiB = 0;
    const memory = setInterval(() => {
      ownMiB = Math.max(ownMiB, ...running.pids.map((pid) => memoryOf(pid).anonymous));
    }, MEMORY_EVERY_MS);
    try {
      await results.until(commands);
      const tally = (await (await fetch(`${serviceUrl}/tally`)).json()) as Tally;
      const seconds = (results.lastMs() - (tally.firstCallMs ?? NaN)) / 1000;
      const figures: Record<string, number> = {
        'commands/s': commands / seconds,
        'CPU ms each': cpuMs(running.pids) / commands,
        // With one lane and two processes: of the one that only follows.
        'CPU ms each, least busy process': Math.min(...running.pids.map((pid) => cpuMs([pid]))) / commands,
      };
      figures['bytes in Kafka each'] = (await writtenBytes(stack.kafka, await topicsOf(stack))) / commands;
      let published = commands;
      for (const rate of rates) {
        const beforeMs = cpuMs(running.pids);
        const latencies = await latenciesAt(rate, stack, results, published);
        figures[`CPU ms each at ${rate}/s`] = (cpuMs(running.pids) - beforeMs) / latencies.published;
        published += latencies.published;
        const latency = spreadOf(latencies.ms);
        figures[`p50 ms at ${rate}/s`] = latency.p50;
        figures[`p99 ms at ${rate}/s`] = latency.p99;
      }
      const idleFromMs = cpuMs(running.pids);
      await sleep(IDLE_MS);
      figures['idle % of a core'] = (100 * (cpuMs(running.pids) - idleFromMs)) / IDLE_MS;
      figures['MiB at most'] = Math.max(...running.pids.map((pid) => memoryOf(pid).residentMax));
      figures['MiB without mapped files'] = ownMiB;
      const last = (await (await fetch(`${serviceUrl}/tally`)).json()) as Tally;
      const wrong = [
        ...(last.keys === published ? [] : [`${last.keys} of ${published} commands were called`]),
        ...(last.calls === published ? [] : [`${last.calls} calls for ${published} commands`]),
        ...(results.count() === published ? [] : [`${results.count()} results for ${published} commands`]),
      ];
      return { contestant, figures, wrong };
    } finally {
      clearInterval(memory);
      await Promise.all([running.stop(), results.close()]);
    }
  } finally {
    await service.stop();
    await stack.close();
  }
}

/** All that the contestant may have written to. */
async function topicsOf({ kafka, settings, topics }: Stack): Promise<string[]> {
  const all = await withAdmin(kafka, (admin) => admin.listTopics());
  return all.filter((topic) => topic.startsWith(settings.TOPIC_PREFIX) && topic !== topics.commands['transfer-in']);
}

interface Tally {
  readonly calls: number;
  readonly keys: number;
  readonly firstCallMs: number | null;
}

/** @param first number of the first command */
async function latenciesAt(
  rate: number,
  stack: Stack,
  results: ResultTimes,
  first: number,
): Promise<{ published: number; ms: number[] }> {
  const publishedMs = new Map<string, number>();
  const beganMs = Date.now();
  const sending: Promise<void>[] = [];
  let published = 0;
  while (Date.now() - beganMs < WARM_UP_MS + STEADY_MS) {
    const due = Math.floor(((Date.now() - beganMs) * rate) / 1000);
    for (; published < due; published += 1) {
      const nowMs = Date.now();
      if (nowMs - beganMs >= WARM_UP_MS) publishedMs.set(keyOf(first + published), nowMs);
      sending.push(publish(stack, first + published, 1));
    }
    await sleep(1);
  }
  await Promise.all(sending);
  await results.until(first + published);
  return { published, ms: [...publishedMs].map(([key, atMs]) => (results.atMs(key) ?? NaN) - atMs) };
}

async function publish(stack: Stack, first: number, count: number): Promise<void> {
  const messages = Array.from({ length: count }, (_, index) => ({
    key: keyOf(first + index),
    value: JSON.stringify({
      source: { accountId: 'ExternalAccount:0193b5a4-4b6f-7c1e-9d2a-5f3e8a7b6c5d' },
      destination: { accountId: 'InternalAccount:0193b5a4-4b6f-7c1e-9d2a-5f3e8a7b6c5e' },
      amount: 100_000 + index,
    }),
    headers: { 'content-type': 'application/json', 'correlation-id': keyOf(first + index) },
  }));
  await stack.publishRaw('transfer-in', ...messages);
}

function keyOf(number: number): string {
  return `race-${String(number).padStart(8, '0')}-0193b5a4-4b6f-7c1e`;
}

function tableOf(runs: readonly Run[]): string {
  const names = [...new Set(runs.flatMap(({ figures }) => Object.keys(figures)))];
  const head = ['median (least to most)', ...chosen];
  const rows = names.map((name) => [
    name,
    ...chosen.map((contestant) => {
      const found = runs.flatMap((run) => (run.contestant === contestant ? [run.figures[name] ?? NaN] : []));
      return `${rounded(spreadOf(found).p50)} (${rounded(Math.min(...found))} to ${rounded(Math.max(...found))})`;
    }),
  ]);
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function rounded(number: number): string {
  return number >= 10 ? String(Math.round(number)) : number.toPrecision(2);
}
