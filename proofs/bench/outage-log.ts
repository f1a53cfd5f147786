/**
 * What the log says while no broker answers: `node proofs/bench/outage-log.ts [--minutes 6] [--ending away,still] [--json]`.
 * Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if set, else an engine of its own.
 *
 *   away    one processor with its lanes open; all connections are cut, and new ones refused
 *   still   the same; connections stay and are accepted, and nothing is answered
 *
 * Each minute by itself. Then the brokers are back: exit code 1 where the same process does not soon take commands of all its
 * lanes.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { laneOf } from '../../src/records/keys.ts';
import { transferInOf } from '../../test/support/commands.ts';
import { connectionsHeldTo } from '../../test/support/held-connections.ts';
import { KafkaGate } from '../../test/support/kafka-gate.ts';
import type { RunningProcessor } from '../../test/support/processor.ts';
import { LANES, Stack } from '../../test/support/stack.ts';
import { kafkaAtHand } from '../kafka-at-hand.ts';
import { USUAL_TIMES } from './usual-times.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '6' },
    ending: { type: 'string', default: 'away,still' },
    json: { type: 'boolean', default: false },
  },
});

const MINUTE_MS = 60_000;

interface Minute {
  readonly lines: number;
  readonly bytes: number;
  /** Lines by level and event. */
  readonly events: Readonly<Record<string, number>>;
  /** Connections to the broker at its end. */
  readonly connections: number;
}

interface Outage {
  readonly ending: 'away' | 'still';
  readonly minutes: readonly Minute[];
  /** Null: not soon, or the process had ended. */
  readonly answeredAfterMs: number | null;
}

const kafka = await kafkaAtHand((line) => console.error(line));
try {
  const endings = values.ending.split(',').map((ending) => (ending === 'still' ? 'still' : 'away'));
  const outages = await Promise.all(endings.map(livedThrough));
  console.log(values.json ? JSON.stringify(outages, null, 2) : outages.map(textOf).join('\n\n'));
  if (outages.some(({ answeredAfterMs }) => answeredAfterMs === null)) process.exitCode = 1;
} finally {
  await kafka.stop();
}

async function livedThrough(ending: Outage['ending']): Promise<Outage> {
  const { kafkaBrokers, schemaRegistryUrl } = kafka;
  const stack = await Stack.open({ name: `outage-${ending}`, kafkaBrokers, schemaRegistryUrl, settings: USUAL_TIMES });
  const gate = await KafkaGate.to(kafkaBrokers[0] ?? '');
  try {
    const processor = await stack.startProcessor({ KAFKA_BROKERS: gate.address, LOG_LEVEL: 'info' });
    await answer(stack, 'before');
    if (ending === 'still') gate.stall();
    else await gate.vanish();
    const minutes: Minute[] = [];
    for (let minute = 0; minute < Number(values.minutes); minute += 1)
      minutes.push(await minuteOf(processor, gate.port));
    await gate.open();
    const backMs = performance.now();
    const ended = processor.ended.then(() => false);
    const isAnswered = await Promise.race([answer(stack, 'after').catch(() => false), ended]);
    return { ending, minutes, answeredAfterMs: isAnswered ? Math.round(performance.now() - backMs) : null };
  } finally {
    await stack.close();
    await gate.close();
  }
}

/** One command of each lane. */
async function answer(stack: Stack, name: string): Promise<boolean> {
  const keys = Array.from({ length: LANES }, (_, lane) => keyOfLane(name, lane));
  for (const key of keys) await stack.publisher.publish('transfer-in', key, transferInOf(key));
  const results = await stack.journal.resultsOfAll(keys);
  return results.length === keys.length;
}

function keyOfLane(name: string, lane: number): string {
  for (let index = 0; ; index += 1) if (laneOf(`${name}-${index}`, LANES) === lane) return `${name}-${index}`;
}

async function minuteOf(processor: RunningProcessor, port: number): Promise<Minute> {
  const from = processor.lines.length;
  await delay(MINUTE_MS);
  const lines = processor.lines.slice(from);
  const events: Record<string, number> = {};
  for (const line of lines) {
    const { event, level } = JSON.parse(line) as { event: string; level: string };
    const name = `${level} ${event}`;
    events[name] = (events[name] ?? 0) + 1;
  }
  const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  return { lines: lines.length, bytes, events, connections: connectionsHeldTo(port) };
}

function textOf({ answeredAfterMs, ending, minutes }: Outage): string {
  const rows = minutes.map(({ bytes, connections, events, lines }, minute) => {
    const parts = Object.entries(events).map(([name, count]) => `${count} ${name}`);
    return `  minute ${minute + 1}: ${lines} lines, ${bytes} bytes, ${connections} connections (${parts.join(', ')})`;
  });
  const after = answeredAfterMs === null ? 'not answered' : `all lanes answered after ${answeredAfterMs} ms`;
  return [`brokers ${ending}`, ...rows, `  back: ${after}`].join('\n');
}
