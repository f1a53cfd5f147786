/** A lane that is taken over with intents of its former owner, more than one filling has time for (invariants I2, I3). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { commandFingerprint } from 'payment-processor-contract/command-fields';
import { Calls, type CallsOptions } from '../../src/lanes/calls/calls.ts';
import { CommitReports } from '../../src/lanes/commits/commit-reports.ts';
import { Inputs } from '../../src/lanes/inputs/inputs.ts';
import { OpenLane } from '../../src/lanes/open-lane.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { entryAt } from '../ledger/entries.ts';
import { offer, partsWith, silence, topics, writing } from './lane-in-memory.ts';

const INTENTS = 50;
const TURNS = 200;

test.each(['process', 'former process'])(
  'a copy whose command has an intent of the %s that was not judged yet loses no lane',
  async (of) => {
    let nowMs = 2_000;
    // Each look at the clock takes as long as the work around it.
    const clock = { nowMs: () => (nowMs += 1), monotonicMs: () => (nowMs += 1) };
    const closure = { cause: 'breaker', reason: 'no call begins in this test' };
    const api = { onChange: silence, closure: () => closure, perform: () => expect.unreachable('it was called') };
    const calls = new Calls({ api, slots: 1, clock } as unknown as CallsOptions);
    const unfinished = Array.from({ length: INTENTS }, (_, at): Entry => {
      const entry = entryAt('transfer-in');
      const phase = { state: 'INTENT', attemptId: `attempt-${at}`, processId: of, atMs: 0, timeoutMs: 1_000 } as const;
      const fingerprint = commandFingerprint('transfer-in', entry.fieldsJson ?? '');
      return { ...entry, key: `key-${at}`, fingerprint, phase };
    });
    const parts = partsWith(unfinished, ['transfer-in'], { clock, calls });
    const inputs = new Inputs(parts, silence);
    inputs.open(new Map([[topics.commands['transfer-in'], 0n]]), null);
    const last = unfinished[INTENTS - 1];
    offer(inputs, 'transfer-in', { key: last?.key ?? '', fieldsJson: last?.fieldsJson ?? null });
    const { writer, end } = writing(clock, async () => undefined);
    const ownership = { writer, token: 'token', careful: null, holdsEnd: 0n };
    const lane = new OpenLane(parts, inputs, new CommitReports(), ownership);

    const over = lane.run();
    over.catch(silence);
    for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
    const noted = lane.status().entries.find(({ key }) => key === last?.key);
    lane.end();
    await expect(over).resolves.toBeUndefined();
    expect(noted?.copies).toHaveLength(1);
    await end();
  },
);
