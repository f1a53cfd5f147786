/** Messages that our publishers never write but any client can, and that might stop a lane or end a process. */
import type { Outcome } from 'payment-processor-contract/commands';
import { laneOf } from 'payment-processor-contract/keys';
import type { TopicNames } from 'payment-processor-contract/topics';
import { createQuoteOf, transferInOf } from '../../test/support/commands.ts';
import { stringifyLossless } from 'payment-processor-contract/lossless-json';
import { POISON_KINDS, type PoisonKind } from './disturbances.ts';
import { BUG } from './simulated-registry.ts';
import type { Draws } from './draws.ts';
import { jsonHeaders, type Publishers } from './publishers.ts';
import type { Scenario } from './scenario.ts';
import type { SimulatedBroker } from './simulated-broker.ts';
import type { StoredHeaders } from './simulated-log.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface Poison {
  readonly key: string;
  /** The allowed outcomes of its first result. */
  readonly allowed: readonly Outcome[];
}

export interface PoisonOptions {
  readonly scenario: Scenario;
  readonly time: VirtualTime;
  readonly draws: Draws;
  readonly publishers: Publishers;
  readonly broker: SimulatedBroker;
  readonly topics: TopicNames;
  readonly log: (line: string) => void;
}

interface Dose {
  readonly command: 'create-quote' | 'transfer-in';
  readonly value: string;
  readonly allowed: readonly Outcome[];
  readonly headers?: StoredHeaders;
  /** False: it is JSON. */
  readonly isAvro?: boolean;
  /** Published to another partition than its key's, if there is one. */
  readonly isMisrouted?: boolean;
}

/** The prefix of all their keys. */
export const POISON_PREFIX = 'poison-';
const PER_KIND_MAX = 2;
const DEEP = 5_000;
const UNKNOWN_FIELDS = 8_281;
const LARGE_BYTES = 5 * 1024 * 1024;
const MISROUTED_BYTES = 1_258_291;
const REFUSED_TEXT = 'no broker takes this';
const UNREADABLE = '{"this is not';
/** Where the refused text begins: too far into the message for a reference to contain it. */
const REFUSED_FROM = 2_000;
const INVALID: readonly Outcome[] = ['INVALID'];
/** The command is valid, so the outcome depends on the service and on its age. */
const AS_ANY: readonly Outcome[] = ['ACCEPTED', 'REFUSED', 'EXPIRED', 'UNKNOWN'];
/** The message was set aside. */
const FAILED: readonly Outcome[] = ['FAILED'];

/** Publishes the scenario's poison among the commands. @returns a list that grows as poison is published */
export function publishPoison(options: PoisonOptions): readonly Poison[] {
  const published: Poison[] = [];
  const { broker, draws, log, publishers, scenario, time, topics } = options;
  broker.refuse(REFUSED_TEXT);
  for (const kind of POISON_KINDS) {
    if (!scenario.disturbed.has(kind)) continue;
    const count = 1 + draws.below(PER_KIND_MAX);
    for (let index = 0; index < count; index += 1) {
      const key = `${kind}-${index}`;
      time.after(draws.between(0, scenario.durationMs), null, () => {
        const {
          allowed,
          command,
          headers = [],
          isAvro = false,
          isMisrouted = false,
          value,
        } = doseOf(kind, key, time.nowMs);
        const lane = (laneOf(key, scenario.laneCount) + (isMisrouted ? 1 : 0)) % scenario.laneCount;
        log(`published ${key}`);
        const ownHeaders: StoredHeaders = isAvro ? [['ce_id', Buffer.from(key)]] : jsonHeaders({ ce_id: key });
        const offset = publishers.append(topics.commands[command], lane, key, Buffer.from(value), [
          ...ownHeaders,
          ...headers,
        ]);
        if (offset !== null) published.push({ key, allowed });
      });
    }
  }
  return published;
}

function doseOf(kind: PoisonKind, key: string, nowMs: number): Dose {
  const transfer = transferInOf(key, 5n);
  const nested = '['.repeat(DEEP) + ']'.repeat(DEEP);
  const broken = { command: 'transfer-in' as const, value: UNREADABLE, allowed: INVALID };
  const moved = {
    command: 'transfer-in' as const,
    value: stringifyLossless(transfer),
    isMisrouted: true,
    allowed: AS_ANY,
  };
  switch (kind) {
    case 'poison-others': {
      const fields = createQuoteOf(key, 5n);
      const source = { ...fields.source, otherFieldsJson: 'hello' };
      const value = stringifyLossless({ ...fields, immediatelyExecute: false, source });
      return { command: 'create-quote', value, allowed: INVALID };
    }
    case 'poison-deep-others': {
      // Here this is a name like any other.
      const destination = { destinationType: 'UMA_ADDRESS', otherFieldsJson: '{"umaAddress":"$you@there.example"}' };
      const said = { senderCustomerInfo: { otherFieldsJson: nested }, lookupId: 'Lookup:any' };
      const fields = { ...createQuoteOf(key, 5n), destination, ...said };
      return { command: 'create-quote', value: stringifyLossless(fields), allowed: AS_ANY };
    }
    case 'poison-unknown-others':
      return {
        command: 'transfer-in',
        value: stringifyLossless({ ...transfer, otherFieldsJson: 'hello' }),
        allowed: INVALID,
      };
    case 'poison-deep': {
      const value = stringifyLossless(transfer).replace(/}$/, `,"deep":${nested}}`);
      return { command: 'transfer-in', value, allowed: INVALID };
    }
    case 'poison-many-fields': {
      const unknown = Array.from({ length: UNKNOWN_FIELDS }, (_, index) => [`f${index}`, 0]);
      return {
        command: 'transfer-in',
        value: stringifyLossless({ ...transfer, ...Object.fromEntries(unknown) }),
        allowed: INVALID,
      };
    }
    case 'poison-null-header':
      return { ...broken, headers: [['x', null]] };
    case 'poison-null-header-moved':
      return { ...moved, headers: [['x', null]] };
    case 'poison-object-header':
      return { ...broken, headers: ['constructor', '__proto__'].map((name) => [name, Buffer.from('x')]) };
    case 'poison-object-header-moved':
      return { ...moved, headers: ['constructor', '__proto__'].map((name) => [name, Buffer.from('x')]) };
    case 'poison-moved-partition': {
      const texts = {
        'moved-partition': '4294967296',
        'moved-offset': '1',
        'moved-timestamp': String(Math.floor(nowMs)),
      };
      return {
        ...moved,
        isMisrouted: false,
        headers: Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)]),
      };
    }
    case 'poison-large':
      return { command: 'transfer-in', value: `"${'x'.repeat(LARGE_BYTES)}"`, allowed: INVALID };
    case 'poison-large-moved':
      return { command: 'transfer-in', value: `"${'x'.repeat(MISROUTED_BYTES)}"`, isMisrouted: true, allowed: INVALID };
    case 'poison-twice': {
      const value = stringifyLossless(transfer).replace(/^{/, '{"amount":1000000,');
      return { command: 'transfer-in', value, allowed: INVALID };
    }
    case 'poison-bug':
      return { command: 'transfer-in', value: BUG, isAvro: true, allowed: FAILED };
    case 'poison-refused': {
      const description = 'x'.repeat(REFUSED_FROM) + REFUSED_TEXT;
      const fields = { ...createQuoteOf(key, 5n), immediatelyExecute: false, description };
      return { command: 'create-quote', value: stringifyLossless(fields), allowed: FAILED };
    }
  }
}
