/** The evidence by which a chaos run is judged. */
import { subscribe, type PaymentEvent } from 'payment-processor-client';
import { openTopicReader, type TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { CommandType } from 'payment-processor-contract/commands';
import type { QuoteEvent, ResultEvent, TransactionEvent } from '../../test/support/journal.ts';
import type { BooksReport, EffectsReport } from '../../test/support/sandbox-control.ts';
import type { CoordinatorOutage } from './coordinator-outage.ts';
import type { Plan } from './chaos-commands.ts';
import type { Recovery } from './disturbances.ts';
import type { OwnEnd } from './fleet.ts';
import type { PoisonEvidence } from './poison-load.ts';
import type { Rig } from './rig.ts';
import type { LivesEvidence } from './lives.ts';
import { underWayAtKills } from './under-way.ts';

/** What a new reader finds, the service's books, and what the processes left. */
export interface Gathered {
  results: readonly ResultEvent[];
  transactionEvents: readonly TransactionEvent[];
  quoteEvents: readonly QuoteEvent[];
  unreadableEvents: number;
  deadLetters: readonly TopicRecord[];
  effects: EffectsReport;
  books: BooksReport;
  /** Keys whose call may have been in flight when their process was killed or counted out, according to the ledger. */
  underWayAtKills: ReadonlySet<string>;
  /** Keys with a call that went unanswered on the wire. */
  unclearKeys: ReadonlySet<string>;
  /** Whether a call that ended at this instant may have been lost before the wire saw its key. */
  wasCutAround: (wallMs: number) => boolean;
  residentMiBMax: ReadonlyMap<string, number>;
  badStops: readonly OwnEnd[];
}

/** The evidence for the judgement of commands, books and processes. */
export interface JudgedEvidence extends Gathered {
  plan: Plan;
  honourKeys: readonly CommandType[];
  /** The service's lists may omit transactions, so a look-up may fail to settle a doubt. */
  mayBeUnfound?: boolean;
  coordinatorOutages?: readonly CoordinatorOutage[];
  /** Poison that was published among the commands, if any. */
  poison?: PoisonEvidence;
}

export interface ChaosEvidence extends JudgedEvidence {
  coordinatorOutages: readonly CoordinatorOutage[];
  elapsedMs: number;
  /** From the end of the last disturbance until the last command had its result. */
  healedMs: number;
  disturbances: Readonly<Record<string, number>>;
  recoveries: readonly Recovery[];
  /** How many calls were hit by a fault of the service, by kind. */
  faultHits: Readonly<Record<string, number>>;
  unclearCalls: number;
  republished: number;
  processorsStarted: number;
  ownEnds: readonly OwnEnd[];
  readinessAtTheEnd: readonly unknown[];
  lives: LivesEvidence | null;
}

/** Reads the topics from the beginning, as any new reader would. */
export async function gatherEvidence({ fleet, link, stack }: Rig): Promise<Gathered> {
  const events: PaymentEvent[] = [];
  const subscription = await subscribe(stack.settings, {
    streams: ['results', 'transaction-status', 'quote-status'],
    start: { from: 'beginning' },
    untilEnd: true,
    onEvent: (event) => void events.push(event),
  });
  await subscription.ended;
  await subscription.close();
  const deadLetters: TopicRecord[] = [];
  const reader = await openTopicReader(stack.kafka, {
    topics: [stack.topics.deadLetters],
    start: { from: 'beginning' },
    untilEnd: true,
    groupPrefix: stack.settings.TOPIC_PREFIX,
    onRecord: (record) => void deadLetters.push(record),
  });
  await reader.ended;
  await reader.close();
  return {
    results: events.filter((event): event is ResultEvent => event.kind === 'result'),
    transactionEvents: events.filter((event): event is TransactionEvent => event.kind === 'transaction-status'),
    quoteEvents: events.filter((event): event is QuoteEvent => event.kind === 'quote-status'),
    unreadableEvents: events.filter(({ kind }) => kind === 'unreadable').length,
    deadLetters,
    effects: await stack.service.effects(),
    books: await stack.service.books(),
    underWayAtKills: underWayAtKills(await stack.readLedger()),
    unclearKeys: link.unclearKeys,
    wasCutAround: (wallMs) => link.wasCutAround(wallMs),
    residentMiBMax: fleet.residentMiBMax,
    badStops: fleet.badStops,
  };
}
