/**
 * POST /sandbox/uma/receive: an incoming UMA payment. It first waits for approval, and can be rejected meanwhile.
 */
import { z } from 'zod';
import { currencyOf } from '../currencies.ts';
import { addTransaction, receive } from '../payments.ts';
import { invalidInput, jsonReply, unchanged, type Outcome } from '../replies.ts';
import { scenarioOf } from '../scenarios.ts';
import { accountNamed, type World } from '../state.ts';
import { amount, check, currencyCode, customerId, umaAddress } from '../validation.ts';
import { transactionView } from '../views.ts';
import { refusedAtOnce } from './refusals.ts';

const BODY = z
  .strictObject({
    senderUmaAddress: umaAddress,
    receivingCurrencyCode: currencyCode,
    receivingCurrencyAmount: amount,
    receiverUmaAddress: umaAddress.optional(),
    customerId: customerId.optional(),
  })
  .refine((body) => body.receiverUmaAddress !== undefined || body.customerId !== undefined, {
    message: 'receiverUmaAddress or customerId is required',
  });

export function simulateUmaReceive(world: World, body: unknown): Outcome {
  const checked = check(BODY, body);
  if (!checked.ok) return unchanged(invalidInput(...checked.problems));
  const request = checked.value;
  const receiver = request.receiverUmaAddress ?? request.customerId ?? '';
  const scenario = scenarioOf(request.senderUmaAddress, receiver);
  const refused = refusedAtOnce(world, scenario);
  if (refused !== null) return unchanged(refused);

  const currency = currencyOf(request.receivingCurrencyCode);
  const localId = request.customerId?.slice('Customer:'.length) ?? receiver.slice(1, receiver.indexOf('@'));
  const account = accountNamed(world, `InternalAccount:${localId}-${currency.code}`, currency);
  if (account.currency.code !== currency.code) {
    return unchanged(invalidInput({ path: 'receivingCurrencyCode', message: 'is not the currency of the receiver' }));
  }
  const money = { amount: request.receivingCurrencyAmount, currency };
  const transaction = addTransaction(
    world,
    {
      type: 'INCOMING',
      scenario,
      source: { kind: 'UMA_ADDRESS', umaAddress: request.senderUmaAddress, currency },
      destination: { kind: 'ACCOUNT', account },
      receiverIdentifiers:
        request.receiverUmaAddress === undefined ? [account.id] : [account.id, request.receiverUmaAddress],
      customerId: `Customer:${localId}`,
      platformCustomerId: `platform-${localId}`,
      sent: money,
      received: money,
      counterpartyInformation: { FULL_NAME: 'Sender of the sandbox', BIRTH_DATE: '1990-01-01', NATIONALITY: 'US' },
    },
    world.clock.nowMs(),
  );
  receive(world, transaction, world.settings.approvalMs);
  return { reply: jsonReply(200, transactionView(transaction)), effect: { transactionId: transaction.id } };
}
