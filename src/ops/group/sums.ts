/** Sums over the members' figures. Pure. */
import type { ReportingMember } from './known-member.ts';
import type { MemberFigures } from './member-report.ts';

type Reported<Part extends keyof MemberFigures> = NonNullable<MemberFigures[Part]>;

/** `ownFailures`: failures of our own code, each a bug. */
export type GroupActivity = Pick<Reported<'activity'>, 'results' | 'ownFailures'>;

export interface GroupOperation {
  readonly operation: string;
  /** The worst stage of any member. */
  readonly breaker: string;
  /** The last fault of that member. */
  readonly lastFault: string | null;
  /** Members whose breaker blocks all calls. */
  readonly blockedAt: readonly string[];
  readonly callsUnderWay: number;
  /** Null: unlimited for at least one member. */
  readonly allowance: number | null;
}

/** Worst first; an unknown stage ranks before all. */
const BREAKER_STAGES = ['open', 'checking', 'trial', 'ramp', 'closed'];
const SERVICE_STATES = ['held', 'unchecked', 'serving'];
const NO_CALLS = ['open', 'checking'];

/**
 * The worst state of the payment service that any member reports; null: none reports one. `heldAt`: the members that
 * send it nothing but checks.
 */
export function serviceOf(
  reporting: readonly ReportingMember[],
): (Reported<'service'> & { readonly heldAt: readonly string[] }) | null {
  const all = reporting.flatMap(({ figures, process }) =>
    figures.service === null ? [] : [{ process, service: figures.service }],
  );
  const rank = ({ service }: { service: Reported<'service'> }): number => SERVICE_STATES.indexOf(service.state);
  const [worst] = all.toSorted((left, right) => rank(left) - rank(right));
  const heldAt = all.filter(({ service }) => service.state === 'held').map(({ process }) => process);
  return worst === undefined ? null : { ...worst.service, heldAt };
}

export function breakersOf(reporting: readonly ReportingMember[]): GroupOperation[] {
  const all = reporting.flatMap(({ figures, process }) =>
    (figures.operations ?? []).map((each) => ({ ...each, process })),
  );
  return [...Map.groupBy(all, ({ operation }) => operation)].map(([operation, found]) => {
    const rank = ({ breaker }: { breaker: string }): number => BREAKER_STAGES.indexOf(breaker);
    const [worst] = found.toSorted((left, right) => rank(left) - rank(right));
    const allowances = found.map(({ allowance }) => allowance);
    return {
      operation,
      breaker: worst?.breaker ?? '',
      lastFault: worst?.lastFault ?? null,
      blockedAt: found.filter(({ breaker }) => NO_CALLS.includes(breaker)).map(({ process }) => process),
      callsUnderWay: sum(found.map(({ callsUnderWay }) => callsUnderWay)),
      allowance: allowances.includes(null) ? null : sum(allowances.map((allowance) => allowance ?? 0)),
    };
  });
}

export function unfinishedOf(reports: readonly MemberFigures[]): Reported<'unfinished'> {
  const all = reports.flatMap(({ unfinished }) => unfinished ?? []);
  return [...Map.groupBy(all, ({ operation, state }) => `${state} ${operation}`).values()].flatMap((found) => {
    const [first] = found;
    const oldestSeconds = Math.max(...found.map((group) => group.oldestSeconds));
    return first === undefined ? [] : [{ ...first, count: sum(found.map(({ count }) => count)), oldestSeconds }];
  });
}

/** By command type, the age of the oldest unanswered command in any member's lanes; null: none is unanswered. */
export function oldestOf(reports: readonly MemberFigures[]): Record<string, number | null> {
  const all = reports.flatMap(({ oldestUnansweredSeconds }) => Object.entries(oldestUnansweredSeconds ?? {}));
  const byCommand = [...Map.groupBy(all, ([command]) => command)].map(([command, found]) => {
    const ages = found.map(([, seconds]) => seconds).filter((seconds) => seconds !== null);
    return [command, ages.length === 0 ? null : Math.max(...ages)] as const;
  });
  return Object.fromEntries(byCommand);
}

export function activityOf(reports: readonly MemberFigures[]): GroupActivity {
  const all = reports.flatMap(({ activity }) => activity ?? []);
  const results = Map.groupBy(
    all.flatMap((each) => each.results),
    ({ command, outcome }) => `${command} ${outcome}`,
  );
  return {
    results: [...results.values()].flatMap((found) => {
      const [first] = found;
      return first === undefined ? [] : [{ ...first, count: sum(found.map(({ count }) => count)) }];
    }),
    ownFailures: sum(all.map(({ ownFailures }) => ownFailures)),
  };
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
