/**
 * Outage trials: `node proofs/chaos/outages.ts [--only 401,302] [--seed 1] [--json]`.
 *
 * Three real brokers, the registry, the sandbox and two processors that are never restarted. Each outage is lived
 * through under a load of commands that the service would accept. Exit code 0 when each was: nothing buried or refused,
 * nothing twice, readiness said why, all answered within 30 s of its end.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEngine } from '../../dev/engine/start.ts';
import { judgeChaos } from './chaos-judgement.ts';
import { OUTAGES } from './outage-list.ts';
import { runOutages, type OutageEvidence, type OutageRow } from './outage-scenario.ts';

const ANSWERED_MS_MAX = 30_000;
const NAME_WIDTH = 48;
const FIGURE_WIDTH = 12;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const wanted = values.only.split(',').filter((part) => part !== '');
const outages = OUTAGES.filter(
  ({ name }, index) => index === 0 || wanted.length === 0 || wanted.some((part) => name.includes(part)),
);
const onProgress = (line: string): void => console.error(line);

const directory = await mkdtemp(join(tmpdir(), 'payment-outages-'));
const engine = await startEngine({ brokers: 3, directory: join(directory, 'engine'), onProgress });
let hasFailed = true;
try {
  const evidence = await runOutages({ engine, directory, outages, seed: Number(values.seed), onProgress });
  const wrong = [...judgeChaos(evidence).wrong, ...judgeRows(evidence)];
  hasFailed = wrong.length > 0;
  const memoryMegabytes = Math.round(Math.max(...evidence.residentBytesMax.values()) / 1024 / 1024);
  if (values.json) console.log(JSON.stringify({ rows: evidence.rows, memoryMegabytes, wrong }, null, 2));
  else
    console.log([...tableOf(evidence.rows), `memory: ${memoryMegabytes} MB at most`, ...verdictOf(wrong)].join('\n'));
} finally {
  await engine.stop();
  if (hasFailed) console.error(`logs are in ${directory}`);
  else await rm(directory, { recursive: true, force: true });
  process.exitCode = hasFailed ? 1 : 0;
}

function judgeRows({ ownEnds, rows }: OutageEvidence): string[] {
  const wrong = rows.flatMap(({ allAnsweredMs, name, saidWhy }) => [
    ...(allAnsweredMs !== null && allAnsweredMs <= ANSWERED_MS_MAX
      ? []
      : [`${name}: all answered after ${allAnsweredMs ?? 'the limit,'} ms, not within ${ANSWERED_MS_MAX} ms`]),
    ...(saidWhy ? [] : [`${name}: readiness did not say why`]),
  ]);
  return ownEnds === 0 ? wrong : [...wrong, `${ownEnds} processors ended by themselves`];
}

function tableOf(rows: readonly OutageRow[]): string[] {
  const line = (name: string, ...figures: (string | number)[]): string =>
    name.padEnd(NAME_WIDTH) + figures.map((figure) => String(figure).padEnd(FIGURE_WIDTH)).join('');
  return [
    line('outage', 'commands', 'lasted', 'meanwhile', 'after', 'readiness'),
    ...rows.map(({ allAnsweredMs, answeredDuring, commands, lastedMs, name, reasons }) =>
      line(
        name,
        commands,
        `${lastedMs} ms`,
        `${answeredDuring}`,
        allAnsweredMs === null ? 'never' : `${allAnsweredMs} ms`,
        reasons.join(' | ') || 'ready',
      ),
    ),
  ];
}

function verdictOf(wrong: readonly string[]): string[] {
  if (wrong.length === 0) return ['every outage was lived through'];
  return [`${wrong.length} broken`, ...wrong.slice(0, 60).map((text) => `  ${text}`)];
}
