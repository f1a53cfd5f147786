/** When an open lane goes on, and when it rests (invariants I5, I7). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CarefulReading } from '../../src/lanes/inputs/careful-reading.ts';
import { CommitReports } from '../../src/lanes/commits/commit-reports.ts';
import { Inputs } from '../../src/lanes/inputs/inputs.ts';
import type { LaneCommit } from '../../src/lanes/commits/lane-commit.ts';
import type { LaneFiller, LaneWriter } from '../../src/lanes/commits/lane-writer.ts';
import { Loop, type Seat } from '../../src/lanes/commits/loop.ts';
import { OpenLane, type Ownership } from '../../src/lanes/open-lane.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import type { TransactionalProducer } from '../../src/producers/transactional-producer.ts';
import { aPolicy, doubtful, entryAt } from '../ledger/entries.ts';
import { offer, partsWith, silence } from './lane-in-memory.ts';

const WORK_MS = 1;
const TURNS = 200;
const COMMANDS = ['create-quote', 'execute-quote', 'transfer-in', 'reject-transaction'] as const;
const PARKED = { state: 'PARKED', untilMs: 0, reason: 'told to wait' } as const;

interface Lane {
  readonly lane: OpenLane;
  readonly loop: Loop;
  readonly asked: Asked;
}

interface Asked {
  claims: number;
  lookUps: number;
}

interface Given {
  readonly careful?: Ownership['careful'];
  /** Inputs that have a command. */
  readonly arrived?: readonly (typeof COMMANDS)[number][];
  /** Of a call that is asked for. */
  readonly workMs?: number;
}

/** A lane with these entries, where no call may begin. Time is what the work takes. */
function laneWith(unfinished: Entry[], { arrived = [], careful = null, workMs = WORK_MS }: Given = {}): Lane {
  const asked = { claims: 0, lookUps: 0 };
  let nowMs = 2_000;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const calls = {
    settle: silence,
    claim: () => {
      asked.claims += 1;
      nowMs += workMs;
      return 'breaker';
    },
  };
  const lookUps = {
    find: () => {
      asked.lookUps += 1;
      return new Promise(silence);
    },
  };
  const parts = partsWith(unfinished, arrived, { clock, calls, lookUps, policy: aPolicy({ settlingTimeMs: 0 }) });
  const inputs = new Inputs(parts, silence);
  inputs.open(new Map(), null);
  for (const type of arrived) offer(inputs, type, { ...entryAt(type), key: `new-${type}` });
  const loop = new Loop('loop', { drop: silence } as unknown as TransactionalProducer, clock, 0);
  let seat: Seat | null = null;
  const writer = {
    join: (joining: LaneFiller) => {
      const fill = (untilMs: number): LaneCommit | null => joining.fill(untilMs);
      seat = loop.join({ lane: 0, fill, committed: silence, lost: (error) => joining.lost(error) });
    },
    wake: () => seat?.wake(),
  } as unknown as LaneWriter;
  const ownership = { writer, token: 'token', careful, holdsEnd: 0n };
  return { lane: new OpenLane(parts, inputs, new CommitReports(), ownership), loop, asked };
}

async function turnsOf({ lane, loop }: Lane): Promise<void> {
  const over = lane.run();
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
  lane.end();
  await over;
  await loop.close();
}

function many(count: number, entry: Entry): Entry[] {
  return Array.from({ length: count }, (_, at) => ({ ...entry, key: `key-${at}` }));
}

test('a lane whose due entries must all wait asks each of them, and then rests', async () => {
  const lane = laneWith(many(100, { ...entryAt('transfer-in'), phase: PARKED }));
  await turnsOf(lane);
  expect(lane.asked.claims).toBeGreaterThanOrEqual(100);
  expect(lane.asked.claims).toBeLessThan(300);
});

test('so does one where commands that have come must wait as well, and a filling has no time for all of both', async () => {
  const due = many(100, { ...entryAt('transfer-in'), phase: PARKED });
  const lane = laneWith(due, { arrived: COMMANDS, workMs: 4 });
  await turnsOf(lane);
  expect(lane.asked.claims).toBeGreaterThanOrEqual(100 + COMMANDS.length);
  expect(lane.asked.claims).toBeLessThan(400);
});

test('a lane that reads carefully goes on after a unit that leads to no record', async () => {
  const lane = laneWith(many(3, doubtful(entryAt('reject-transaction'))), { careful: new CarefulReading(null) });
  await turnsOf(lane);
  expect(lane.asked.lookUps).toBe(3);
});
