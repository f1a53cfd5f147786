/** Messages that no publisher of ours would write, and any client can: what may stop a lane or end a process. */
import { laneOf } from '../../src/records/keys.ts';
import type { TopicNames } from '../../src/records/topics.ts';
import { createQuoteOf, transferInOf } from '../support/commands.ts';
import { stringifyLossless } from '../../src/records/lossless-json.ts';
import type { PoisonKind } from './disturbances.ts';
import { POISON_KINDS } from './disturbances.ts';
import type { Draws } from './draws.ts';
import { jsonHeaders, type Publishers } from './publishers.ts';
import type { Scenario } from './scenario.ts';
import type { StoredHeaders } from './simulated-log.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface PoisonOptions {
  readonly scenario: Scenario;
  readonly time: VirtualTime;
  readonly draws: Draws;
  readonly publishers: Publishers;
  readonly topics: TopicNames;
  readonly log: (line: string) => void;
}

interface Dose {
  readonly command: 'create-quote' | 'transfer-in';
  readonly value: string;
  readonly headers?: StoredHeaders;
  /** On another partition than its key's, where there is one. */
  readonly isMisrouted?: boolean;
}

/** Begins the keys of all of them. */
export const POISON_PREFIX = 'poison-';
const PER_KIND_MAX = 2;
const DEEP = 5_000;
const UNKNOWN_FIELDS = 8_281;
const LARGE_BYTES = 5 * 1024 * 1024;
const MISROUTED_BYTES = 1_258_291;
const UNREADABLE = '{"this is not';

/** Puts the poison of the scenario among the commands. @returns the keys of what has been published so far */
export function publishPoison(options: PoisonOptions): ReadonlySet<string> {
  const published = new Set<string>();
  const { draws, log, publishers, scenario, time, topics } = options;
  for (const kind of POISON_KINDS) {
    if (!scenario.disturbed.has(kind)) continue;
    const count = 1 + draws.below(PER_KIND_MAX);
    for (let index = 0; index < count; index += 1) {
      const key = `${kind}-${index}`;
      time.after(draws.between(0, scenario.durationMs), null, () => {
        const { command, headers = [], isMisrouted = false, value } = doseOf(kind, key, time.nowMs);
        const lane = (laneOf(key, scenario.laneCount) + (isMisrouted ? 1 : 0)) % scenario.laneCount;
        log(`published ${key}`);
        const allHeaders = [...jsonHeaders({ ce_id: key }), ...headers];
        const offset = publishers.append(topics.commands[command], lane, key, Buffer.from(value), allHeaders);
        if (offset !== null) published.add(key);
      });
    }
  }
  return published;
}

function doseOf(kind: PoisonKind, key: string, nowMs: number): Dose {
  const transfer = transferInOf(key, 5n);
  const nested = '['.repeat(DEEP) + ']'.repeat(DEEP);
  const broken = { command: 'transfer-in' as const, value: UNREADABLE };
  const moved = { command: 'transfer-in' as const, value: stringifyLossless(transfer), isMisrouted: true };
  switch (kind) {
    case 'poison-others':
    case 'poison-deep-others': {
      const senderCustomerInfo = { otherFieldsJson: kind === 'poison-others' ? 'hello' : nested };
      const fields = { ...createQuoteOf(key, 5n), immediatelyExecute: false, senderCustomerInfo };
      return { command: 'create-quote', value: stringifyLossless(fields) };
    }
    case 'poison-unknown-others':
      return { command: 'transfer-in', value: stringifyLossless({ ...transfer, otherFieldsJson: 'hello' }) };
    case 'poison-deep': {
      const value = stringifyLossless(transfer).replace(/}$/, `,"deep":${nested}}`);
      return { command: 'transfer-in', value };
    }
    case 'poison-many-fields': {
      const unknown = Array.from({ length: UNKNOWN_FIELDS }, (_, index) => [`f${index}`, 0]);
      return { command: 'transfer-in', value: stringifyLossless({ ...transfer, ...Object.fromEntries(unknown) }) };
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
      return { command: 'transfer-in', value: `"${'x'.repeat(LARGE_BYTES)}"` };
    case 'poison-large-moved':
      return { command: 'transfer-in', value: `"${'x'.repeat(MISROUTED_BYTES)}"`, isMisrouted: true };
  }
}
