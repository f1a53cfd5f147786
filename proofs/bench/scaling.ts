/**
 * Lanes that live members lose while others come and go: `node proofs/bench/scaling.ts [--changes 40] [--lanes 24] [--rate 20]
 * [--busy 0] [--json]`. Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if set, else an engine of its own.
 *
 * Two to four processors under a steady load, whose service answers after a second now and then; one or two of them come or go
 * at a time, half of the changes while the one before is under way. `--busy N` has N further processes use up the processors.
 *
 * Exit code 1 when a lane was taken from a process that was neither asked for it nor counted out by its group.
 */
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';
import { kafkaAtHand } from '../kafka-at-hand.ts';
import { spreadOf, type Spread } from '../spread.ts';
import type { RunningProcessor } from '../../test/support/processor.ts';
import { Stack } from '../../test/support/stack.ts';
import { SteadyLoad } from './steady-load.ts';
import { USUAL_TIMES } from './usual-times.ts';

const { values } = parseArgs({
  options: {
    changes: { type: 'string', default: '40' },
    lanes: { type: 'string', default: '24' },
    rate: { type: 'string', default: '20' },
    busy: { type: 'string', default: '0' },
    json: { type: 'boolean', default: false },
  },
});
const lanes = Number(values.lanes);

const MEMBERS_MIN = 2;
const MEMBERS_MAX = 4;
/** Pauses after a change, in turn. */
const PAUSES_MS = [500, 6_000, 1_500, 12_000];
/** Longer than a process that waits for lanes is patient with their owner. */
const SETTLED_MS = 45_000;
/** Of Kafka, or of another member: a lane is taken. What a process gives up by itself has other names. */
const TAKEN: readonly unknown[] = ['fenced', 'with-others'];

interface Report {
  changes: number;
  started: number;
  lanesOpened: number;
  /** By reason, of processes that lived on. */
  lanesLost: Record<string, number>;
  ownersFenced: number;
  latencyMs: Spread;
}

const onProgress = (line: string): void => console.error(line);
const kafka = await kafkaAtHand(onProgress);
const busy = Array.from({ length: Number(values.busy) }, () => spawn(process.execPath, ['-e', 'for(;;);']));
try {
  const stack = await Stack.open({
    name: 'scaling',
    kafkaBrokers: kafka.kafkaBrokers,
    schemaRegistryUrl: kafka.schemaRegistryUrl,
    lanes,
    settings: USUAL_TIMES,
  });
  try {
    const report = await measured(stack);
    console.log(values.json ? JSON.stringify(report, null, 2) : textOf(report));
    if (TAKEN.some((reason) => (report.lanesLost[String(reason)] ?? 0) > 0)) process.exitCode = 1;
  } finally {
    await stack.close();
  }
} finally {
  for (const child of busy) child.kill('SIGKILL');
  await kafka.stop();
}

async function measured(stack: Stack): Promise<Report> {
  await stack.service.addFaults({ kind: 'delay', share: 0.05, delayMs: 1_000 });
  const all: RunningProcessor[] = [];
  const up: RunningProcessor[] = [];
  const ends: Promise<unknown>[] = [];
  const grow = async (): Promise<void> => {
    const processor = await stack.spawnProcessor();
    all.push(processor);
    up.push(processor);
  };
  while (up.length < MEMBERS_MIN) await grow();
  await Promise.all(up.map((processor) => processor.ready()));
  const load = new SteadyLoad(stack, lanes, Number(values.rate));
  const fromMs = performance.now();
  const changes = Number(values.changes);
  try {
    let isGrowing = true;
    for (let change = 0; change < changes; change += 1) {
      if (up.length === MEMBERS_MIN) isGrowing = true;
      if (up.length === MEMBERS_MAX) isGrowing = false;
      for (let count = 1 + (change % 2); count > 0; count -= 1) {
        if (isGrowing && up.length < MEMBERS_MAX) await grow();
        // The one that came first.
        else if (!isGrowing && up.length > MEMBERS_MIN) ends.push(up.shift()?.stop() ?? Promise.resolve());
      }
      onProgress(`change ${change + 1}: ${up.length} members`);
      await pause(PAUSES_MS[change % PAUSES_MS.length] ?? 0);
    }
    await pause(SETTLED_MS);
    await Promise.all(ends);
    const latencyMs = spreadOf(await load.latenciesMs(fromMs, performance.now() - SETTLED_MS));
    const lines = all.flatMap((processor) => processor.log());
    const countOf = (event: string): number => lines.filter((line) => line.event === event).length;
    const lost = lines.filter(({ event }) => event === 'lane-lost').map(({ reason }) => String(reason));
    return {
      changes,
      started: all.length,
      lanesOpened: countOf('lane-open'),
      lanesLost: Object.fromEntries([...Map.groupBy(lost, (reason) => reason)].map(([name, of]) => [name, of.length])),
      ownersFenced: countOf('owner-fenced'),
      latencyMs,
    };
  } catch (error) {
    onProgress(stack.logs());
    throw error;
  } finally {
    await load.stop();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function textOf({ changes, lanesLost, lanesOpened, latencyMs, ownersFenced, started }: Report): string {
  const lost = Object.entries(lanesLost).map(([reason, count]) => `${count} ${reason}`);
  return [
    `${changes} changes, ${started} processors started, ${lanesOpened} lanes opened`,
    `lanes lost by live members: ${lost.join(', ') || 'none'}; owners fenced: ${ownersFenced}`,
    `results of ${latencyMs.count} commands: p50 ${latencyMs.p50} ms, p99 ${latencyMs.p99} ms, at most ${latencyMs.max} ms`,
  ].join('\n');
}
