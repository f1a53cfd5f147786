/**
 * What one member tells another of itself (`/api/member`), and how such an answer is read: it comes from outside, perhaps
 * of another release, or of something else that listens there.
 *
 * Parts that are missing or not understood are null, and counted in no sum; without the few that tell a member (its id,
 * instant, readiness and lanes) an answer is unreadable. Pure.
 */
import { z } from 'zod';
import type { Sample } from '../history.ts';
import { RELEASE } from '../release.ts';
import type { ProcessorState } from '../processor-state.ts';
import type { TimelineEvent } from '../timeline.ts';

/** Of the report: another one where its members mean something else than before. */
export const REPORT_FORMAT = 1;
const LANES_MAX = 1_000;
const LIST_MAX = 100;
const SAMPLES_MAX = 200;
const TEXT_CHARACTERS_MAX = 1_000;

const text = z.string().max(TEXT_CHARACTERS_MAX);
/** Sentences, which may list a thousand lanes: more of one is not shown. */
const sentence = z.string().transform((whole) => whole.slice(0, TEXT_CHARACTERS_MAX));
const instant = z.iso.datetime();
const amount = z.number().nonnegative();
const amountOrNull = amount.nullable();
const list = <Item extends z.ZodType>(item: Item, most = LIST_MAX) => z.array(item).max(most).readonly();
/** Null: the member does not tell it, or in a way that this release does not understand. */
const untold = <Part extends z.ZodType>(part: Part) => part.nullable().catch(null);

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
  isGroupConfirmed: untold(z.boolean()),
  service: untold(z.object({ state: text, reason: sentence.nullable(), since: instant.nullable() })),
  operations: untold(
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
  lagEndsAgeSeconds: untold(amount),
  unfinished: untold(list(z.object({ state: text, operation: text, count: amount, oldestSeconds: amount }))),
  oldestUnansweredSeconds: untold(z.record(text, amountOrNull)),
  callsUnderWay: untold(amount),
  callSlots: untold(amount),
  keysRemembered: untold(amount),
  ledger: untold(
    z.object({
      behindRecords: amountOrNull,
      restore: z.object({ isUnderWay: z.boolean(), seconds: amount }).nullable(),
    }),
  ),
  unknownResults: untold(
    z.object({
      waiting: amount,
      oldestSeconds: amountOrNull,
      listed: list(z.object({ keyHash: text, command: text, lane: z.int(), ageSeconds: amount })),
    }),
  ),
  activity: untold(
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

/** Of one member; ProcessorState is one, with more. */
export type MemberFigures = z.infer<typeof figures>;
export type MemberSample = z.infer<typeof sample>;
export type MemberEvent = z.infer<typeof event>;
export type MemberReport = z.infer<typeof report>;

/** @param after only what is as young or younger; null: all that is remembered */
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

/** @returns null: it is no report that this release understands */
export function readMemberReport(body: string): MemberReport | null {
  try {
    return report.safeParse(JSON.parse(body)).data ?? null;
  } catch {
    return null;
  }
}

/** Parts that a member does not tell: it runs another release. */
export function untoldParts(told: MemberFigures): string[] {
  const isPart: Readonly<Record<string, boolean>> = {
    service: told.service === null,
    breakers: told.operations === null,
    unfinished: told.unfinished === null,
    ages: told.oldestUnansweredSeconds === null,
    calls: told.callsUnderWay === null || told.callSlots === null,
    ledger: told.ledger === null,
    results: told.activity === null,
  };
  return Object.keys(isPart).filter((part) => isPart[part] === true);
}
