/** Poison of the kit among the commands of a history, and two kinds that do harm here alone. */
import { stringifyLossless } from 'payment-processor-contract/lossless-json';
import type { PutPoison } from '../chaos/poison-load.ts';
import { createQuoteOf } from '../../test/support/commands.ts';
import { POISON_KINDS as KIT } from '../../test/support/poison.ts';
import { aimed, expected, messageKind, type PoisonKind } from '../../test/support/poison/kinds.ts';
import { POISON_KINDS, type PoisonKind as PoisonName } from './disturbances.ts';
import { BUG } from './simulated-registry.ts';
import type { Publishers } from './publishers.ts';
import type { Surroundings } from './world.ts';

/** The prefix of all their keys. */
export const POISON_PREFIX = 'poison-';
const PER_KIND_MAX = 2;
const REFUSED_TEXT = 'no broker takes this';
/** Where the refused text begins: too far into the message for a reference to contain it. */
const REFUSED_FROM = 2_000;
const SET_ASIDE = { ...expected.invalid, answers: ['FAILED'], burials: ['SET_ASIDE'] } as const;

export const KINDS: Readonly<Record<PoisonName, PoisonKind>> = {
  'poison-others': inKit('source.otherFieldsJson: hello'),
  'poison-unknown-others': inKit('an unknown field otherFieldsJson: hello'),
  'poison-deep': inKit('5,000 arrays in an unknown field'),
  'poison-deep-others': inKit('senderCustomerInfo.otherFieldsJson: 5,000 arrays'),
  'poison-many-fields': inKit('JSON with 6,500 unknown fields'),
  'poison-null-header': inKit('a header with no value, on an unreadable one'),
  'poison-null-header-moved': inKit('a header with no value, on one that is moved'),
  'poison-object-header': inKit('a header named constructor, on an unreadable one'),
  'poison-object-header-moved': inKit('a header named __proto__, on one that is moved'),
  'poison-moved-partition': inKit('moved-partition: "4294967296"'),
  'poison-large': inKit('a value of 5 MiB under gzip'),
  'poison-large-moved': inKit('a value of 1.2 MiB, to be moved'),
  'poison-twice': inKit('JSON with an amount that is there twice'),
  'poison-bug': messageKind('a bug of ours', SET_ASIDE, () => ({ value: BUG, headers: [] })),
  'poison-refused': messageKind(
    'what no broker takes',
    SET_ASIDE,
    ({ key }) => {
      const description = 'x'.repeat(REFUSED_FROM) + REFUSED_TEXT;
      return { value: stringifyLossless({ ...createQuoteOf(key, 5n), immediatelyExecute: false, description }) };
    },
    { commandType: 'create-quote' },
  ),
};

function inKit(name: string): PoisonKind {
  const found = KIT.find((kind) => kind.name === name);
  if (found === undefined) throw new Error(`the kit has no ${name}`);
  return found;
}

/** Publishes the scenario's poison among the commands. @returns a list that grows as poison is published */
export function publishPoison({
  broker,
  draws,
  log,
  publishers,
  scenario,
  time,
  topics,
}: Surroundings & { readonly publishers: Publishers }): readonly PutPoison[] {
  const put: PutPoison[] = [];
  const publish = async (kind: PoisonKind, key: string): Promise<void> => {
    const aim = aimed(kind, topics, scenario.laneCount, key);
    const encode = async (): Promise<Buffer> => Promise.reject(new Error('no Avro is poison here'));
    const poison = await kind.make({ ...aim, nowMs: Math.floor(time.nowMs), encode });
    const { headers = [], value } = poison.message ?? { value: null };
    const stored = headers.map(([name, text]) => [name.toString(), text === null ? null : Buffer.from(text)] as const);
    log(`published ${key}`);
    const offset = publishers.append(aim.topic, aim.partition, key, value ?? Buffer.alloc(0), stored);
    if (offset !== null) put.push({ kind, poison, place: { ...aim, offset: BigInt(offset) } });
  };
  broker.refuse(REFUSED_TEXT);
  for (const name of POISON_KINDS) {
    if (!scenario.disturbed.has(name)) continue;
    const count = 1 + draws.below(PER_KIND_MAX);
    for (let index = 0; index < count; index += 1)
      time.after(draws.between(0, scenario.durationMs), null, () => void publish(KINDS[name], `${name}-${index}`));
  }
  return put;
}
