/** Operators who hold commands during the troubles, wait until every lane has confirmed, and later release them. */
import type { CommandType } from 'payment-processor-contract/commands';
import { decodeHolds, isCarriedOut, typesOf, type HoldOrder } from '../../src/ledger/holds.ts';
import { HOLD_KEY } from '../../src/ledger/ledger-records.ts';
import { jsonHeaders, type Publishers } from './publishers.ts';
import type { Surroundings } from './world.ts';

/** A hold, from the confirmation by every lane until its release. */
export interface ConfirmedHold {
  readonly commandTypes: readonly string[];
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface HoldersOptions extends Surroundings {
  readonly publishers: Publishers;
}

const BETWEEN_MS_MAX = 3_000;
const LOOK_MS = 20;
/** Short, because waiting commands become too old. */
const LASTS_MS_MAX = 4_000;
const HELD: readonly (readonly CommandType[])[] = [[], [], ['execute-quote'], ['create-quote'], ['transfer-in']];

export class Holders {
  readonly confirmed: ConfirmedHold[] = [];
  readonly #options: HoldersOptions;

  constructor(options: HoldersOptions) {
    this.#options = options;
  }

  start(isTroubled: () => boolean): void {
    const { draws, scenario, time } = this.#options;
    if (!scenario.disturbed.has('holds')) return;
    time.after(draws.between(1, BETWEEN_MS_MAX), null, () => {
      if (!isTroubled()) return;
      const commandTypes = draws.pick(HELD);
      const { offsets, order } = this.#order('HOLD', commandTypes);
      this.#whenConfirmed(order, offsets, isTroubled, (isConfirmed) => {
        const fromMs = time.nowMs;
        time.after(isConfirmed ? draws.between(1, LASTS_MS_MAX) : 0, null, () => {
          if (isConfirmed) this.confirmed.push({ commandTypes: typesOf(order), fromMs, untilMs: time.nowMs });
          this.#order('RELEASE', []);
          this.start(isTroubled);
        });
      });
    });
  }

  #order(action: HoldOrder['action'], commandTypes: readonly string[]): { order: HoldOrder; offsets: number[] } {
    const { log, publishers, scenario, time, topics } = this.#options;
    const at = new Date(time.nowMs).toISOString();
    const order: HoldOrder = { action, commandTypes, operator: 'an operator', reason: 'a reason', until: null, at };
    const value = Buffer.from(JSON.stringify(order));
    const lanes = Array.from({ length: scenario.laneCount }, (_, lane) => lane);
    const offsets = lanes.map(
      (lane) => publishers.append(topics.operatorHolds, lane, null, value, jsonHeaders({})) ?? 0,
    );
    log(`an operator orders ${action} ${commandTypes.join(', ')}`);
    return { order, offsets };
  }

  /** Waits as the command line does; false: all healed before the confirmation. */
  #whenConfirmed(
    order: HoldOrder,
    offsets: readonly number[],
    isTroubled: () => boolean,
    then: (isConfirmed: boolean) => void,
  ): void {
    const { broker, log, time, topics } = this.#options;
    const isConfirmed = broker.logs(topics.ledger).every((lane, number) => {
      const last = lane.committed().findLast(({ key }) => key?.toString() === HOLD_KEY);
      return isCarriedOut(decodeHolds(last?.value ?? undefined), order, BigInt(offsets[number] ?? 0));
    });
    if (isConfirmed) log('every lane has confirmed');
    if (isConfirmed || !isTroubled()) then(isConfirmed);
    else time.after(LOOK_MS, null, () => this.#whenConfirmed(order, offsets, isTroubled, then));
  }
}
