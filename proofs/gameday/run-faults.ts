/**
 * One fault after the other:
 *
 *   quiet (its alerts are inactive) -> injected -> fired -> acted (as the runbook says) -> cleared
 *
 * Faults that run beside others, and alerts that clear only as a window passes, are awaited at the end.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { AlertWatch } from './alert-watch.ts';
import type { Fault } from './fault.ts';
import type { Scene } from './scene.ts';

export interface Row {
  readonly fault: string;
  /** Null for a fault that heals by itself. */
  readonly alert: string | null;
  /** Seconds from the start of the fault; null: not within the limit. */
  readonly secondsToFiring: number | null;
  readonly action: string;
  /** Runbook commands that were run unchanged. */
  readonly pasted: readonly string[];
  /** Seconds from the start of the action. */
  readonly secondsToClear: number | null;
  /** Other alerts that fired meanwhile. */
  readonly alsoFired: readonly string[];
  /** Null: all as expected. */
  readonly problem: string | null;
}

export interface RunOptions {
  readonly scene: Scene;
  readonly watch: AlertWatch;
  readonly faults: readonly Fault[];
  readonly timeScale: number;
  /** Alerts that page someone. */
  readonly pages: ReadonlySet<string>;
  readonly onProgress: (line: string) => void;
}

/** The longest `for` plus the longest window, at the usual scale, plus the time that the fault itself takes. */
const FIRES_MS_MAX = 240_000;
/** Restarts, a backlog, breakers in trial, plus an alert's window of 10 minutes at the usual scale. */
const CLEARS_MS_MAX = 120_000;
/** The longest window that has to pass before an alert clears. */
const WINDOW_MS_MAX = 2 * 3_600_000;
/** How long we watch a fault that heals: at the usual scale a page would have fired by then. */
const HEALED_MS = 15_000;

export async function runFaults(options: RunOptions): Promise<Row[]> {
  const { faults, onProgress, watch } = options;
  const beside: Promise<Row[]>[] = [];
  const rows: Row[] = [];
  const later: Promise<Row>[] = [];
  for (const fault of faults) {
    if (fault.isBeside === true) beside.push(runOne(options, fault).then((one) => Promise.all(one.rows)));
    else {
      const one = await runOne(options, fault);
      later.push(...one.rows);
      // Alerts that clear as a window passes are awaited at the end.
      await one.cleared;
    }
  }
  onProgress(`waiting for: ${watch.firedSince(performance.now()).join(', ') || 'nothing'}`);
  rows.push(...(await Promise.all(beside)).flat(), ...(await Promise.all(later)));
  return rows;
}

interface RunningFault {
  rows: Promise<Row>[];
  /** Settles when all alerts have cleared that the next fault must wait for. */
  cleared: Promise<unknown>;
}

async function runOne(options: RunOptions, fault: Fault): Promise<RunningFault> {
  const { onProgress, scene, watch } = options;
  for (const alert of fault.alerts) await watch.cleared(alert, CLEARS_MS_MAX);
  onProgress(`${fault.name}: ${fault.what}`);
  const beganMs = performance.now();
  const before = new Set(watch.firedSince(beganMs));
  // Alerts of faults that run beside others may fire at any time.
  const besides = options.faults.filter(({ isBeside }) => isBeside === true);
  const expected = new Set([fault, ...besides].flatMap(({ alerts }) => alerts));
  const problems: string[] = [];
  const attempt = async (what: string, run: () => Promise<unknown>): Promise<void> => {
    await run().catch((error: unknown) => {
      problems.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      onProgress(`  ${fault.name}: ${problems.at(-1) ?? ''}`);
    });
  };
  await attempt('the fault', () => fault.inject(scene));
  const fired = await Promise.all(
    fault.alerts.map(async (alert) => {
      const firedMs = problems.length > 0 ? null : await watch.fired(alert, beganMs, FIRES_MS_MAX);
      onProgress(`  ${alert} ${firedMs === null ? 'has not fired' : `fires after ${seconds(firedMs - beganMs)} s`}`);
      return { alert, firedMs };
    }),
  );
  if (fault.look !== undefined) await attempt('finding out', async () => fault.look?.(scene));
  const actedMs = performance.now();
  await attempt('the action', () => fault.act(scene));
  const healsItself = fault.alerts.length === 0;
  if (healsItself) await delay(HEALED_MS);
  const alsoFired = watch.firedSince(beganMs).filter((name) => !before.has(name) && !expected.has(name));
  const pasted = scene.pasted.get(fault.name) ?? [];
  const common = { fault: fault.name, action: fault.action, pasted, alsoFired };
  if (healsItself) {
    const paged = alsoFired.filter((name) => options.pages.has(name));
    const problem = problemIn([...problems, ...paged.map((name) => `${name} fired, though it heals by itself`)]);
    const row: Row = { ...common, alert: null, secondsToFiring: null, secondsToClear: null, problem };
    return { rows: [Promise.resolve(row)], cleared: Promise.resolve() };
  }
  const rows = fired.map(async ({ alert, firedMs }): Promise<Row> => {
    const isLater = fault.clearsLater?.includes(alert) === true;
    const limitMs = CLEARS_MS_MAX + (isLater ? WINDOW_MS_MAX / options.timeScale : 0);
    const clearedMs = await watch.cleared(alert, limitMs);
    onProgress(
      `  ${alert} ${clearedMs === null ? 'has not cleared' : `is clear after ${seconds(clearedMs - actedMs)} s`}`,
    );
    return {
      ...common,
      alert,
      secondsToFiring: firedMs === null ? null : seconds(firedMs - beganMs),
      secondsToClear: clearedMs === null ? null : seconds(clearedMs - actedMs),
      problem: problemIn([
        ...problems,
        ...(firedMs === null ? ['did not fire'] : []),
        ...(clearedMs === null ? ['did not clear'] : []),
      ]),
    };
  });
  const awaited = rows.filter((_, index) => fault.clearsLater?.includes(fault.alerts[index] ?? '') !== true);
  return { rows, cleared: Promise.all(awaited) };
}

function problemIn(texts: readonly string[]): string | null {
  return texts.length === 0 ? null : texts.join('; ');
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
