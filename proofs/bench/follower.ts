/**
 * What a member pays for commands of the others: `node proofs/bench/follower.ts [--commands 10000] [--json]`. Each keeps the
 * ledger of all lanes, so that it can take any over. One lane and two processors: one works, the other follows alone.
 *
 * Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if set, else an engine of its own. CPU is what the kernel counted for each
 * process, less what it took while nothing came.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { withStackAtHand } from '../kafka-at-hand.ts';
import type { RunningProcessor } from '../../test/support/processor.ts';
import type { Stack } from '../../test/support/stack.ts';
import { eventually } from '../../test/support/watch.ts';
import { sumOf } from '../soak/samples.ts';
import { transferInOf } from '../../test/support/commands.ts';
import { cpuMs, startScript } from './race/contestants.ts';
import { ResultTimes } from './race/result-times.ts';

const { values } = parseArgs({
  options: { commands: { type: 'string', default: '10000' }, json: { type: 'boolean', default: false } },
});
const commands = Number(values.commands);

const IDLE_MS = 15_000;
const PUBLISHED_TOGETHER = 500;
const FOLLOWED_MS_MAX = 120_000;
const SERVICE_MS = 5;

const settings = { KAFKA_SESSION_TIMEOUT_MS: '10000', KAFKA_HEARTBEAT_INTERVAL_MS: '1000', API_TIMEOUT_MS: '10000' };
const report = await withStackAtHand({ name: 'follower', lanes: 1, isRead: false, settings }, measure);
if (values.json) console.log(JSON.stringify(report, null, 2));
else for (const [name, value] of Object.entries(report)) console.log(`${name.padEnd(26)}${value}`);

async function measure(stack: Stack) {
  const service = await startScript('service-stub.ts', { SERVICE_MS: String(SERVICE_MS) });
  try {
    const stubbed = { API_BASE_URL: `http://127.0.0.1:${service.line}` };
    const both = [await stack.startProcessor(stubbed), await stack.startProcessor(stubbed)];
    const [worker, follower] = both.toSorted(
      (left, right) => right.assignedLanes().length - left.assignedLanes().length,
    );
    if (worker?.assignedLanes().length !== 1 || follower?.assignedLanes().length !== 0)
      throw new Error('the one lane is not with one of the two');
    const results = await ResultTimes.open(stack.kafka, stack.topics.results);
    const idleFrom = { worker: cpuMs([worker.pid]), follower: cpuMs([follower.pid]) };
    await sleep(IDLE_MS);
    const beganMs = performance.now();
    const from = { worker: cpuMs([worker.pid]), follower: cpuMs([follower.pid]) };
    for (let first = 0; first < commands; first += PUBLISHED_TOGETHER) await publish(stack, first);
    await results.until(commands);
    await keysOf(follower);
    const tookMs = performance.now() - beganMs;
    const perCommand = (name: 'worker' | 'follower', pid: number): number => {
      const idleMs = ((from[name] - idleFrom[name]) / IDLE_MS) * tookMs;
      return Number(((cpuMs([pid]) - from[name] - idleMs) / commands).toFixed(3));
    };
    await results.close();
    return {
      commands,
      seconds: Number((tookMs / 1_000).toFixed(1)),
      workerCpuMsEach: perCommand('worker', worker.pid),
      followerCpuMsEach: perCommand('follower', follower.pid),
    };
  } finally {
    await service.stop();
  }
}

async function publish(stack: Stack, first: number): Promise<void> {
  const keys = Array.from(
    { length: Math.min(PUBLISHED_TOGETHER, commands - first) },
    (_, index) => `f-${first + index}`,
  );
  await Promise.all(keys.map((key) => stack.publisher.publish('transfer-in', key, transferInOf(key))));
}

/** @returns once it knows every key of the run */
async function keysOf(follower: RunningProcessor): Promise<void> {
  await eventually(
    async () => sumOf(await follower.metrics(), 'payments_keys_remembered') ?? 0,
    (keys) => keys >= commands,
    'the follower to know every key',
    FOLLOWED_MS_MAX,
  );
}
