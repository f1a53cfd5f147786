/**
 * One member's report to another (`/api/member`), and how we read it. It is untrusted input: it may come from another release,
 * or from something else that listens at the address.
 *
 * Missing or unreadable parts are null, and sums leave them out. Without id, instant, readiness, reasons and lanes the
 * whole report is unreadable. Pure.
 */
import { z } from 'zod';
import type { Sample } from '../history.ts';
import { RELEASE } from '../release.ts';
import type { ProcessorState } from '../processor-state.ts';
import type { TimelineEvent } from '../timeline.ts';

/** Changes when a field changes its meaning. */
export const REPORT_FORMAT = 1;
const LANES_MAX = 1_000;
const LIST_MAX = 100;
const SAMPLES_MAX = 200;
const TEXT_CHARACTERS_MAX = 1_000;

const text = z.string().max(TEXT_CHARACTERS_MAX);
/** A sentence may list a thousand lanes, so a long one is cut, not rejected. */
const sentence = z.string().transform((whole) => whole.slice(0, TEXT_CHARACTERS_MAX));
const instant = z.iso.datetime();
const amount = z.number().nonnegative();
const amountOrNull = amount.nullable();
const list = <Item extends z.ZodType>(item: Item, most = LIST_MAX) => z.array(item).max(most).readonly();
/** Null: not reported, or not in a form that this release understands. */
const optional = <Part extends z.ZodType>(part: Part) => part.nullable().catch(null);

const input = z.object({
  topic: text,
  name: text,
  command: text.nullable(),
  lagMessages: amountOrNull,
  oldestSeconds: amountOrNull,
  cause: text.nullable(),
  problem: sentence.nullable(),
  position: text.nullable(),
  heldBackMessages: amount.catch(0),
  heldBackSeconds: amountOrNull.catch(null),
});

const lane = z.object({
  lane: z.int().min(0).max(LANES_MAX),
  stage: text,
  stoppedReason: sentence.nullable().catch(null),
  openedAt: instant.nullable().catch(null),
  unfinished: amount,
  uncommittedSeconds: amountOrNull.catch(null),
  ledgerHeldBackSeconds: amountOrNull.catch(null),
  inputs: list(input),
});

const figures = z.object({
  at: instant,
  processId: text,
  ready: z.boolean(),
  reasons: list(sentence, LIST_MAX * 10),
  lanes: list(lane, LANES_MAX),
  isGroupConfirmed: optional(z.boolean()),
  service: optional(z.object({ state: text, reason: sentence.nullable(), since: instant.nullable() })),
  operations: optional(
    list(
      z.object({
        operation: text,
        breaker: text,
        lastFault: text.nullable().catch(null),
        callsUnderWay: amount,
        allowance: amountOrNull,
      }),
    ),
  ),
  lagEndsAgeSeconds: optional(amount),
  unfinished: optional(list(z.object({ state: text, operation: text, count: amount, oldestSeconds: amount }))),
  oldestUnansweredSeconds: optional(z.record(text, amountOrNull)),
  callsUnderWay: optional(amount),
  callSlots: optional(amount),
  keysRemembered: optional(amount),
  ledger: optional(
    z.object({
      behindRecords: amountOrNull,
      restore: z.object({ isUnderWay: z.boolean(), seconds: amount }).nullable(),
    }),
  ),
  unknownResults: optional(
    z.object({
      waiting: amount,
      oldestSeconds: amountOrNull,
      listed: list(z.object({ keyHash: text, command: text, lane: z.int(), ageSeconds: amount })),
    }),
  ),
  holds: optional(
    list(
      z.object({
        command: text,
        lanes: list(z.int(), LANES_MAX),
        operator: sentence,
        at: text,
        until: text.nullable(),
        seconds: amount,
      }),
    ),
  ),
  activity: optional(
    z.object({
      startedAt: instant,
      results: list(z.object({ command: text, outcome: text, count: amount })),
      ownFailures: amount,
    }),
  ),
});

const sample = z.object({
  at: instant,
  intervalSeconds: z.number().positive(),
  lagMessages: amountOrNull,
  lagInputs: amount,
  unfinished: amount,
  oldestUnansweredSeconds: amount,
  resultsAccepted: amount,
  resultsOther: amount,
  calls: amount,
  callFaults: amount,
  command95Seconds: amountOrNull,
});

const event = z.object({ number: z.int(), at: instant, kind: text, text: sentence });

const report = z.object({
  format: z.literal(REPORT_FORMAT),
  release: text,
  state: figures,
  samples: list(sample, SAMPLES_MAX).catch([]),
  events: list(event, SAMPLES_MAX).catch([]),
});

/** One member's figures; ProcessorState has these and more. */
export type MemberFigures = z.infer<typeof figures>;
export type MemberSample = z.infer<typeof sample>;
export type MemberEvent = z.infer<typeof event>;
export type MemberReport = z.infer<typeof report>;

/** @param after only samples and events from this instant on; null: all */
export function memberReport(
  own: { state: ProcessorState; samples: readonly Sample[]; events: readonly TimelineEvent[] },
  after: string | null,
): object {
  const fromMs = after === null ? NaN : Date.parse(after);
  const isWanted = ({ at }: { at: string }): boolean => !(Date.parse(at) < fromMs);
  const { events, samples, state } = own;
  return {
    ...{ format: REPORT_FORMAT, release: RELEASE, state },
    ...{ samples: samples.filter(isWanted), events: events.filter(isWanted) },
  } satisfies Record<keyof MemberReport, unknown>;
}

/** @returns null: not a report that this release understands */
export function readMemberReport(body: string): MemberReport | null {
  try {
    return report.safeParse(JSON.parse(body)).data ?? null;
  } catch {
    return null;
  }
}

/** Parts that a member does not report, because it runs another release. */
export function unreportedParts(report: MemberFigures): string[] {
  const isMissing: Readonly<Record<string, boolean>> = {
    service: report.service === null,
    breakers: report.operations === null,
    unfinished: report.unfinished === null,
    ages: report.oldestUnansweredSeconds === null,
    calls: report.callsUnderWay === null || report.callSlots === null,
    ledger: report.ledger === null,
    results: report.activity === null,
  };
  return Object.keys(isMissing).filter((part) => isMissing[part] === true);
}
