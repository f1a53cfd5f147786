/**
 * Publishes poison among the commands of a run: in each interval one kind of every family, in turn. At the end, judges
 * the ones that brokers accepted by the kit's expectations.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { Outcome } from 'payment-processor-contract/commands';
import type { JudgedEvidence } from './chaos-evidence.ts';
import { LetterIndex, type MessagePlace } from '../fuzz/letter-index.ts';
import { PoisonWriter } from '../fuzz/poison-writer.ts';
import type { ResultEvent } from '../../test/support/journal.ts';
import { POISON_FAMILIES } from '../../test/support/poison.ts';
import { judgePoison } from '../../test/support/poison/judgement.ts';
import type { Poison, PoisonKind } from '../../test/support/poison/kinds.ts';
import type { Stack } from '../../test/support/stack.ts';

/** A poison that the brokers accepted. */
export interface PutPoison {
  readonly kind: PoisonKind;
  readonly poison: Poison;
  readonly place: MessagePlace;
}

export interface PoisonEvidence {
  readonly put: readonly PutPoison[];
  /** Partitions that may have a poison whose writing was not confirmed: `topic/partition`. */
  readonly unclear: ReadonlySet<string>;
  /** How many poisons the brokers refused. */
  readonly refused: number;
  readonly wrong: readonly string[];
  /** Outcomes beside ACCEPTED of a good command, for the service and its own age may end it otherwise. */
  readonly besidesAccepted: readonly Outcome[];
}

export const NO_POISON: PoisonEvidence = { put: [], unclear: new Set(), refused: 0, wrong: [], besidesAccepted: [] };

/** The prefix of every key. */
const PREFIX = 'poison-';
/** Whether the broker accepts these varies, which cannot be judged under faults. */
const CANNOT_BE_JUDGED: (kind: PoisonKind) => boolean = ({ expected }) => expected.broker === 'either';

export class PoisonLoad {
  readonly #writer: PoisonWriter;
  readonly #put: PutPoison[] = [];
  readonly #unclear = new Set<string>();
  readonly #wrong: string[] = [];
  #refused = 0;
  #keys = 0;

  constructor(stack: Stack) {
    this.#writer = new PoisonWriter(stack);
  }

  /** @param canSettle whether the doubt of a transfer can be settled, so that none may stay UNKNOWN */
  evidence(canSettle: boolean): PoisonEvidence {
    const besidesAccepted = canSettle ? [] : (['UNKNOWN'] as const);
    return { put: this.#put, unclear: this.#unclear, refused: this.#refused, wrong: this.#wrong, besidesAccepted };
  }

  /** Keys that must have an answer. */
  awaitedKeys(): string[] {
    return this.#put
      .filter(({ kind }) => !kind.expected.answers.includes('none'))
      .flatMap(({ poison }) => (poison.key === null ? [] : [poison.key]));
  }

  /** @returns after the time is over and every poison is confirmed or given up */
  async run(everyMs: number, untilMs: number): Promise<void> {
    const families = Object.values(POISON_FAMILIES).map((kinds) => kinds.filter((kind) => !CANNOT_BE_JUDGED(kind)));
    const pauseMs = everyMs / families.length;
    const underWay: Promise<void>[] = [];
    let nextMs = performance.now();
    for (let turn = 0; performance.now() < untilMs; turn += 1) {
      for (const kinds of families) {
        const kind = kinds[turn % kinds.length];
        // During a broker's outage one may take long; the others do not wait for it.
        if (kind !== undefined && performance.now() < untilMs) underWay.push(this.#try(kind));
        nextMs += pauseMs;
        await delay(Math.max(0, nextMs - performance.now()));
      }
    }
    await Promise.all(underWay);
  }

  async #try(kind: PoisonKind): Promise<void> {
    this.#keys += 1;
    const aim = this.#writer.aim(kind, `${PREFIX}${this.#keys}`);
    const { partition, topic } = aim;
    try {
      const { poison, produced } = await this.#writer.write(kind, aim);
      if (produced.isRepeated) this.#unclear.add(`${topic}/${partition}`);
      if (produced.kind === 'refused') {
        this.#refused += 1;
        if (kind.expected.broker === 'takes') this.#wrong.push(`${kind.name}: the broker refuses it`);
      } else {
        this.#put.push({ kind, poison, place: { topic, partition, offset: produced.baseOffset } });
      }
    } catch {
      // The broker or registry was down for longer than the retries: this poison is left out.
      this.#unclear.add(`${topic}/${partition}`);
    }
  }
}

/** Results and dead letters of a run, without those of poison. */
export interface WithoutPoison {
  readonly results: readonly ResultEvent[];
  readonly deadLetters: readonly TopicRecord[];
  readonly wrong: readonly string[];
}

/** @param found what a reader finds; the parts about poison are judged, and left out of what is returned */
export function judgePoisons({ poison: given = NO_POISON, ...found }: JudgedEvidence): WithoutPoison {
  const { besidesAccepted, put, unclear, wrong: putWrong } = given;
  const wrong = [...putWrong];
  const keys = new Set(put.flatMap(({ poison }) => [poison.key, ...poison.companions]));
  const isPoison = ({ key }: ResultEvent): boolean => keys.has(key) || key.startsWith(PREFIX);
  const answers = Map.groupBy(
    found.results.filter(
      (event) => isPoison(event) && event.headers['replayed'] !== 'true' && event.value.outcome !== 'CONFLICT',
    ),
    ({ key }) => key,
  );
  const letters = new LetterIndex(found.deadLetters);
  const own = new Set<TopicRecord>();
  const planned = new Set(found.plan.commands.map(({ key }) => key));
  const mayBePoison = ({ headers, key }: TopicRecord): boolean =>
    unclear.has(`${headers['dlq-topic']}/${headers['dlq-partition']}`) && !planned.has(key?.toString() ?? '');
  for (const { kind, poison, place } of put) {
    const about = letters.about(place, poison.message?.key ?? null);
    for (const letter of about) own.add(letter);
    for (let index = 1n; index < poison.messageCount; index += 1n) {
      for (const letter of letters.about({ ...place, offset: place.offset + index }, null)) own.add(letter);
    }
    const { expected } = kind;
    const besides = expected.answers.includes('ACCEPTED') ? besidesAccepted : [];
    const judged = { input: kind.input, expected: { ...expected, answers: [...expected.answers, ...besides] } };
    const problems = judgePoison(judged, poison, about, (key) => answers.get(key) ?? []);
    wrong.push(
      ...problems.map((problem) => `${kind.name}, ${poison.key} at ${place.partition}:${place.offset}: ${problem}`),
    );
  }
  for (const [key, [answer]] of answers) {
    const effects = found.effects.operations['transfer-in'][key]?.effects ?? 0;
    const outcome = answer?.value.outcome ?? '';
    const allowed = outcome === 'UNKNOWN' ? [0, 1] : [outcome === 'ACCEPTED' ? 1 : 0];
    if (answer?.value.commandType === 'transfer-in' && !allowed.includes(effects))
      wrong.push(`${key}: ${outcome}, and took effect ${effects} times`);
  }
  return {
    results: found.results.filter((event) => !isPoison(event)),
    deadLetters: found.deadLetters.filter((letter) => !own.has(letter) && !mayBePoison(letter)),
    wrong,
  };
}
