/** Publishers' errors, and bugs that single commands trigger. Nothing waits for these faults; their alerts count. */
import { keyHash } from 'payment-processor-contract/key-hash';
import { accountOf, executionOf } from '../../test/support/commands.ts';
import type { RawMessage } from '../../test/support/stack.ts';
import type { Fault } from './fault.ts';
import { FAULTY_KEY, type Scene } from './scene.ts';

const JSON_HEADERS = { 'content-type': 'application/json' };

/** PaymentsCommandsExpired: more than 5. */
const EXPIRED = 9;
/** An expiry in the past, however far off the clocks are. */
const EXPIRED_SINCE_MS = 60_000;

/** As printed by `list`. */
function placesIn(text: string): string[] {
  return [...text.matchAll(/\b\d+\/\d+\b/g)].map(([place]) => place);
}

function transferInMessage(key: string): RawMessage {
  const value = `{"source":{"accountId":"ExternalAccount:payer-x"},"destination":{"accountId":"${accountOf(key)}"},"amount":100}`;
  return { key, value, headers: JSON_HEADERS };
}

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);
}

/** What `unknown list` prints for the operator to copy next. */
async function nextLines(scene: Scene): Promise<string[]> {
  const { stdout } = await scene.paste('unknown', 'unknown-results', 'cli unknown list');
  return [...stdout.matchAll(/^ *npm run cli -- (.+)$/gm)].map(([, line = '']) => `cli ${line}`);
}

export const INPUT_FAULTS: readonly Fault[] = [
  {
    name: 'unreadable',
    what: 'a publisher sends what is neither Avro nor JSON',
    alerts: ['PaymentsDeadLetters'],
    isBeside: true,
    inject: ({ stack }) => stack.publishRaw('transfer-in', { key: 'unreadable', value: 'neither of both' }),
    action: 'the letters are looked at and acknowledged',
    look: async (scene) => {
      const { stdout } = await scene.paste('unreadable', 'PaymentsDeadLetters', 'cli dead-letters list');
      const [place = ''] = placesIn(stdout);
      await scene.paste('unreadable', 'PaymentsDeadLetters', 'cli dead-letters show', { 'P/O': place });
    },
    act: async (scene) => {
      const { stdout } = await scene.paste('unreadable', 'PaymentsDeadLetters', 'cli dead-letters list');
      for (const place of placesIn(stdout)) {
        const words = { 'P/O': place, '"..."': '"tried"' };
        await scene.paste('unreadable', 'PaymentsDeadLetters', 'cli dead-letters acknowledge', words);
      }
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
    action: 'the publisher corrects its clock',
    look: async (scene) => {
      await scene.paste('expired', 'PaymentsCommandsExpired', 'cli results');
      await scene.paste('expired', 'PaymentsCommandsExpired', 'cli show', { KEY: 'expired-1' });
    },
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
    action: 'it is reported',
    look: (scene) => scene.paste('own bug', 'PaymentsOwnFailures', 'cli show', { HASH: keyHash(FAULTY_KEY) }),
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
    action: 'the payment is found at the service; EXECUTED',
    look: async (scene) => {
      // The operator copies every line of the list.
      const lines = await nextLines(scene);
      for (const line of lines.filter((one) => !one.startsWith('cli resolve'))) await scene.run('unknown', line);
    },
    act: async (scene) => {
      const { stdout } = await scene.shell(`cli transactions list --sender-account-identifier ${accountOf('unknown')}`);
      const [id] = /Transaction:[\w-]+/.exec(stdout) ?? [];
      if (id === undefined) throw new Error('transactions list does not show the payment');
      // The command names the wrong transaction.
      const decision = `EXECUTED --transaction-id ${id} --unverified`;
      const line = (await nextLines(scene)).find((one) => one.startsWith('cli resolve')) ?? '';
      const filled = line
        .replace("'EXECUTED, NOT_EXECUTED or RETRY'", decision)
        .replace('what was found', 'in the list');
      const run = await scene.run('unknown', `${filled} --yes`);
      if (run.code !== 0) throw new Error(`resolve ended with ${run.code}: ${run.stderr}`);
      await scene.paste('unknown', 'PaymentsResultsUnknown', 'cli results', { KEY: 'unknown' });
    },
  },
];
