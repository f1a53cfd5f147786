/**
 * Publishes an operator's order to hold or release, to every lane, and waits until each lane's ledger has it.
 *
 * Stages: fetch the ledger's end -> write the order to each partition of its topic -> read the ledger from that end, until
 * each lane's owner has committed the order, or the time is up -> close the reader.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from 'payment-processor-contract/config';
import { readBounds, type Bounds } from 'payment-processor-client/internal/kafka/topic-bounds';
import { openTopicReader } from 'payment-processor-client/internal/kafka/topic-reader';
import { decodeHolds, isCarriedOut, type HoldOrder } from '../../../src/ledger/holds.ts';
import { HOLD_KEY } from '../../../src/ledger/ledger-records.ts';
import { PublishError, RecordPublisher } from 'payment-processor-client/internal/kafka/record-publisher';
import { JSON_CONTENT_TYPE } from 'payment-processor-contract/cloud-events';
import { lanesInWords } from 'payment-processor-contract/keys';
import { topicNames } from 'payment-processor-contract/topics';
import { CLI_RETRY, cliKafka, type CliKafka, type CliSettings } from './context.ts';
import { readGroup } from './kafka/group-members.ts';
import { CliFailure } from './exit-codes.ts';
import { oncePublished, reasonOf } from './failures.ts';

export type HoldSettings = CliSettings & Pick<Config, 'KAFKA_GROUP_ID'>;

interface OrderWait {
  readonly forMs: number;
  /** Called with the pending lanes and members whenever they change. */
  readonly onWaiting: (unconfirmed: string) => void;
}

interface PlacedOrder {
  readonly id: string;
  readonly order: HoldOrder;
  /** The order's offsets, by lane. */
  readonly offsets: ReadonlyMap<number, bigint>;
  /** The ledger as it was before the order: confirmations follow. */
  readonly ledger: readonly Bounds[];
}

interface Confirmation {
  /** Lanes whose ledger does not have the order yet, or no longer. */
  readonly pending: readonly number[];
  /** Pending lanes where a later order has replaced it: they will not confirm it. */
  readonly overtaken: readonly number[];
  /** The other pending lanes in words, with the members that own them. */
  readonly unconfirmed: string;
  /** When the last lane confirmed it, by the brokers' clock, which may differ from the operator's; null: none has. */
  readonly confirmedMs: number | null;
}

const CHECK_INTERVAL_MS = 50;
/** Interval between requests for the lanes' owners. */
const ASK_INTERVAL_MS = 1_000;

/** @throws CliFailure if it could not be written to every lane; PublishError, or the Kafka client's error */
export async function placeOrder(settings: HoldSettings, order: HoldOrder): Promise<PlacedOrder> {
  const kafka = cliKafka(settings);
  const { ledger, operatorHolds } = topicNames(settings.TOPIC_PREFIX);
  const id = randomUUID();
  const [bounds, publisher] = await Promise.all([
    readBounds(kafka, [ledger]),
    RecordPublisher.connect(kafka, [operatorHolds], CLI_RETRY),
  ]);
  const offsets = await writeOrder(publisher, operatorHolds, id, order).finally(() => publisher.close());
  return { id, order, offsets, ledger: bounds };
}

/** @throws CliFailure, which says that the order is written */
export function awaitConfirmation(settings: HoldSettings, placed: PlacedOrder, wait: OrderWait): Promise<Confirmation> {
  return oncePublished('the order is written to every lane', confirmationOf(settings, placed, wait));
}

async function confirmationOf(
  settings: HoldSettings,
  { ledger, offsets, order }: PlacedOrder,
  wait: OrderWait,
): Promise<Confirmation> {
  const kafka = cliKafka(settings);
  const [pending, overtaken] = [new Set(offsets.keys()), new Set<number>()];
  const waited = (): number[] => [...pending].filter((lane) => !overtaken.has(lane));
  let confirmedMs: number | null = null;
  const reader = await openTopicReader(kafka, {
    topics: [topicNames(settings.TOPIC_PREFIX).ledger],
    start: { from: 'lows', bounds: ledger.map((one) => ({ ...one, low: one.high })) },
    untilEnd: false,
    groupPrefix: `${settings.TOPIC_PREFIX}-cli`,
    onRecord: ({ key, partition, timestampMs, value }) => {
      if (key?.toString() !== HOLD_KEY || value === null) return;
      const offset = offsets.get(partition);
      if (offset === undefined) return;
      const holds = decodeHolds(value);
      overtaken.delete(partition);
      if (isCarriedOut(holds, order, offset)) {
        pending.delete(partition);
        confirmedMs = Math.max(confirmedMs ?? timestampMs, timestampMs);
      } else {
        pending.add(partition);
        if (BigInt(holds.offset ?? -1) > offset) overtaken.add(partition);
      }
    },
  });
  const untilMs = performance.now() + wait.forMs;
  let [unconfirmed, askedMs] = ['', -Infinity];
  try {
    while (waited().length > 0 && performance.now() < untilMs) {
      // A failed reader rejects.
      await Promise.race([delay(CHECK_INTERVAL_MS), reader.ended]);
      if (waited().length === 0 || performance.now() - askedMs < ASK_INTERVAL_MS) continue;
      askedMs = performance.now();
      const now = await ownersInWords(kafka, settings, waited());
      if (now !== unconfirmed) wait.onWaiting(now);
      unconfirmed = now;
    }
  } finally {
    await reader.close();
  }
  if (waited().length > 0) unconfirmed = await ownersInWords(kafka, settings, waited());
  return { pending: [...pending], overtaken: [...overtaken], unconfirmed, confirmedMs };
}

