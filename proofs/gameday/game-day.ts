/**
 * A game day: `node proofs/gameday/game-day.ts [--only stalled,unknown] [--time-scale 20] [--keep-logs]`.
 *
 * A real Kafka, registry, sandbox and two processors on this machine, and a real Prometheus with the chart's alerts. Each
 * fault is injected, its alerts fire, the runbooks' actions are taken, and the alerts clear. Exit code 0 if all did; 1 with
 * what did not and where the logs are; 2 for wrong arguments. Ctrl-C ends everything.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { freePort } from 'payment-processor-local-kafka/ports';
import { startEngine } from 'payment-processor-local-kafka/start';
import { installTool } from '../../dev/operations/install-tools.ts';
import { securityAt } from './access.ts';
import { AlertWatch } from './alert-watch.ts';
import { Endings } from './endings.ts';
import { coverageProblems, FAULTS } from './fault-list.ts';
import { problemsOf, textOf, type GameDay } from './game-day-report.ts';
import { Prometheus } from './prometheus.ts';
import { runFaults } from './run-faults.ts';
import { LEDGER_RETENTION_SECONDS, Scene, USUAL_SLOTS } from './scene.ts';
import { scaledRules, type AlertRules } from './time-scale.ts';

const EXIT_CODE_ARGUMENTS = 2;
/** At 30 a window of 5 minutes still holds several scrapes; at 1 durations stay as they are. */
const TIME_SCALE_MAX = 30;
/** Enough to name a few commands. */
const PROBLEM_CHARACTERS_MAX = 200;
const ALERTS_FILE = new URL('../../helm/files/alerts.yaml', import.meta.url);

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    'time-scale': { type: 'string', default: '20' },
    'keep-logs': { type: 'boolean', default: false },
  },
});
const onProgress = (line: string): void => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`);

const timeScale = Number(values['time-scale']);
if (!(timeScale >= 1 && timeScale <= TIME_SCALE_MAX)) refuse(`--time-scale is a number from 1 to ${TIME_SCALE_MAX}`);
const wanted = values.only.split(',').filter((name) => name !== '');
for (const name of wanted) {
  if (!FAULTS.some((fault) => fault.name === name))
    refuse(`${name} is none of ${FAULTS.map((fault) => fault.name).join(', ')}`);
}
const faults = FAULTS.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
// As in the chart: half of LEDGER_RETENTION.
const text = (await readFile(ALERTS_FILE, 'utf8')).replaceAll('302400', String(LEDGER_RETENTION_SECONDS / 2));
const rules = parse(text) as AlertRules;
const alerts = rules.groups.flatMap((group) => group.rules);
const uncovered = coverageProblems(alerts.map(({ alert }) => alert));
if (uncovered.length > 0) refuse(uncovered.join('\n'));

function refuse(problem: string): never {
  console.error(problem);
  process.exit(EXIT_CODE_ARGUMENTS);
}

const directory = await mkdtemp(join(tmpdir(), 'payment-game-day-'));
const endings = new Endings(onProgress);
let day: GameDay | null = null;
try {
  const beganMs = performance.now();
  await installTool('prometheus', onProgress);
  const namedPort = await freePort();
  const security = securityAt(namedPort);
  const engine = await startEngine({ directory: join(directory, 'engine'), security, onProgress });
  endings.add(() => engine.stop());
  const scene = await Scene.open(engine, namedPort, directory, onProgress);
  endings.add(() => scene.close());
  const prometheus = await Prometheus.start({
    directory: join(directory, 'prometheus'),
    rules: scaledRules(rules, timeScale),
    targets: scene.slots.ports,
  });
  endings.add(() => prometheus.end());
  await prometheus.scraped(USUAL_SLOTS.length);
  const watch = new AlertWatch(prometheus);
  endings.add(() => watch.close());
  onProgress(`Prometheus is at ${prometheus.url}, durations divided by ${timeScale}; ${faults.length} faults`);
  const pages = new Set(alerts.filter(({ labels }) => labels['severity'] === 'page').map(({ alert }) => alert));
  const rows = await runFaults({ scene, watch, faults, timeScale, pages, onProgress });
  const wrong: string[] = [];
  await scene.load
    .settled()
    .catch((error: unknown) => void wrong.push(`the ordinary load: ${String(error).slice(0, PROBLEM_CHARACTERS_MAX)}`));
  day = {
    timeScale,
    rows,
    wrong,
    commands: scene.load.publishedMs.size,
    seconds: (performance.now() - beganMs) / 1_000,
  };
  await writeFile(join(directory, 'report.json'), JSON.stringify(day, null, 2));
  console.log(textOf(day));
} finally {
  await endings.endAll();
  const hasPassed = day !== null && problemsOf(day).length === 0;
  if (hasPassed && !values['keep-logs']) await rm(directory, { recursive: true, force: true });
  else onProgress(`logs and report are in ${directory}`);
  process.exitCode = hasPassed ? 0 : 1;
}
