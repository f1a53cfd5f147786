/**
 * The poison kit: every kind of message that a lane must survive, by name. poison/ makes them and states the expected
 * outcome of each; ../fuzz/ sends them to a processor.
 */
import { BATCH_FAMILIES } from './poison/batch-kinds.ts';
import { DECISION_FAMILIES } from './poison/decision-kinds.ts';
import { HEADER_FAMILIES } from './poison/header-kinds.ts';
import type { PoisonFamilies, PoisonKind } from './poison/kinds.ts';
import { OBSERVATION_FAMILIES } from './poison/observation-kinds.ts';
import { VALUE_FAMILIES } from './poison/value-kinds.ts';

export const POISON_FAMILIES: PoisonFamilies = {
  ...HEADER_FAMILIES,
  ...VALUE_FAMILIES,
  ...BATCH_FAMILIES,
  ...DECISION_FAMILIES,
  ...OBSERVATION_FAMILIES,
};

export const POISON_KINDS: readonly PoisonKind[] = Object.values(POISON_FAMILIES).flat();
