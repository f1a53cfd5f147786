/**
 * The control endpoints, for tests and demonstrations: outside the versioned base, without credentials. docs/sandbox.md documents
 * their JSON.
 */
import { z } from 'zod';
import { currencyOf, DEFAULT_CURRENCY } from './currencies.ts';
import { FAULT_RULE, FAULT_RULES_MAX } from './faults.ts';
import { errorReply, invalidInput, jsonReply, type Reply } from './replies.ts';
import type { Sandbox } from './sandbox.ts';
import { SETTINGS } from './settings.ts';
import { openAccount, postStartingBalance, type Account, type World } from './state.ts';
import { accountId, currencyCode, customerId, lookupId } from './validation.ts';

/** An amount as a decimal string, or as a number that a double holds exactly. */
const balance = z.union([z.string().regex(/^-?\d{1,30}$/, 'must be an integer'), z.number().int()]).transform(BigInt);

const ACCOUNT = z.strictObject({
  id: accountId,
  currency: currencyCode.optional(),
  balance: balance.optional(),
  customerId: customerId.optional(),
  platformCustomerId: z.string().optional(),
});

const LOOKUP = z.strictObject({ id: lookupId, requiredPayerDataFields: z.array(z.string()).max(50) });

/** One object or a list of them. */
function oneOrMore<Item extends z.ZodType>(item: Item) {
  return z.union([z.array(item), item.transform((single) => [single])]);
}

type Handler = (sandbox: Sandbox, body: unknown) => Reply;

const HANDLERS: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
  '/control/effects': { GET: ({ world }) => ok(world.effects.report()) },
  '/control/transactions': { GET: ({ world }) => ok(historyReport(world)) },
  '/control/books': { GET: ({ world }) => ok(booksReport(world)) },
  '/control/faults': {
    GET: ({ faults }) => ok(faults.report()),
    POST: (sandbox, body) => checked(oneOrMore(FAULT_RULE), body, (rules) => addFaults(sandbox, rules)),
    DELETE: ({ faults }) => {
      faults.clear();
      return ok(faults.report());
    },
  },
  '/control/accounts': {
    POST: ({ world }, body) => checked(oneOrMore(ACCOUNT), body, (accounts) => setAccounts(world, accounts)),
  },
  '/control/lookups': {
    POST: ({ world }, body) =>
      checked(oneOrMore(LOOKUP), body, (lookups) => {
        for (const lookup of lookups) world.lookups.set(lookup.id, lookup.requiredPayerDataFields);
        return ok({ lookups: Object.fromEntries(world.lookups) });
      }),
  },
  '/control/settings': {
    GET: ({ world }) => ok(world.settings),
    POST: ({ world }, body) =>
      checked(SETTINGS.partial(), body, (settings) => ok(Object.assign(world.settings, settings))),
  },
  '/control/reset': {
    POST: (sandbox) => {
      sandbox.reset();
      return ok({ reset: true });
    },
  },
};

/** Answers a control request; `bodyText` may be empty. */
export function control(sandbox: Sandbox, method: string, path: string, bodyText: string): Reply {
  const methods = Object.hasOwn(HANDLERS, path) ? HANDLERS[path] : undefined;
  if (methods === undefined) {
    return errorReply(
      404,
      'NOT_FOUND',
      `there is no such control endpoint; use one of ${Object.keys(HANDLERS).join(', ')}`,
    );
  }
  const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (handler === undefined) {
    const allow = Object.keys(methods).join(', ');
    return { ...errorReply(405, 'METHOD_NOT_ALLOWED', `use ${allow}`), headers: { allow } };
  }
  sandbox.world.scheduler.runDue();
  let body: unknown;
  try {
    body = bodyText === '' ? undefined : JSON.parse(bodyText);
  } catch {
    return invalidInput({ path: '', message: 'the body is not JSON' });
  }
  return handler(sandbox, body);
}

function ok(body: object): Reply {
  return jsonReply(200, body);
}

function checked<Value>(schema: z.ZodType<Value>, body: unknown, use: (value: Value) => Reply): Reply {
  const result = schema.safeParse(body);
  return result.success ? use(result.data) : errorReply(400, 'INVALID_INPUT', z.prettifyError(result.error));
}

function addFaults({ faults }: Sandbox, rules: z.infer<typeof FAULT_RULE>[]): Reply {
  if (faults.size + rules.length > FAULT_RULES_MAX) {
    return invalidInput({ path: '', message: `at most ${FAULT_RULES_MAX} fault rules; delete old ones first` });
  }
  faults.add(rules);
  return ok(faults.report());
}

export function booksReport({ books, effects, scheduler, timeline }: World): object {
  const totals = books.totals();
  return {
    balanced: [...totals.values()].every((total) => total === 0n),
    entries: books.entries,
    // As strings: a balance may have more digits than a JSON parser keeps.
    totals: Object.fromEntries([...totals].map(([currency, total]) => [currency, total.toString()])),
    balances: books.balances().map((line) => ({ ...line, balance: line.balance.toString() })),
    transactions: timeline.length,
    scheduledSteps: scheduler.size,
    effects: effects.totals(),
  };
}

/** The true outcome of each payment, for tests that compare it with reported outcomes. */
function historyReport({ quotes, timeline }: World): object {
  return {
    transactions: timeline.map(({ failureReason, history, id, quoteId, type }) => {
      const quote = quoteId === null ? undefined : quotes.get(quoteId);
      return {
        id,
        type,
        failureReason,
        history,
        quote: quote === undefined ? null : { id: quote.id, history: quote.history },
      };
    }),
  };
}

/** Opens or changes accounts. An existing account keeps its currency. */
function setAccounts(world: World, changes: z.infer<typeof ACCOUNT>[]): Reply {
  const changed: object[] = [];
  for (const change of changes) {
    const currency = change.currency === undefined ? undefined : currencyOf(change.currency);
    const known = world.accounts.get(change.id);
    if (known !== undefined && currency !== undefined && currency.code !== known.currency.code) {
      return errorReply(409, 'CONFLICT', `${change.id} is in use with ${known.currency.code}; its currency stays`);
    }
    const account = known ?? openAccount(world, { id: change.id }, currency ?? DEFAULT_CURRENCY);
    setDetails(world, account, change);
    changed.push({
      ...account,
      currency: account.currency.code,
      balance: world.books.balanceOf(account.id, account.currency.code).toString(),
    });
  }
  return ok({ accounts: changed });
}

function setDetails(world: World, account: Account, change: z.infer<typeof ACCOUNT>): void {
  if (change.customerId !== undefined) account.customerId = change.customerId;
  if (change.platformCustomerId !== undefined) account.platformCustomerId = change.platformCustomerId;
  if (change.balance === undefined) return;
  const difference = change.balance - world.books.balanceOf(account.id, account.currency.code);
  if (difference !== 0n) postStartingBalance(world, account, difference);
}
