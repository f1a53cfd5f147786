/**
 * Follows one payment by its command's key alone, until it is settled: node follow.ts KEY [SECONDS]. Killed and started
 * again, in whatever process, it reads the topics again and goes on.
 */
import { PaymentClient, readClientSettings } from 'payment-processor-client';

const [key = '', seconds = '300'] = process.argv.slice(2);
const settings = readClientSettings(process.env);
if (!settings.ok) throw new Error(settings.problems.join('\n'));
const client = await PaymentClient.connect(settings.config);
console.log(`following ${key}`);
const payment = await client.awaitSettled(key, { timeoutMs: 1_000 * Number(seconds) });
switch (payment.kind) {
  case 'settled':
    console.log(`${key} settled: ${payment.status} of ${payment.transactionId}`);
    break;
  case 'not-accepted':
    console.log(`${key} not accepted: ${payment.result.outcome}`);
    break;
  case 'open':
    console.error(`${key} still open: ${payment.status ?? 'no status known'}; ${payment.problem}`);
    break;
  case 'unknown':
    console.error(`${key} UNKNOWN: it may have been paid; ${payment.problem}`);
    break;
  case 'nothing-known':
    console.error(`${key} nothing known; ${payment.problem}`);
}
process.exitCode = payment.kind === 'settled' || payment.kind === 'not-accepted' ? 0 : 1;
await client.close();
