/** Runs many histories and reports the findings: see USAGE. */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { availableParallelism } from 'node:os';
import { parseArguments } from 'payment-processor-local-kafka/command-line';
import { DISTURBANCES, type Disturbance, type DisturbanceChoice } from './disturbances.ts';
import { HistoryProcess, type Task } from './history-process.ts';
import { MutatedSources } from './mutated-sources.ts';
import type { ToldByTest } from './mutated-tests.ts';
import { MUTATIONS, type Mutation } from './mutations.ts';
import { textOf } from './scene-report.ts';
import { SCENES, type SceneName } from './scene-options.ts';
import { addUp, emptySummary, runHistories, type Summary } from './run-histories.ts';

const USAGE = `Usage: npm run simulate -- [options]
  --histories 2000 --seed 1  seeds 1 to 2000
  --minutes 5                as many as fit
  --one 17 --trace           one of them again, with all that happens
  --mutations                each protection taken out in turn, until a history or a test tells; the history that told last
                             time is tried first, and --note writes down which do now
  --mutations --minutes 10   and histories for the rest of the time
  --mutation NAME            with that protection taken out; of the mutations, that one alone
  --without A,B  --only A,B  these disturbances never, or these and no others in every history
  --scene rolling-restart    a large deployment instead: a hundred lanes, twenty members; also lost-zone, service-outage,
                             scaling; --lanes, --members, --rate, --outage-minutes, --changes
  --json                     the report as JSON
  --help                     this text
`;

const OPTIONS = {
  histories: { type: 'string' },
  minutes: { type: 'string' },
  seed: { type: 'string', default: '1' },
  one: { type: 'string' },
  trace: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  mutation: { type: 'string' },
  mutations: { type: 'boolean', default: false },
  note: { type: 'boolean', default: false },
  only: { type: 'string' },
  without: { type: 'string' },
  scene: { type: 'string' },
  lanes: { type: 'string', default: '100' },
  members: { type: 'string', default: '20' },
  rate: { type: 'string', default: '20' },
  'outage-minutes': { type: 'string', default: '60' },
  changes: { type: 'string', default: '200' },
  help: { type: 'boolean', default: false },
} as const;
const values = parseArguments(USAGE, (args) => {
  const { values: given } = parseArgs({ args, options: OPTIONS });
  return given.help ? null : given;
});

const HISTORIES = 200;
/** Histories per mutation at most; even the rarest is noticed well before. */
const MUTATED_HISTORIES = 1_000;
/** Two processes at most, because others use this machine as well. */
const PROCESSES = Math.min(2, availableParallelism());
/** For each mutation, the seed of the history that noticed it when the file was written. */
const TOLD_BY_SEED = new URL('mutations/told-by-seed.json', import.meta.url);
const PROGRESS_MS = 30_000;
/** How many failing seeds are shown with what they broke. */
const SHOWN_MAX = 10;
const WRONGS_SHOWN_MAX = 5;

type Replayable = Omit<Summary, 'failed'> & { failed: (Summary['failed'][number] & { replay: string })[] };

const beganMs = performance.now();
const secondsMax = values.minutes === undefined ? null : Number(values.minutes) * 60;
const choice = disturbanceChoice();
const isChosen = values.only !== undefined || values.without !== undefined;
if (values.scene !== undefined) await simulateScene(values.scene);
else if (values.one !== undefined) await simulateOne(Number(values.one));
else {
  if (values.mutations) await tryMutations();
  if (!values.mutations || secondsMax !== null) await simulate(values.mutations ? null : (values.mutation ?? null));
}

