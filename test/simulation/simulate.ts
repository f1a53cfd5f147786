/**
 * Runs many histories and tells what was found.
 *
 *   npm run simulate -- --histories 2000 --seed 1     seeds 1 to 2000
 *   npm run simulate -- --one 17 --trace              one of them again, with all that happens
 *   npm run simulate -- --mutations --histories 100   each protection taken out in turn: how many histories tell
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import type { HistoryReport } from './history.ts';
import { applyMutation, MUTATIONS } from './mutations.ts';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    one: { type: 'string' },
    trace: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    mutation: { type: 'string' },
    mutations: { type: 'boolean', default: false },
  },
});

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
/** Failing seeds shown with what they broke. */
const SHOWN_MAX = 10;
const WRONGS_SHOWN_MAX = 5;

interface Summary {
  histories: number;
  seconds: number;
  commands: number;
  calls: number;
  events: number;
  outcomes: Record<string, number>;
  disturbances: Record<string, number>;
  failed: { seed: number; wrong: readonly string[]; replay: string }[];
}

if (values.mutations) await tryMutations(Number(values.histories));
else await simulate();

async function simulate(): Promise<void> {
  if (values.mutation !== undefined) applyMutation(values.mutation);
  const first = Number(values.one ?? values.seed);
  const summary = await runAll(first, values.one === undefined ? Number(values.histories) : 1);
  if (values.json) console.log(JSON.stringify(summary, null, 2));
  else print(summary);
  process.exitCode = summary.failed.length > 0 ? 1 : 0;
}

async function runAll(first: number, count: number): Promise<Summary> {
  const { runHistory } = await import('./history.ts');
  const summary: Summary = {
    histories: 0,
    seconds: 0,
    commands: 0,
    calls: 0,
    events: 0,
    outcomes: {},
    disturbances: {},
    failed: [],
  };
  const beganMs = performance.now();
  let seed = first;
  const unhandled: string[] = [];
  process.on('unhandledRejection', (error) => void unhandled.push(`a promise was left to itself: ${String(error)}`));
  for (; seed < first + count; seed += 1) {
    const report = await reportOf(seed, runHistory);
    summary.histories += 1;
    if (report !== null) {
      for (const name of ['commands', 'calls', 'events'] as const) summary[name] += report[name];
      addAll(summary.outcomes, report.outcomes);
      addAll(summary.disturbances, report.disturbances);
    }
    const wrong = [...(report?.wrong ?? []), ...unhandled.splice(0)];
    const mutated = values.mutation === undefined ? '' : ` --mutation '${values.mutation}'`;
    if (wrong.length > 0)
      summary.failed.push({ seed, wrong, replay: `npm run simulate -- --one ${seed} --trace${mutated}` });
  }
  summary.seconds = (performance.now() - beganMs) / 1000;
  return summary;

  async function reportOf(seed: number, run: typeof runHistory): Promise<HistoryReport | null> {
    try {
      return await run(seed, values.trace ? (line) => process.stdout.write(line) : null);
    } catch (error) {
      unhandled.push(
        `the history broke off: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      );
      return null;
    }
  }
}

function print({ calls, commands, disturbances, events, failed, histories, outcomes, seconds }: Summary): void {
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
  if (failed.length > SHOWN_MAX)
    console.log(
      `  and seeds ${failed
        .slice(SHOWN_MAX)
        .map(({ seed }) => seed)
        .join(', ')}`,
    );
}

/** Each in a process of its own, for a module is loaded once. */
async function tryMutations(histories: number): Promise<void> {
  const rows: { mutation: string; found: number; histories: number; firstSeed: number | null; wrong: string }[] = [];
  for (const { name } of MUTATIONS) {
    const given = ['--mutation', name, '--json', '--histories', String(histories), '--seed', values.seed];
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(import.meta.url), ...given], {
      maxBuffer: OUTPUT_BYTES_MAX,
    }).catch((error: unknown) => error as { stdout: string });
    const { failed } = JSON.parse(stdout) as Summary;
    const [first] = failed;
    rows.push({
      mutation: name,
      found: failed.length,
      histories,
      firstSeed: first?.seed ?? null,
      wrong: first?.wrong[0] ?? '',
    });
    if (!values.json)
      console.log(`${String(failed.length).padStart(5)} of ${histories}  ${name}  ${first?.wrong[0] ?? ''}`);
  }
  if (values.json) console.log(JSON.stringify(rows, null, 2));
  process.exitCode = rows.some(({ found }) => found === 0) ? 1 : 0;
}

function addAll(sums: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
}

function sorted(counts: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(counts).sort(([, left], [, right]) => right - left);
}

function listed(counts: Readonly<Record<string, number>>): string {
  return sorted(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
