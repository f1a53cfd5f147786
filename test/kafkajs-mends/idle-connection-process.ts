/**
 * A process that connects to Kafka, lets its connections idle and prints, as JSON, which timers there were meanwhile.
 * Argument: the brokers, separated by commas.
 */
import { createHook } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs from 'kafkajs';

export interface IdleReport {
  /** Clients that connected. */
  connections: number;
  /** Timers that were waiting when the last answer had come. */
  timersHeld: number;
  timersStarted: number;
  timersRun: number;
  /** Names of the warnings that Node gave, TimeoutNegativeWarning among them. */
  warnings: string[];
}

/** As shipped, each connection runs a timer per millisecond. */
const IDLE_MS = 200;

const warnings: string[] = [];
process.on('warning', ({ name }) => warnings.push(name));

const kafka = new kafkajs.Kafka({ brokers: (process.argv[2] ?? '').split(','), logLevel: kafkajs.logLevel.NOTHING });
const clients = [kafka.admin(), kafka.producer({ idempotent: true })];
for (const client of clients) await client.connect();

const timersHeld = process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;
const idle = sleep(IDLE_MS);
const timers = { started: 0, run: 0 };
const timerIds = new Set<number>();
const hook = createHook({
  init: (asyncId, type) => {
    if (type !== 'Timeout') return;
    timerIds.add(asyncId);
    timers.started += 1;
  },
  before: (asyncId) => {
    if (timerIds.has(asyncId)) timers.run += 1;
  },
});
hook.enable();
await idle;
hook.disable();

for (const client of clients) await client.disconnect();
const report: IdleReport = {
  connections: clients.length,
  timersHeld,
  timersStarted: timers.started,
  timersRun: timers.run,
  warnings,
};
process.stdout.write(JSON.stringify(report));