async function simulateScene(name: string): Promise<void> {
  applyMutation();
  // Imported only now, after the mutation is applied, because it loads the mutated code.
  const { runScene } = await import('./scene.ts');
  const scene = SCENES.find((known): known is SceneName => known === name);
  if (scene === undefined) throw new Error(`--scene ${name}: not among ${SCENES.join(', ')}`);
  const report = await runScene({
    scene,
    seed: Number(values.seed),
    lanes: Number(values.lanes),
    members: Number(values.members),
    commandsPerSecond: Number(values.rate),
    outageMinutes: Number(values['outage-minutes']),
    changes: Number(values.changes),
    ...(values.trace ? { trace: (line: string) => void process.stdout.write(line) } : {}),
  });
  console.log(values.json ? JSON.stringify(report, null, 2) : textOf(report));
  if (report.wrong.length > 0) process.exitCode = 1;
}

async function simulateOne(seed: number): Promise<void> {
  applyMutation();
  const summary = await runHistories({
    firstSeed: seed,
    step: 1,
    histories: 1,
    secondsMax: null,
    untilBroken: false,
    choice,
    ...(values.trace ? { trace: (line: string) => void process.stdout.write(line) } : {}),
  });
  report(summary);
}

/** Before the mutated code is imported. */
function applyMutation(): void {
  if (values.mutation !== undefined) new MutatedSources([values.mutation]).apply(values.mutation);
}

async function simulate(mutation: string | null): Promise<void> {
  const histories = Number(values.histories ?? (secondsMax === null ? HISTORIES : Infinity));
  const secondsLeft = secondsMax === null ? null : Math.max(1, secondsMax - secondsSince(beganMs));
  const simulatedMs = performance.now();
  const done = Array.from({ length: PROCESSES }, () => 0);
  const progress = setInterval(() => {
    const count = done.reduce((sum, part) => sum + part, 0);
    note(`${count} histories after ${secondsSince(simulatedMs).toFixed(0)} s`);
  }, PROGRESS_MS);
  const tasks = done.map((_, part): Task => ({
    firstSeed: Number(values.seed) + part,
    step: PROCESSES,
    // JSON has no Infinity.
    histories: Math.min(Number.MAX_SAFE_INTEGER, Math.ceil((histories - part) / PROCESSES)),
    secondsMax: secondsLeft,
    untilBroken: false,
    choice,
    mutation,
  }));
  const parts = await Promise.all(
    tasks.map(async (task, part) => {
      const histories = new HistoryProcess(mutation === null ? [] : [mutation]);
      const summary = await histories.run(task, (count) => void (done[part] = count));
      histories.end();
      return summary;
    }),
  );
  clearInterval(progress);
  const summary = emptySummary();
  for (const part of parts) addUp(summary, part);
  report(summary, secondsSince(simulatedMs));
}

async function tryMutations(): Promise<void> {
  const chosen = MUTATIONS.filter(({ name }) => values.mutation === undefined || name === values.mutation);
  const toldBySeed = JSON.parse(readFileSync(TOLD_BY_SEED, 'utf8')) as Partial<Record<string, number>>;
  const rows: { mutation: string; toldBySeed: number | null; histories: number; wrong: string | null }[] = [];
  const tried = (row: (typeof rows)[number]): void => {
    rows.push(row);
    const told = row.wrong === null ? 'NOT NOTICED by' : 'noticed after';
    note(`${told} ${String(row.histories).padStart(4)} histories: ${row.mutation}  ${row.wrong ?? ''}`);
  };
  const waiting = chosen.filter(({ toldBy }) => toldBy === undefined);
  const names = waiting.map(({ name }) => name);
  const tryNext = async (child: HistoryProcess): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { among, name } = next;
      const { failed, histories } = await child.run({
        firstSeed: Number(values.seed),
        ...(toldBySeed[name] !== undefined && { seedFirst: toldBySeed[name] }),
        step: 1,
        histories: Number(values.histories ?? MUTATED_HISTORIES),
        secondsMax: null,
        untilBroken: true,
        choice: among === undefined || isChosen ? choice : { kind: 'fixed', disturbances: among },
        mutation: name,
      });
      const [first] = failed;
      const wrong = first?.wrong[0]?.split('\n')[0] ?? null;
      tried({ mutation: name, toldBySeed: first?.seed ?? null, histories, wrong });
    }
    child.end();
  };
  const children = Array.from({ length: PROCESSES }, () => new HistoryProcess(names));
  const { tryWithTests } = await import('./mutated-tests.ts');
  const byTests = chosen.filter((mutation: Mutation): mutation is ToldByTest => mutation.toldBy !== undefined);
  await Promise.all([
    ...children.map(tryNext),
    tryWithTests(byTests, ({ name }, wrong) => tried({ mutation: name, toldBySeed: null, histories: 0, wrong })),
  ]);
  const missed = rows.filter(({ wrong }) => wrong === null);
  if (values.note) {
    const told = rows.flatMap((row): [string, number][] =>
      row.toldBySeed === null ? [] : [[row.mutation, row.toldBySeed]],
    );
    const noted = Object.fromEntries(
      [...Object.entries(toldBySeed), ...told].sort(([left], [right]) => (left < right ? -1 : 1)),
    );
    writeFileSync(TOLD_BY_SEED, `${JSON.stringify(noted, null, 2)}\n`);
  }
  if (values.json) console.log(JSON.stringify(rows, null, 2));
  else console.log(`${rows.length - missed.length} of ${rows.length} mutations were noticed.`);
  if (missed.length > 0) process.exitCode = 1;
}

