/**
 * Operators who decide. In some histories they do so at any time, by the results and the service's books at that moment. At
 * the end of every history they look up each UNKNOWN.
 */
import { laneOf } from 'payment-processor-contract/keys';
import type { CommandResult } from 'payment-processor-contract/types';
import type { ResultEvent } from '../../test/support/journal.ts';
import { jsonHeaders, type Publishers } from './publishers.ts';
import type { ServiceState } from './service-state.ts';
import type { Surroundings } from './world.ts';

export interface GivenDecision {
  readonly key: string;
  /** `ce_id` of its message. */
  readonly id: string;
  readonly decision: string;
  readonly expectedRevision: number;
  /** Its position in the topic of decisions. */
  readonly partition: number;
  readonly offset: number;
  readonly atMs: number;
}

export interface OperatorsOptions extends Surroundings {
  readonly publishers: Publishers;
  readonly service: ServiceState;
  readonly results: () => readonly ResultEvent[];
}

const BETWEEN_MS_MAX = 4_000;
const DECISIONS = ['EXECUTED', 'NOT_EXECUTED', 'RETRY'] as const;
const RETRIABLE = ['EXPIRED', 'INVALID', 'FAILED'];
/** The share of UNKNOWN results on which they decide at the end. */
const DECIDED_SHARE = 0.8;
const TOO_LATE_SHARE = 0.4;
const TOO_LATE_MS_MAX = 4_000;

export class Operators {
  readonly given: GivenDecision[] = [];
  readonly #options: OperatorsOptions;

  constructor(options: OperatorsOptions) {
    this.#options = options;
  }

  /** Decides until everything heals, like any other trouble. */
  start(isTroubled: () => boolean): void {
    const { draws, scenario, time } = this.#options;
    if (!scenario.disturbed.has('operators')) return;
    time.after(draws.between(1, BETWEEN_MS_MAX), null, () => {
      if (!isTroubled()) return;
      this.#decideAnything();
      this.start(isTroubled);
    });
  }

  /** Looks up each UNKNOWN at the service, and decides truthfully. */
  decideUnknown(): void {
    const { draws, time } = this.#options;
    for (const { key, value } of this.#latest().values()) {
      if (value.outcome !== 'UNKNOWN' || !draws.chance(DECIDED_SHARE)) continue;
      const { revision } = value;
      this.#decide(key, this.#trueDecision(key), revision);
      // Another operator saw the same revision and decides too late.
      if (draws.chance(TOO_LATE_SHARE))
        time.after(draws.between(0, TOO_LATE_MS_MAX), null, () => this.#decide(key, 'RETRY', revision));
    }
  }

  #decideAnything(): void {
    const { draws } = this.#options;
    const latest = [...this.#latest().values()];
    const among = (isMeant: (result: CommandResult) => boolean): ResultEvent | null => {
      const meant = latest.filter(({ value }) => isMeant(value));
      return meant.length === 0 ? null : draws.pick(meant);
    };
    const kind = draws.pick(['unknown', 'unknown', 'unknown', 'retry', 'retry', 'any', 'stale', 'unfinished'] as const);
    switch (kind) {
      case 'unknown': {
        const found = among(({ outcome }) => outcome === 'UNKNOWN');
        if (found !== null) this.#decide(found.key, this.#trueDecision(found.key), found.value.revision);
        return;
      }
      case 'retry': {
        const found = among(({ outcome }) => RETRIABLE.includes(outcome) || outcome === 'UNKNOWN');
        if (found !== null) this.#decide(found.key, 'RETRY', found.value.revision);
        return;
      }
      case 'any': {
        const found = among(() => true);
        if (found !== null) this.#decide(found.key, draws.pick(DECISIONS), found.value.revision);
        return;
      }
      case 'stale': {
        const found = among(() => true);
        const revision = (found?.value.revision ?? 1) + draws.pick([-1, 1]);
        if (found !== null) this.#decide(found.key, draws.pick(DECISIONS), Math.max(1, revision));
        return;
      }
      case 'unfinished': {
        const message = draws.pick(this.#options.publishers.plan().messages);
        this.#decide(message.command.key, draws.pick(DECISIONS), 1);
      }
    }
  }

  #trueDecision(key: string): string {
    return this.#transactionOf(key) !== null ? 'EXECUTED' : this.#options.draws.pick(['NOT_EXECUTED', 'RETRY']);
  }

  /** The command's transaction in the service's books; null: the command had no effect. */
  #transactionOf(key: string): string | null {
    const { publishers, service } = this.#options;
    const command = publishers.command(key);
    return (command === undefined ? undefined : service.effectsOf(command)[0]?.transactionId) ?? null;
  }

  #decide(key: string, decision: string, expectedRevision: number): void {
    const { log, publishers, scenario, time, topics } = this.#options;
    const partition = laneOf(key, scenario.laneCount);
    const transactionId = decision === 'EXECUTED' ? this.#transactionOf(key) : null;
    const order = { decision, expectedRevision, transactionId, operator: 'an operator', reason: 'looked up' };
    const value = Buffer.from(JSON.stringify(order));
    const id = `decision-${this.given.length}`;
    const offset = publishers.append(topics.operatorDecisions, partition, key, value, jsonHeaders({ ce_id: id }));
    if (offset === null) return;
    this.given.push({ key, id, decision, expectedRevision, partition, offset, atMs: time.nowMs });
    log(`an operator decides ${decision} of ${key}, revision ${expectedRevision}`);
  }

  /** The result with the highest revision, by key. */
  #latest(): Map<string, ResultEvent> {
    const latest = new Map<string, ResultEvent>();
    for (const result of this.#options.results())
      if (result.value.revision > (latest.get(result.key)?.value.revision ?? 0)) latest.set(result.key, result);
    return latest;
  }
}
