/**
 * A real Prometheus that scrapes the processors and evaluates their alerts.
 *
 *   started (dies with this process) -> ready -> ended
 *
 * It owns a folder with its configuration, rules and data.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePort, LOOPBACK } from 'payment-processor-local-kafka/ports';
import { logTail, startProcess, type SupervisedProcess } from 'payment-processor-local-kafka/supervised-process';
import { toolPath } from '../../dev/operations/install-tools.ts';
import { eventually } from '../../test/support/watch.ts';
import type { AlertRules } from './time-scale.ts';

/** A scrape waits up to a second for Kafka to answer with the partition ends, and must not be cut off for that. */
const SCRAPE_INTERVAL = '2s';
const EVALUATION_INTERVAL = '1s';
const READY_MS_MAX = 30_000;
/** A server on this machine that takes longer hangs. */
const ANSWER_MS_MAX = 10_000;
/** To see a counter rise takes two samples. */
const SCRAPES_MIN = 2;
const END_MS_MAX = 5_000;

export interface ActiveAlert {
  readonly state: 'pending' | 'firing';
  readonly labels: Readonly<Record<string, string>>;
}

export interface PrometheusOptions {
  readonly directory: string;
  readonly rules: AlertRules;
  /** Ports of the processors on the loopback interface, by pod name. */
  readonly targets: ReadonlyMap<string, number>;
}

export class Prometheus {
  readonly url: string;
  readonly #process: SupervisedProcess;

  private constructor(url: string, process: SupervisedProcess) {
    this.url = url;
    this.#process = process;
  }

  /** @throws Error with the end of its log if it does not become ready */
  static async start({ directory, rules, targets }: PrometheusOptions): Promise<Prometheus> {
    await mkdir(directory, { recursive: true });
    const config = {
      global: {
        scrape_interval: SCRAPE_INTERVAL,
        scrape_timeout: SCRAPE_INTERVAL,
        evaluation_interval: EVALUATION_INTERVAL,
      },
      rule_files: ['alerts.yaml'],
      scrape_configs: [
        {
          job_name: 'processor',
          static_configs: [...targets].map(([pod, port]) => ({
            targets: [`${LOOPBACK}:${port}`],
            labels: { namespace: 'game-day', pod },
          })),
        },
      ],
    };
    await writeFile(join(directory, 'alerts.yaml'), stringify(rules));
    await writeFile(join(directory, 'prometheus.yaml'), stringify(config));
    const url = `http://${LOOPBACK}:${await freePort()}`;
    const process = await startProcess({
      title: 'Prometheus',
      program: toolPath('prometheus'),
      arguments: [
        `--config.file=${join(directory, 'prometheus.yaml')}`,
        `--storage.tsdb.path=${join(directory, 'data')}`,
        `--web.listen-address=${url.slice('http://'.length)}`,
        '--log.level=warn',
      ],
      logFile: join(directory, 'prometheus.log'),
      workingDirectory: directory,
    });
    try {
      const isReady = async (): Promise<boolean> => {
        if (process.hasEnded()) throw new Error(`Prometheus ended:\n${await logTail(process.logFile)}`);
        return fetch(`${url}/-/ready`).then(
          ({ ok }) => ok,
          () => false,
        );
      };
      await eventually(isReady, (ready) => ready, 'Prometheus to be ready', READY_MS_MAX);
    } catch (error) {
      await process.end(0);
      throw error;
    }
    return new Prometheus(url, process);
  }

  /** Resolves once this many targets have been scraped: an earlier rise of a counter would go unseen. */
  async scraped(count: number): Promise<void> {
    const query = `count(count_over_time(payments_lanes_configured[1m]) >= ${SCRAPES_MIN})`;
    const ask = async (): Promise<string> => {
      const response = await fetch(`${this.url}/api/v1/query?query=${encodeURIComponent(query)}`);
      const { data } = (await response.json()) as { data: { result: { value: [number, string] }[] } };
      return data.result[0]?.value[1] ?? '0';
    };
    await eventually(ask, (found) => Number(found) >= count, 'Prometheus to scrape the processors', READY_MS_MAX);
  }

  /** Alerts that are pending or firing. */
  async alerts(): Promise<ActiveAlert[]> {
    const response = await fetch(`${this.url}/api/v1/alerts`, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    const { data } = (await response.json()) as { data: { alerts: ActiveAlert[] } };
    return data.alerts;
  }

  end(): Promise<void> {
    return this.#process.end(END_MS_MAX);
  }
}