function report(summary: Summary, seconds = secondsSince(beganMs)): void {
  const given = (['mutation', 'only', 'without'] as const)
    .flatMap((name) => (values[name] === undefined ? [] : [` --${name} '${values[name]}'`]))
    .join('');
  const replay = (seed: number): string => `npm run simulate -- --one ${seed} --trace${given}`;
  const failed = summary.failed.map((failure) => ({ ...failure, replay: replay(failure.seed) }));
  if (values.json) console.log(JSON.stringify({ ...summary, seconds, failed }, null, 2));
  else print({ ...summary, failed }, seconds);
  if (failed.length > 0) process.exitCode = 1;
}

function print(
  { calls, commands, disturbances, events, failed, histories, outcomes }: Replayable,
  seconds: number,
): void {
  console.log(`${histories} histories in ${seconds.toFixed(1)} s: ${(histories / seconds).toFixed(1)} a second`);
  console.log(`${commands} commands, ${calls} calls, ${events} events`);
  console.log(`outcomes: ${listed(outcomes)}`);
  console.log('disturbances:');
  for (const [name, count] of sorted(disturbances)) console.log(`  ${String(count).padStart(6)}  ${name}`);
  console.log(failed.length === 0 ? 'All promises held.' : `${failed.length} histories broke a promise:`);
  for (const { replay, seed, wrong } of failed.slice(0, SHOWN_MAX)) {
    console.log(`  seed ${seed}: ${replay}`);
    for (const line of wrong.slice(0, WRONGS_SHOWN_MAX)) console.log(`    ${line}`);
  }
  const others = failed.slice(SHOWN_MAX).map(({ seed }) => seed);
  if (others.length > 0) console.log(`  and seeds ${others.join(', ')}`);
}

function disturbanceChoice(): DisturbanceChoice {
  const named = (given: string): Disturbance[] => {
    const names = given.split(',').filter((name) => name !== '');
    const unknown = names.filter((name) => !(DISTURBANCES as readonly string[]).includes(name));
    if (unknown.length > 0) throw new Error(`${unknown.join(', ')}: not among ${DISTURBANCES.join(', ')}`);
    return names as Disturbance[];
  };
  return values.only === undefined
    ? { kind: 'drawn', without: named(values.without ?? '') }
    : { kind: 'fixed', disturbances: named(values.only) };
}

/** With --json, standard output must have nothing else. */
function note(line: string): void {
  if (values.json) console.error(line);
  else console.log(line);
}

function secondsSince(instantMs: number): number {
  return (performance.now() - instantMs) / 1_000;
}

function sorted(counts: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(counts).sort(([, left], [, right]) => right - left);
}

function listed(counts: Readonly<Record<string, number>>): string {
  return sorted(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
