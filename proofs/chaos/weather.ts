/**
 * The service's faults during a run: a mix that changes now and then, and storms. Counts the calls that were hit.
 *
 * Rules are replaced while the link is halted, so that no call is hit between reading the counts and removing the rules.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { CountedFault, Fault, SandboxControl } from '../../test/support/sandbox-control.ts';
import { API_TIMEOUT_MS, SETTLING_TIME_MS } from './rig.ts';
import type { ServiceLink } from './service-link.ts';

/** Calls that were let through before the link was halted are done by then. */
const DRAIN_MS = 20;

export class Weather {
  /** Calls hit, by kind. */
  readonly hits: Record<string, number> = {};
  readonly #service: SandboxControl;
  readonly #link: ServiceLink;

  constructor(service: SandboxControl, link: ServiceLink) {
    this.#service = service;
    this.#link = link;
  }

  async replace(faults: readonly Fault[]): Promise<void> {
    this.#link.halt();
    try {
      await delay(DRAIN_MS);
      for (const fault of await this.#service.faults()) {
        const name = nameOf(fault);
        this.hits[name] = (this.hits[name] ?? 0) + fault.hits;
      }
      await this.#service.clearFaults();
      if (faults.length > 0) await this.#service.addFaults(...faults);
    } finally {
      this.#link.resume();
    }
  }
}

function nameOf({ kind, httpStatus, at, hold }: CountedFault): string {
  if (kind === 'status') return `status ${String(httpStatus)}`;
  if (kind === 'delay') return `delay ${String(at ?? 'before')}`;
  if (kind === 'apply-late') return hold === true ? 'apply-late, held' : 'apply-late, cut';
  return kind;
}

/** What a bad day looks like: about one call in six has its answer lost in some way. */
export function badDay(random: () => number): Fault[] {
  const between = (low: number, high: number): number => Math.floor(low + random() * (high - low));
  const share = (upTo: number): number => Math.round(random() * upTo * 1000) / 1000;
  return [
    { kind: 'drop-before', share: share(0.08) },
    { kind: 'drop-after', share: share(0.08), delayMs: between(0, 50) },
    { kind: 'cut-body', share: share(0.08) },
    // Late, and never later than the settling time allows.
    { kind: 'apply-late', share: share(0.06), delayMs: between(50, SETTLING_TIME_MS / 2) },
    {
      kind: 'apply-late',
      share: share(0.06),
      delayMs: between(API_TIMEOUT_MS, API_TIMEOUT_MS + SETTLING_TIME_MS / 2),
      hold: true,
    },
    { kind: 'status', httpStatus: 500, share: share(0.03) },
    { kind: 'status', httpStatus: 503, share: share(0.03) },
    { kind: 'status', httpStatus: 429, share: share(0.03), retryAfter: 1 },
    { kind: 'status', httpStatus: 429, share: share(0.02) },
    { kind: 'delay', share: share(0.02), delayMs: between(API_TIMEOUT_MS, API_TIMEOUT_MS + SETTLING_TIME_MS / 2) },
    { kind: 'delay', share: share(0.3), delayMs: between(2, 150) },
    { kind: 'delay', share: share(0.3), delayMs: between(2, 150), at: 'after' },
  ];
}
