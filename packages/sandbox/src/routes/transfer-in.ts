/** POST /transfer-in: moves funds from an external account to an internal one. */
import { z } from 'zod';
import { addTransaction, receive } from '../payments.ts';
import { invalidInput, jsonReply, unchanged, type Outcome } from '../replies.ts';
import { scenarioOf } from '../scenarios.ts';
import { accountNamed, type World } from '../state.ts';
import { amount, check, externalAccountId, internalAccountId } from '../validation.ts';
import { transactionView } from '../views.ts';
import { refusedAtOnce } from './refusals.ts';

const BODY = z.strictObject({
  source: z.strictObject({ accountId: externalAccountId }),
  destination: z.strictObject({ accountId: internalAccountId }),
  amount: amount.optional(),
});

/** The amount that arrives if the request names none; smallest unit. */
const AMOUNT_WHEN_OPEN = 10_000n;

export function transferIn(world: World, body: unknown): Outcome {
  const checked = check(BODY, body);
  if (!checked.ok) return unchanged(invalidInput(...checked.problems));
  const request = checked.value;
  const scenario = scenarioOf(request.source.accountId, request.destination.accountId);
  const refused = refusedAtOnce(world, scenario);
  if (refused !== null) return unchanged(refused);
  const source = accountNamed(world, request.source.accountId);
  const destination = accountNamed(world, request.destination.accountId);
  if (source.currency.code !== destination.currency.code) {
    return unchanged(
      invalidInput({ path: 'destination.accountId', message: 'must have the currency of the source account' }),
    );
  }
  const money = { amount: request.amount ?? AMOUNT_WHEN_OPEN, currency: destination.currency };
  const transaction = addTransaction(
    world,
    {
      type: 'INCOMING',
      scenario,
      source: { kind: 'ACCOUNT', account: source },
      destination: { kind: 'ACCOUNT', account: destination },
      customerId: destination.customerId,
      platformCustomerId: destination.platformCustomerId,
      sent: money,
      received: money,
    },
    world.clock.nowMs(),
  );
  receive(world, transaction, world.settings.settleMs);
  return { reply: jsonReply(201, transactionView(transaction)), effect: { transactionId: transaction.id } };
}
