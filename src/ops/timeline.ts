/**
 * Recent changes in this process, in words: lanes it took or gave up, breakers, the payment service, operators' decisions. In
 * memory, bounded; a restart forgets them. No keys, no accounts.
 */
import type { ApiLog } from '../api/payment-api.ts';
import type { LaneReports } from '../lanes/reports.ts';
import { maskText } from './log-redaction.ts';
import { keyHash } from 'payment-processor-contract/key-hash';
import type { ProcessorState } from './processor-state.ts';

export const EVENTS_MAX = 200;
export const EVENTS_AGE_MAX_MS = 24 * 3_600_000;
/** Operators choose their names, of any length. */
const NAME_CHARACTERS_MAX = 80;
/** A refused decision may be any text, of any length. */
const DECISION_CHARACTERS_MAX = 20;

export type EventKind = 'lanes' | 'breaker' | 'service' | 'decision' | 'member';

export interface TimelineEvent {
  /** Number within this process, ascending. */
  readonly number: number;
  readonly at: string;
  readonly kind: EventKind;
  /** A sentence without its subject, which is the process. */
  readonly text: string;
}

export class Timeline {
  readonly #nowMs: () => number;
  readonly #events: TimelineEvent[] = [];
  #lastNumber = 0;
  #lanes: readonly number[] = [];

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  note(kind: EventKind, text: string): void {
    this.#lastNumber += 1;
    this.#events.push({ number: this.#lastNumber, at: new Date(this.#nowMs()).toISOString(), kind, text });
    if (this.#events.length > EVENTS_MAX) this.#events.shift();
  }

  /** Oldest first. */
  events(): readonly TimelineEvent[] {
    const fromMs = this.#nowMs() - EVENTS_AGE_MAX_MS;
    return this.#events.filter(({ at }) => Date.parse(at) >= fromMs);
  }

  /** Call it with the state from time to time: it notes the lanes gained and lost since the last call. */
  seen({ lanes }: Pick<ProcessorState, 'lanes'>): void {
    const now = lanes.map(({ lane }) => lane);
    const gained = now.filter((lane) => !this.#lanes.includes(lane));
    const lost = this.#lanes.filter((lane) => !now.includes(lane));
    this.#lanes = now;
    const parts = [
      ...(gained.length === 0 ? [] : [`got ${laneRangesInWords(gained)}`]),
      ...(lost.length === 0 ? [] : [`no longer has ${laneRangesInWords(lost)}`]),
    ];
    if (parts.length > 0) this.note('lanes', `${parts.join(', ')}; now has ${laneRangesInWords(now)}`);
  }

  /**
   * @returns a log for the payment API; also notes when a breaker opens or closes, and when calls are held or resume
   */
  withApiLog(log: ApiLog): ApiLog {
    return (level, event, fields) => {
      log(level, event, fields);
      const { faultPercent, lastFault, operation, reason, stage } = fields;
      if (event === 'breaker-changed' && level === 'warn') {
        const why = [typeof faultPercent === 'number' ? `${faultPercent} % faults` : '', textOf(lastFault)];
        const evidence = why.filter((part) => part !== '').join(', last: ');
        this.note('breaker', `opened the breaker of ${textOf(operation)}${evidence === '' ? '' : ` (${evidence})`}`);
      } else if (event === 'breaker-changed' && level === 'info' && stage === 'closed') {
        this.note('breaker', `closed the breaker of ${textOf(operation)} again`);
      } else if (event === 'payment-service-held') {
        this.note('service', `holds its calls to the payment service: ${maskText(textOf(reason))}`);
      } else if (event === 'payment-service-serving') {
        this.note('service', 'can use the payment service: the check succeeded');
      }
    };
  }

  /** @param reports receives every report */
  withReports<Reports extends LaneReports>(reports: Reports): Reports {
    return {
      ...reports,
      decided: (lane, key, decision, isCarriedOut, offset) => {
        reports.decided(lane, key, decision, isCarriedOut, offset);
        const who = maskText(decision.operator.slice(0, NAME_CHARACTERS_MAX));
        const what = `${maskText(decision.decision.slice(0, DECISION_CHARACTERS_MAX))} of the key with hash ${keyHash(key)} in lane ${lane}, by ${who}`;
        this.note('decision', isCarriedOut ? `carried out: ${what}` : `refused: ${what}`);
      },
    };
  }
}

function textOf(field: unknown): string {
  return typeof field === 'string' ? field : '';
}

/** `no lane`, `lane 3`, `lanes 0 to 3, 5`. */
export function laneRangesInWords(lanes: readonly number[]): string {
  const sorted = lanes.toSorted((left, right) => left - right);
  const ranges: { first: number; last: number }[] = [];
  for (const lane of sorted) {
    const range = ranges.at(-1);
    if (range !== undefined && lane === range.last + 1) range.last = lane;
    else ranges.push({ first: lane, last: lane });
  }
  const words = ranges.map(({ first, last }) => (first === last ? String(first) : `${first} to ${last}`)).join(', ');
  return sorted.length === 0 ? 'no lane' : `${sorted.length === 1 ? 'lane' : 'lanes'} ${words}`;
}