/**
 * @returns the order's offsets, by lane
 * @throws CliFailure, `noResult` if a lane may have it nevertheless
 */
export async function writeOrder(
  publisher: Pick<RecordPublisher, 'partitionCount' | 'publish'>,
  topic: string,
  id: string,
  order: HoldOrder,
): Promise<Map<number, bigint>> {
  const value = Buffer.from(JSON.stringify(order));
  const lanes = Array.from({ length: publisher.partitionCount(topic) }, (_, lane) => lane);
  const record = { topic, key: Buffer.from(id), value, headers: { 'content-type': JSON_CONTENT_TYPE } };
  const sent = await Promise.allSettled(lanes.map((partition) => publisher.publish({ ...record, partition })));
  const failed = sent.flatMap((one, lane) =>
    one.status === 'rejected' ? [{ lane, reason: one.reason as unknown }] : [],
  );
  const [first] = failed;
  if (first !== undefined) {
    const mayHave = ({ reason }: { reason: unknown }): boolean => reason instanceof PublishError && reason.mayBeWritten;
    const [perhaps, not] = [failed.filter(mayHave), failed.filter((one) => !mayHave(one))];
    const named = (where: string, of: typeof failed): string[] =>
      of.length === 0 ? [] : [`${where} ${lanesInWords(of.map(({ lane }) => lane))}`];
    throw new CliFailure(
      perhaps.length > 0 ? 'noResult' : 'failed',
      `Kafka did not confirm the order in all ${lanes.length} lanes (${reasonOf(first.reason)}): ` +
        `${[...named('not written to', not), ...named('perhaps written to', perhaps)].join('; ')}. ` +
        'The lanes that have it carry it out. Repeat the command',
    );
  }
  return new Map(sent.flatMap((one) => (one.status === 'fulfilled' ? [[one.value.partition, one.value.offset]] : [])));
}

/** The lanes' owners, in words. */
async function ownersInWords(
  kafka: CliKafka,
  { KAFKA_GROUP_ID: groupId, TOPIC_PREFIX }: HoldSettings,
  lanes: readonly number[],
): Promise<string> {
  const named = (given: readonly number[]): string => lanesInWords(given.toSorted((left, right) => left - right));
  const group = await readGroup(kafka, groupId).catch(() => null);
  if (group === null) return `${named(lanes)} (Kafka does not report the owners)`;
  const { state, members } = group;
  if (state === 'PreparingRebalance' || state === 'CompletingRebalance')
    return `${named(lanes)} (the group is reassigning its lanes)`;
  const topics: readonly string[] = Object.values(topicNames(TOPIC_PREFIX).commands);
  const owned = members.flatMap(({ assignment, clientHost, clientId }) => {
    const own = new Set([...assignment].flatMap(([topic, given]) => (topics.includes(topic) ? given : [])));
    const waited = lanes.filter((lane) => own.has(lane));
    return waited.length === 0
      ? []
      : [{ waited, text: `${named(waited)} of ${clientId} at ${clientHost.replace(/^\//, '')}` }];
  });
  const unowned = lanes.filter((lane) => !owned.some(({ waited }) => waited.includes(lane)));
  const why =
    members.length === 0
      ? `KAFKA_GROUP_ID=${groupId} has no member, so no process runs, or the processes have another group`
      : 'no owner';
  const noOwner = `${named(unowned)} (${why}; the next owner reads the order before its first call)`;
  return [...owned.map(({ text }) => text), ...(unowned.length > 0 ? [noOwner] : [])].join('; ');
}
