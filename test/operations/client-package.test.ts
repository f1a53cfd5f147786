/** The packed client, installed from its tarball in an empty project: it types, runs, publishes and reads on a real broker. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PAGES, placeOf, snippetsOf } from '../docs/snippets.ts';
import { useStack } from '../support/test-stack.ts';
import { InstalledClient, REQUEST, REQUEST_OUTPUT } from '../../packages/client/test/installed-client.ts';

const COMPILER_OPTIONS = {
  strict: true,
  module: 'nodenext',
  target: 'es2023',
  lib: ['es2023'],
  types: [],
  skipLibCheck: false,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
};
const TYPED = `
import {
  PaymentClient, PaymentClientError, subscribe,
  type Answer, type ClientErrorCode, type ClientSettings, type FinalStatus, type Outcome, type Quote, type ReaderStart, type Settlement, type Transaction,
} from 'payment-processor-client';
import { TestPayments } from 'payment-processor-client/testing';
export function moneyMoved(answer: Answer): boolean | 'perhaps' {
  switch (answer.kind) {
    case 'unanswered': return 'perhaps';
    case 'conflict': return false;
    case 'result': {
      const outcome: Exclude<Outcome, 'CONFLICT'> = answer.result.value.outcome;
      switch (outcome) {
        case 'ACCEPTED': case 'UNKNOWN': return 'perhaps';
        case 'REFUSED': case 'INVALID': case 'EXPIRED': case 'FAILED': return false;
      }
    }
  }
}
export const pay = (client: PaymentClient): Promise<Answer> =>
  client.request('execute-quote', 'k', { quoteId: 'Quote:1' }, { timeoutMs: 1 });
export const listen = (settings: ClientSettings) =>
  subscribe(settings, { streams: ['results'], start: { from: 'now' }, onEvent: (event) => {
    if (event.kind === 'unreadable') { const bytes: Uint8Array | null = event.bytes; console.log(bytes); }
    // @ts-expect-error an outcome that there is not
    if (event.kind === 'result' && event.value.outcome === 'PAID') return;
  } });
export const quote = (client: PaymentClient): Promise<Answer> => client.request('create-quote', 'k', {
  source: { accountId: 'a' }, destination: { accountId: 'b' }, lockedCurrencySide: 'SENDING', lockedCurrencyAmount: 1n, purposeOfPayment: 'GIFT',
}, { timeoutMs: 1 });
// @ts-expect-error a side that there is not
export const side = (client: PaymentClient) => client.request('create-quote', 'k', { source: { accountId: 'a' }, destination: { accountId: 'b' }, lockedCurrencySide: 'BOTH', lockedCurrencyAmount: 1 }, { timeoutMs: 1 });
export function statusOf(settled: Settlement): FinalStatus | 'open' {
  switch (settled.kind) {
    case 'settled': return settled.status;
    case 'open': case 'unknown': case 'nothing-known': console.log(settled.endedBy, settled.problem); return 'open';
    case 'not-accepted': return 'FAILED';
  }
}
export const codeOf = (error: PaymentClientError): ClientErrorCode => error.code;
export const status = (quote: Quote, transaction: Transaction): boolean => quote.status === 'EXPIRED' || transaction.failureReason === 'OFFRAMP_FAILED';
export const since: ReaderStart = { from: 'time', ms: 0 };
export const twin = (): PaymentClient => new TestPayments().client;
// @ts-expect-error amounts are numbers
export const wrong = (client: PaymentClient) => client.request('transfer-in', 'k', { source: { accountId: 'a' }, destination: { accountId: 'b' }, amount: '1' }, { timeoutMs: 1 });
declare const console: { log(...values: unknown[]): void };
`;

/** Examples of all pages: each is a program of its own. */
const EXAMPLES = PAGES.flatMap(snippetsOf)
  .filter(({ language }) => language === 'ts')
  .map((snippet) => ({ name: placeOf(snippet), text: snippet.text }));

const stack = useStack({
  name: 'package',
  isRead: false,
  sandbox: { settleMs: 1_000 },
  settings: { POLL_INTERVAL_MS: '500', POLL_MAX_CALLS_PER_MINUTE: '6000' },
});
let project: InstalledClient;

beforeAll(async () => {
  [project] = await Promise.all([InstalledClient.install('typescript@6.0.3'), stack().startProcessor()]);
}, 300_000);
afterAll(async () => project.remove());

describe('the packed client', () => {
  test('has the dependencies that it needs, and no more', () => {
    const manifest = JSON.parse(
      readFileSync(join(project.folder, 'node_modules/payment-processor-client/package.json'), 'utf8'),
    ) as { dependencies: Record<string, string> };
    expect(Object.keys(manifest.dependencies).sort()).toEqual([
      '@kafkajs/confluent-schema-registry',
      '@types/node',
      'avsc',
      'kafkajs',
      'lz4-napi',
      'snappy',
      'zod',
    ]);
  });

  test('types strict TypeScript, its dependencies checked as well', async () => {
    await project.write('typed.ts', TYPED);
    await project.write('tsconfig.json', JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: ['typed.ts'] }));
    expect(await project.run('node_modules/.bin/tsc', ['-p', '.'])).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('publishes and awaits in plain JavaScript', async () => {
    await project.write('request.js', REQUEST);
    const ended = await project.run(process.execPath, ['request.js', 'package'], { ...stack().environment });
    expect(ended).toEqual({ code: 0, stdout: REQUEST_OUTPUT, stderr: '' });
  });

  test('refuses to connect with an unpatched kafkajs', async () => {
    const requests = join(
      project.folder,
      'node_modules/payment-processor-client/node_modules/kafkajs/src/protocol/requests/index.js',
    );
    const patched = readFileSync(requests, 'utf8');
    writeFileSync(requests, `${patched}\ndelete module.exports.requests.TopicIds\n`);
    const ended = await project.run(process.execPath, ['request.js', 'unpatched'], { ...stack().environment });
    writeFileSync(requests, patched);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('kafkajs is installed without its patches');
  });

  test.each(EXAMPLES)('runs what the docs show: $name', async ({ text }) => {
    await project.write('example.ts', text);
    // Subscriptions continue until they are stopped.
    const stopAt = text.includes("once('SIGTERM'") ? 'ACCEPTED' : undefined;
    const run = await project.run(process.execPath, ['example.ts'], { ...stack().environment }, stopAt);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toContain(text.includes('publisher.publish') ? '.commands.transfer-in.v1' : 'ACCEPTED');
  });
});
