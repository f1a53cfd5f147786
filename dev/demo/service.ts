/** The service's own view of the demo: its books, and what took effect, by operation and Idempotency-Key. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { World } from 'payment-processor-sandbox/state';
import { check, listed, type Check } from './checks.ts';

/** Payments complete about two seconds after execution. A fault rule may delay one longer; then it is shown. */
const SETTLED_MS_MAX = 10_000;
const SETTLED_POLL_MS = 100;

/** What must have taken effect: each exactly once, and nothing else. */
const EFFECTS_EXPECTED = [
  'create-quote quote-1',
  'create-quote immediate-1',
  'create-quote short-quote-1',
  'execute-quote execution-1',
  'execute-quote immediate-1.execute',
  'transfer-in transfer-in-1',
  'simulate-uma-receive uma-payment-1',
  'reject-transaction rejection-1',
];

/** Waits until no money is under way, or for some seconds. */
export async function settled(world: World): Promise<void> {
  const startedAtMs = performance.now();
  while (amountsUnderWay(world).length > 0 && performance.now() - startedAtMs < SETTLED_MS_MAX) {
    await sleep(SETTLED_POLL_MS);
  }
}

/** Balances by currency, in the smallest unit. */
export function booksText({ books }: World): string[] {
  const line = (currency: string, account: string, amount: bigint): string =>
    `  ${currency.padEnd(5)} ${account.padEnd(32)} ${String(amount).padStart(12)}`;
  const balances = books.balances().map(({ currency, account, balance }) => line(currency, account, balance));
  const totals = [...books.totals()].map(([currency, total]) => line(currency, 'total', total));
  return [
    ...balances.sort((left, right) => left.localeCompare(right)),
    ...totals.sort(),
    `  ${books.entries} entries, ${amountsText(books.totals()).length === 0 ? 'balanced' : 'NOT BALANCED'}`,
  ];
}

export function effectsText({ effects }: World): string[] {
  return Object.entries(effects.report().operations).flatMap(([operation, keys]) =>
    Object.entries(keys).map(
      ([key, tally]) => `  ${operation.padEnd(21)} ${key.padEnd(21)} calls ${tally.calls}, effects ${tally.effects}`,
    ),
  );
}

export function serviceChecks(world: World): Check[] {
  const effective = effectiveKeys(world);
  const countOf = (name: string): number => effective.filter((other) => other === name).length;
  const differences = [...new Set([...EFFECTS_EXPECTED, ...effective])].flatMap((name) => {
    const [count, expected] = [countOf(name), EFFECTS_EXPECTED.includes(name) ? 1 : 0];
    return count === expected ? [] : [`${name}: ${count} instead of ${expected}`];
  });
  const immediate = `made ${countOf('create-quote immediate-1')}, executed ${countOf('execute-quote immediate-1.execute')}`;
  const executions = Object.values(world.effects.report().quotes).map((quote) => String(quote.executions));
  const executionsTitle = 'executions of all quotes: two, each once, and none of the expired one';
  const exact = 'each exactly as often as it must be';
  const out = amountsText(world.books.totals());
  const balanced = 'balanced in every currency';
  return [
    check('effects of the immediate quote', 'made 1, executed 1', immediate),
    check(executionsTitle, '1, 1, 0', listed(executions.sort().reverse())),
    check('effects of the transfer-in key, published three times', '1', String(countOf('transfer-in transfer-in-1'))),
    check('effects of all keys', exact, differences.join('; ') || exact),
    check("the service's books", balanced, out.length === 0 ? balanced : `out by ${listed(out)}`),
    check('money still under way', 'none', listed(amountsUnderWay(world))),
  ];
}

/** Each operation and key, once per time it took effect. */
function effectiveKeys({ effects }: World): string[] {
  const { operations, unkeyed } = effects.report();
  return Object.entries(operations).flatMap(([operation, keys]) =>
    Object.entries({ ...keys, 'without a key': unkeyed[operation] }).flatMap(([key, tally]) =>
      Array<string>(tally?.effects ?? 0).fill(`${operation} ${key}`),
    ),
  );
}

/** What was taken from senders and has neither been delivered nor returned; such as `77273 USD`. */
function amountsUnderWay({ books }: World): string[] {
  const transit = books.balances().filter(({ account }) => account === 'transit');
  return amountsText(transit.map(({ currency, balance }) => [currency, balance]));
}

/** The balances that are not zero. */
function amountsText(amounts: Iterable<[currency: string, amount: bigint]>): string[] {
  return [...amounts].flatMap(([currency, amount]) => (amount === 0n ? [] : [`${amount} ${currency}`]));
}
