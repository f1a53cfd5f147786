/**
 * Logs the stages of breakers: one line when a breaker opens, with the reason, and one when it has closed again. The stages in
 * between are logged at level debug, so that an outage of hours makes two lines, not thousands.
 */
import type { CommandType } from 'payment-processor-contract/commands';
import type { BreakerEvidence, BreakerStage } from './breaker.ts';

export type ApiLog = (
  level: 'debug' | 'info' | 'warn' | 'error',
  event: string,
  fields: Record<string, unknown>,
) => void;

/** @returns a listener for every stage change of every breaker */
export function breakerLog(
  log: ApiLog,
  monotonicMs: () => number,
): (operation: CommandType, stage: BreakerStage, evidence: BreakerEvidence) => void {
  const openedMs = new Map<CommandType, number>();
  return (operation, stage, { calls, faults, lastFault }) => {
    const sinceMs = openedMs.get(operation);
    if (stage === 'closed') {
      openedMs.delete(operation);
      const notClosedMs = sinceMs === undefined ? null : Math.round(monotonicMs() - sinceMs);
      log('info', 'breaker-changed', { operation, stage, notClosedMs });
    } else if (stage === 'open' && sinceMs === undefined) {
      openedMs.set(operation, monotonicMs());
      const faultPercent = calls === 0 ? null : Math.round((faults * 100) / calls);
      log('warn', 'breaker-changed', { operation, stage, calls, faults, faultPercent, lastFault });
    } else {
      log('debug', 'breaker-changed', { operation, stage, lastFault });
    }
  };
}
