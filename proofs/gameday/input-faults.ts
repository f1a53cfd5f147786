/** What publishers do wrong, and bugs that single commands bring out. Nothing waits for them; their alerts count. */
import { isJsonObject, isRawNumber, stringifyLossless, type JsonObject } from '../../src/records/lossless-json.ts';
import { accountOf, executionOf } from '../../test/support/commands.ts';
import type { RawMessage } from '../../test/support/stack.ts';
import type { Fault } from './fault.ts';
import { FAULTY_KEY, type Scene } from './scene.ts';

const JSON_HEADERS = { 'content-type': 'application/json' };

/** PaymentsCommandsExpired: more than 5. */
const EXPIRED = 9;
/** An expiry that has passed, whatever the clocks. */
const EXPIRED_SINCE_MS = 60_000;

const BY = ['--operator', 'game-day'];
const OPERATOR = [...BY, '--yes'];

/** Their places. */
async function openLetters(scene: Scene): Promise<string[]> {
  const { documents } = await scene.cli('--output', 'json', 'dead-letters', 'list', '--open');
  return documents.map((letter) => `${textIn(letter, 'partition')}/${textIn(letter, 'offset')}`);
}

function transferInMessage(key: string): RawMessage {
  const value = `{"source":{"accountId":"ExternalAccount:payer-x"},"destination":{"accountId":"${accountOf(key)}"},"amount":100}`;
  return { key, value, headers: JSON_HEADERS };
}

/** A text or whole number of a document of the command line. */
function textIn(document: JsonObject, name: string): string {
  const value = document[name];
  if (typeof value === 'string') return value;
  if (isRawNumber(value)) return stringifyLossless(value);
  throw new Error(`a document of the command line has no ${name}`);
}

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);
}

export const INPUT_FAULTS: readonly Fault[] = [
  {
    name: 'unreadable',
    what: 'a publisher sends what is neither Avro nor JSON',
    alerts: ['PaymentsDeadLetters'],
    isBeside: true,
    inject: ({ stack }) => stack.publishRaw('transfer-in', { key: 'unreadable', value: 'neither of both' }),
    action: 'dead-letters list, show; acknowledge',
    look: async (scene) => {
      const [place] = await openLetters(scene);
      if (place === undefined) throw new Error('dead-letters list shows none');
      await scene.cli('dead-letters', 'show', place);
    },
    act: async (scene) => {
      await scene.cli('dead-letters', 'acknowledge', ...(await openLetters(scene)), '--because', 'tried', ...BY);
    },
  },
  {
    name: 'expired',
    what: `a publisher sends ${EXPIRED} commands that have expired`,
    alerts: ['PaymentsCommandsExpired'],
    clearsLater: ['PaymentsCommandsExpired'],
    isBeside: true,
    inject: ({ stack }) =>
      stack.publishRaw(
        'transfer-in',
        ...numbered('expired', EXPIRED).map((key) => ({
          ...transferInMessage(key),
          headers: { ...JSON_HEADERS, 'expires-at': new Date(Date.now() - EXPIRED_SINCE_MS).toISOString() },
        })),
      ),
    action: 'results --key; the publisher corrects its clock',
    look: (scene) => scene.cli('results', '--key', 'expired-1'),
    // Nothing more is to be done here: the window passes.
    act: async () => undefined,
  },
  {
    name: 'own bug',
    what: 'a command brings out a bug of our own three times',
    alerts: ['PaymentsOwnFailures'],
    clearsLater: ['PaymentsOwnFailures'],
    isBeside: true,
    inject: ({ stack }) =>
      stack.publishRaw('transfer-in', { key: FAULTY_KEY, value: '{"amount":"no amount"}', headers: JSON_HEADERS }),
    action: 'ledger show, report',
    look: (scene) => scene.cli('ledger', 'show', FAULTY_KEY),
    // Nothing more is to be done here: the window passes.
    act: async () => undefined,
  },
  {
    name: 'unknown',
    what: 'the answer to an execution is lost, and its command names a transaction that is not its own',
    alerts: ['PaymentsResultsUnknown'],
    inject: async ({ stack }) => {
      const { quoteId } = await executionOf(stack, 'unknown');
      await stack.service.addFaults({ kind: 'drop-after', operation: 'execute-quote', count: 1 });
      const fields = { quoteId, transactionId: 'Transaction:mistaken' };
      await stack.publisher.publish('execute-quote', 'unknown', fields);
    },
    action: 'ledger show, transactions list, resolve KEY --decision EXECUTED',
    look: (scene) => scene.cli('ledger', 'show', 'unknown'),
    act: async (scene) => {
      const sender = ['--sender-account-identifier', accountOf('unknown')];
      const { documents } = await scene.cli('--output', 'json', 'transactions', 'list', ...sender);
      const found = documents.flatMap(({ data }) => (Array.isArray(data) ? data.filter(isJsonObject) : []));
      if (found[0] === undefined) throw new Error('transactions list does not show the payment');
      // The command names another transaction, by mistake.
      const decision = ['--decision', 'EXECUTED', '--transaction-id', textIn(found[0], 'id'), '--unverified'];
      await scene.cli('resolve', 'unknown', ...decision, '--reason', 'found in the list', ...OPERATOR);
    },
  },
];
