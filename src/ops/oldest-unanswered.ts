/** How long the oldest command without a result has waited, by type, in Kafka or in the ledger. Pure. */
import type { LaneStatus } from '../lanes/lane-status.ts';
import { heldBy } from '../ledger/holds.ts';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { ageSeconds, type NotAdmittedCause } from './lag.ts';
import type { HoldState } from './ledger-state.ts';

type ByCommand = Readonly<Record<CommandType, number | null>>;

export interface OldestUnanswered {
  /** By command; null if every command has its result. */
  readonly oldestUnansweredSeconds: ByCommand;
  /** Only commands that no operator holds. */
  readonly oldestNotHeldSeconds: ByCommand;
}

/** What waits in one input topic of one lane. */
interface Waiting {
  readonly command: CommandType | null;
  readonly oldestSeconds: number | null;
  readonly cause: NotAdmittedCause | null;
}

/** @param states of the same lanes, for messages still in Kafka */
export function oldestUnanswered(
  lanes: ReadonlyMap<number, Pick<LaneStatus, 'entries'>>,
  states: readonly { readonly lane: number; readonly inputs: readonly Waiting[] }[],
  holds: readonly Pick<HoldState, 'command' | 'lanes'>[],
  nowMs: number,
): OldestUnanswered {
  const all = new Map<CommandType, number>();
  const notHeld = new Map<CommandType, number>();
  const note = (command: CommandType, seconds: number, isHeld: boolean): void => {
    for (const oldest of isHeld ? [all] : [all, notHeld])
      oldest.set(command, Math.max(oldest.get(command) ?? 0, seconds));
  };
  const isHeld = (lane: number, types: readonly CommandType[]): boolean =>
    holds.some((hold) => hold.lanes.includes(lane) && types.some((type) => type === hold.command));
  for (const [lane, { entries }] of lanes) {
    for (const entry of entries) {
      const { state } = entry.phase;
      if (state === 'DONE') continue;
      // Look-ups continue during a hold.
      note(
        entry.commandType,
        ageSeconds(entry.origin.timestampMs, nowMs),
        state !== 'DOUBTFUL' && isHeld(lane, heldBy(entry)),
      );
    }
  }
  for (const { inputs, lane } of states) {
    for (const { cause, command, oldestSeconds } of inputs) {
      if (command === null || oldestSeconds === null) continue;
      // The type alone does not decide: a quote may be held because of its execution.
      note(command, oldestSeconds, cause === 'operator-hold' || isHeld(lane, [command]));
    }
  }
  return { oldestUnansweredSeconds: byCommand(all), oldestNotHeldSeconds: byCommand(notHeld) };
}

function byCommand(oldest: ReadonlyMap<CommandType, number>): ByCommand {
  return Object.fromEntries(COMMAND_TYPES.map((command) => [command, oldest.get(command) ?? null])) as ByCommand;
}
