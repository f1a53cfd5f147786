/** The faults in order, and whether each alert has one. */
import type { Fault } from './fault.ts';
import { INPUT_FAULTS } from './input-faults.ts';
import { PLATFORM_FAULTS } from './platform-faults.ts';
import { RESOURCE_FAULTS } from './resource-faults.ts';
import { SERVICE_FAULTS } from './service-faults.ts';

/** The last platform fault ends the prefix, so it comes last. */
export const FAULTS: readonly Fault[] = [...INPUT_FAULTS, ...SERVICE_FAULTS, ...RESOURCE_FAULTS, ...PLATFORM_FAULTS];

/** Alerts that no fault raises, and names of no alert. */
export function coverageProblems(alerts: readonly string[]): string[] {
  const raised = [...new Set(FAULTS.flatMap((fault) => fault.alerts))];
  return [
    ...alerts.filter((alert) => !raised.includes(alert)).map((alert) => `${alert}: no fault raises it`),
    ...raised.filter((alert) => !alerts.includes(alert)).map((alert) => `${alert}: not an alert`),
  ];
}
