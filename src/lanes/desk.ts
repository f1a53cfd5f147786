/**
 * The work of an open lane on its transactions, by who does it: entries (answers and alarms), decisions of persons,
 * admission of commands, status changes. All share the outcomes, the memory and the transaction that is being made.
 */
import { LaneAdmission } from './admission.ts';
import { LaneEntries } from './answers.ts';
import { LaneDecisions } from './decisions.ts';
import type { LaneMemory } from './memory.ts';
import { LaneStatusChanges } from './observations.ts';
import { LaneOutcomes } from './outcomes.ts';
import type { LaneParts } from './parts.ts';

export interface LaneDesk {
  readonly entries: LaneEntries;
  readonly decisions: LaneDecisions;
  readonly admission: LaneAdmission;
  readonly statusChanges: LaneStatusChanges;
}

export function laneDesk(parts: LaneParts, memory: LaneMemory): LaneDesk {
  const outcomes = new LaneOutcomes({ ...parts, memory });
  const shared = { ...parts, memory, outcomes };
  return {
    entries: new LaneEntries(shared),
    decisions: new LaneDecisions(shared),
    admission: new LaneAdmission(shared),
    statusChanges: new LaneStatusChanges(shared),
  };
}
