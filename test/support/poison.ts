/**
 * The poison kit: every kind of message that a lane must survive, by name. How each is made and what must come of it is
 * in poison/; how it is tried against a processor is in ../fuzz/.
 */
import { BATCH_KINDS } from './poison/batch-kinds.ts';
import { DECISION_KINDS } from './poison/decision-kinds.ts';
import { HEADER_KINDS } from './poison/header-kinds.ts';
import type { PoisonKind } from './poison/kinds.ts';
import { OBSERVATION_KINDS } from './poison/observation-kinds.ts';
import { VALUE_KINDS } from './poison/value-kinds.ts';

export const POISON_KINDS: readonly PoisonKind[] = [
  ...HEADER_KINDS,
  ...VALUE_KINDS,
  ...BATCH_KINDS,
  ...DECISION_KINDS,
  ...OBSERVATION_KINDS,
];
