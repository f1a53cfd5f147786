/** Waits until a server answers: Kafka, the registry, or any HTTP address. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { EngineError } from './errors.ts';
import { LOOPBACK } from './ports.ts';
import { logTail, type SupervisedProcess } from './supervised-process.ts';

/** Kafka takes 3 s on two idle cores; a loaded build machine may need ten times that. */
const READY_MS_MAX = 90_000;
const READY_POLL_MS = 100;
const PROBE_MS_MAX = 2_000;

type Probe = () => Promise<boolean>;

/**
 * Polls until the probe succeeds.
 * @throws {EngineError} if the process ends first, and at the deadline; both name the log and quote its end
 */
export async function waitUntilReady(server: SupervisedProcess, probe: Probe): Promise<void> {
  const startedAtMs = performance.now();
  while (performance.now() - startedAtMs < READY_MS_MAX) {
    if (server.hasEnded()) {
      throw new EngineError(
        `${server.title} ended with code ${await server.ended} before it was ready.${await logNote(server)}`,
      );
    }
    if (await probe()) return;
    await sleep(READY_POLL_MS);
  }
  throw new EngineError(`${server.title} was not ready within ${READY_MS_MAX / 1000} s.${await logNote(server)}`);
}

async function logNote(server: SupervisedProcess): Promise<string> {
  return ` Its log is ${server.logFile}; the last lines:\n${await logTail(server.logFile)}`;
}

/** True when this broker answers, knows the controller and sees at least `brokersMin` brokers, including itself. */
export function brokerProbe(port: number, nodeId: number, brokersMin: number): Probe {
  const kafka = new Kafka({
    clientId: 'engine',
    brokers: [`${LOOPBACK}:${port}`],
    logLevel: logLevel.NOTHING,
    connectionTimeout: PROBE_MS_MAX,
    requestTimeout: PROBE_MS_MAX,
    retry: { retries: 0 },
  });
  return async () => {
    const admin = kafka.admin();
    try {
      await admin.connect();
      const { brokers, controller } = await admin.describeCluster();
      return controller !== null && brokers.length >= brokersMin && brokers.some((broker) => broker.nodeId === nodeId);
    } catch {
      return false;
    } finally {
      await admin.disconnect().catch(() => undefined);
    }
  };
}

/** True when a GET request succeeds. */
export function httpProbe(url: string): Probe {
  return async () => {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_MS_MAX) });
      await response.arrayBuffer();
      return response.ok;
    } catch {
      return false;
    }
  };
}
