/** The faults in their order, and the alerts that no fault here can raise. */
import type { Fault } from './fault.ts';
import { INPUT_FAULTS } from './input-faults.ts';
import { PLATFORM_FAULTS } from './platform-faults.ts';
import { SERVICE_FAULTS } from './service-faults.ts';

export const FAULTS: readonly Fault[] = [...INPUT_FAULTS, ...SERVICE_FAULTS, ...PLATFORM_FAULTS];

/** Tried by promtool alone (test/operations/alert-cases.ts), each with why it is not caused here. */
export const BY_PROMTOOL_ONLY: Readonly<Record<string, string>> = {
  PaymentsRetentionNear: 'a command would have to wait for hours: brokers stamp them, no test can',
  PaymentsKafkaRefused: 'wants brokers with an authorizer; test/access takes rights from a process that runs',
  PaymentsDiskFilling: 'wants a disk that fills for hours',
  PaymentsProcessMemory: 'wants a process near its limit',
};

/** Alerts that are neither raised by a fault nor named as tried by promtool alone, and names that are no alerts. */
export function coverageProblems(alerts: readonly string[], faults: readonly Fault[] = FAULTS): string[] {
  const raised = new Set(faults.flatMap((fault) => fault.alerts));
  const listed = new Set(Object.keys(BY_PROMTOOL_ONLY));
  const known = new Set(alerts);
  return [
    ...alerts
      .filter((alert) => !raised.has(alert) && !listed.has(alert))
      .map((alert) => `${alert}: no fault raises it, and it is not listed as tried by promtool alone`),
    ...[...listed].filter((alert) => raised.has(alert)).map((alert) => `${alert}: raised by a fault and listed`),
    ...[...raised, ...listed].filter((alert) => !known.has(alert)).map((alert) => `${alert}: not an alert`),
  ];
}
