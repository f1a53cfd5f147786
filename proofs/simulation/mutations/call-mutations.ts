/** Of calls: who begins one, how often, what happens to those under way. */
import type { Mutation } from '../mutations.ts';

export const CALL_MUTATIONS: readonly Mutation[] = [
  {
    name: 'the gate does not ask for a heartbeat',
    find: "if (!isConfirmed()) return 'the last confirmed heartbeat is too old';",
    among: ['heartbeats'],
  },
  {
    name: 'a heartbeat is timed by its answer',
    find: 'this.#confirmedSentAt = this.#lastRequestSentAt;',
    replace:
      'const { clock } = this.#options; this.#confirmedSentAt = { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };',
    among: ['heartbeats'],
  },
  {
    name: 'the gate is not asked at the socket',
    find: 'own.objection = options.beforeSending?.() ?? null',
    replace: 'own.objection = null',
    among: ['heartbeats'],
  },
  {
    name: 'the progress of the group is asked for after the lane is taken',
    find: 'const positions = await this.#inputs.startPositions(starts, index.position(lane), isWanted);',
    replace:
      'const known = index.position(lane); const positions = await this.#inputs.startPositions(await this.#inputs.starts(), known, isWanted);',
    among: ['heartbeats'],
  },
  {
    name: 'an orphaned call is settled at once',
    find: 'sessionTimeoutMs + phase.timeoutMs',
    replace: '-3_600_000',
    among: ['handovers', 'slow-service', 'heartbeats'],
  },
  {
    name: 'finished entries are forgotten',
    find: 'this.unfinished.get(key) ?? this.#done.get(key)?.value ?? this.#index.entry(this.#lane, key)',
    replace: 'this.unfinished.get(key)',
  },
  {
    name: 'finished entries are known only once the index shows them',
    find: 'this.unfinished.get(key) ?? this.#done.get(key)?.value ?? this.#index.entry(this.#lane, key)',
    replace: 'this.unfinished.get(key) ?? this.#index.entry(this.#lane, key)',
  },
  {
    name: 'the index is believed for another owner’s commits',
    find: 'if (token !== this.#token) return;',
    toldBy: 'test/lanes/retention',
  },
  {
    name: 'begun calls of a lost lane are forgotten',
    find: 'if (wasBegun(attempt)) this.#remember(attempt);',
    replace: 'if (wasBegun(attempt)) this.#forget(attemptId, attempt);',
    among: ['handovers', 'slow-service'],
  },
  {
    name: 'any intent counts as our own',
    find: "phase.processId === processId ? calls.adopt(attemptId, this.#ownerOf(entry)) : 'unknown'",
    replace: 'calls.adopt(attemptId, this.#ownerOf(entry))',
  },
  {
    name: 'an intent that is committed again is called again',
    find: "if (attempt.stage !== 'claimed') return;",
  },
  {
    name: 'a call begins before its intent is committed',
    find: 'const { token } = this.#ownership;',
    replace:
      "const { token } = this.#ownership; for (const entry of transaction.entries()) if (entry.phase.state === 'INTENT') this.#attempts.begin(entry);",
  },
  {
    name: 'each attempt has a key of its own',
    find: 'calls.prepare(attempt.attemptId, callOf(entry))',
    replace:
      'calls.prepare(attempt.attemptId, { ...callOf(entry), idempotencyKey: `${callOf(entry).idempotencyKey}-${entry.attempts}` })',
  },
  {
    name: 'slots of calls that ended are not given back',
    find: `    this.#scheduler.free(attempt.workClass);
`,
  },
  {
    name: 'calls that wait are not released with their lane',
    find: `    this.#scheduler.release(lane);
    this.#pump();
`,
    replace: '    this.#pump();\n',
    among: ['handovers', 'slow-service'],
  },
  {
    name: 'slots that were kept for nobody are lost',
    find: `        state.held -= kept;
`,
    toldBy: 'test/lanes/call-scheduler',
  },
  {
    name: 'the slot of an intent that was not committed is lost',
    find: `    reservation.state.held -= 1;
`,
    toldBy: 'test/lanes/call-scheduler',
  },
  {
    name: 'a class below its share of the slots does not go first',
    find: 'return isLeftBelow === isRightBelow ? left.pass < right.pass : isLeftBelow;',
    replace: 'return false;',
    toldBy: 'test/lanes/call-scheduler',
  },
  {
    name: 'two-step quotes are made without regard to their executions',
    find: 'quotesOpen >= this.#perLane(Math.min(slots * QUOTES_PER_SLOT, ratePerSecond() * QUOTES_AHEAD_SECONDS))',
    replace: 'Number.isNaN(0)',
    toldBy: 'test/lanes/calls',
  },
];
