/**
 * The proof by killing: `node proofs/chaos/kill-run.ts --commands 300 --kills 5 [--seed 1] [--json]`.
 * Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if set, else an engine of its own. Exit code 0 when every promise held,
 * 1 with what was wrong.
 */
import { parseArgs } from 'node:util';
import { kafkaAtHand } from '../kafka-at-hand.ts';
import { judge, type Judgement } from './kill-judgement.ts';
import { runKills, type Evidence, type KillOptions } from './kill-scenario.ts';

const { values } = parseArgs({
  options: {
    commands: { type: 'string', default: '300' },
    kills: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    json: { type: 'boolean', default: false },
  },
});

const onProgress = (line: string): void => console.error(line);
const kafka = await kafkaAtHand(onProgress);
try {
  const options: KillOptions = {
    kafkaBrokers: kafka.kafkaBrokers,
    schemaRegistryUrl: kafka.schemaRegistryUrl,
    commands: Number(values.commands),
    kills: Number(values.kills),
    seed: Number(values.seed),
    onProgress,
  };
  const evidence = await runKills(options);
  const judgement = judge(evidence);
  const report = reportOf(options, evidence, judgement);
  console.log(values.json ? JSON.stringify(report, null, 2) : textOf(report));
  process.exitCode = judgement.wrong.length === 0 ? 0 : 1;
} finally {
  await kafka.stop();
}

function reportOf(options: KillOptions, evidence: Evidence, judgement: Judgement) {
  const { commands, elapsedMs, recoveries, underWayAtKills } = evidence;
  const firstResultsMs = recoveries.map(({ firstResultMs }) => firstResultMs);
  return {
    commands: commands.length,
    kills: options.kills,
    seed: options.seed,
    elapsedMs,
    outcomes: judgement.outcomes,
    effects: judgement.effects,
    underWayAtKills: underWayAtKills.size,
    unknown: judgement.unknown,
    recoveries,
    longestRecoveryMs: Math.max(0, ...firstResultsMs),
    booksBalanced: evidence.books.balanced,
    wrong: judgement.wrong,
  };
}

function textOf(report: ReturnType<typeof reportOf>): string {
  const counts = (record: Record<string, number>): string =>
    Object.entries(record)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  const rows: [string, string][] = [
    ['commands', String(report.commands)],
    ['kills', `${report.kills} (seed ${report.seed})`],
    ['results', counts(report.outcomes)],
    ['effects', counts(report.effects)],
    ['calls under way at kills', String(report.underWayAtKills)],
    ['UNKNOWN', `${report.unknown.tookEffect} that took effect, ${report.unknown.didNot} that did not`],
    ['ready again', report.recoveries.map(({ readyMs }) => `${readyMs} ms`).join(', ')],
    ['first result', report.recoveries.map(({ firstResultMs }) => `${firstResultMs} ms`).join(', ')],
    ['elapsed', `${report.elapsedMs} ms`],
    ['books', report.booksBalanced ? 'balanced' : 'OUT OF BALANCE'],
    ['verdict', report.wrong.length === 0 ? 'every promise held' : `${report.wrong.length} broken`],
  ];
  const table = rows.map(([name, value]) => `${name.padEnd(26)}${value}`);
  return [...table, ...report.wrong.map((line) => `  ${line}`)].join('\n');
}
