/** What a request says of a command that it may have written, whatever comes of its later tries; and what awaits nothing any more. */
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { PaymentClientError, type Answer } from '../src/index.ts';
import type { PaymentEvent } from '../src/events.ts';
import { LiveEvents } from '../src/live-events.ts';
import { fingerprintOf } from '../src/publisher.ts';
import { ResultAwaiter } from '../src/result-awaiter.ts';
import { transferInOf } from '../../../test/support/commands.ts';
import { clientOf, type Publish } from './client-of.ts';

const TIMEOUT_MS = 400;
const LONG_MS = 60_000;
/** Results that one client awaits at most. */
const AWAITED_MAX = 100_000;
const LOST = new PaymentClientError('NOT_CONFIRMED', 'no answer came');
const FORBIDDEN = new PaymentClientError('KAFKA_REFUSED', 'not authorized');
const QUEUE_FULL = new PaymentClientError('TOO_MANY', '10000 records are waiting already');
const NO_REGISTRY = new PaymentClientError('REGISTRY_UNAVAILABLE', 'the registry does not answer');

/** A request whose tries end so, and to which no result comes. */
function requestOf(...tries: readonly Error[]): { answer: Promise<Answer>; tries: () => number } {
  const triedAgain = Promise.withResolvers<undefined>();
  let count = 0;
  const results = new ResultAwaiter(new LiveEvents());
  // No result came within the timeout, during which there was a later try.
  vi.spyOn(results, 'expect').mockImplementation(async (key) => {
    await triedAgain.promise;
    throw new PaymentClientError('NO_RESULT', `no result of ${key} came`);
  });
  const publish = async (): Promise<never> => {
    count += 1;
    if (count > 1) triedAgain.resolve(undefined);
    throw tries[count - 1] ?? tries.at(-1) ?? LOST;
  };
  const client = clientOf(publish, { results });
  const answer = client.request('transfer-in', 'invoice', transferInOf('invoice'), { timeoutMs: LONG_MS });
  return { answer, tries: () => count };
}

describe.each([
  ['is refused for want of a right', FORBIDDEN],
  ['finds the queue full', QUEUE_FULL],
  ['finds no registry', NO_REGISTRY],
])('a request that %s', (_what, error) => {
  test('does not say that nothing was sent, if an earlier try may have written the command', async () => {
    const { answer, tries } = requestOf(LOST, error);
    expect(await answer).toMatchObject({
      kind: 'unanswered',
      problem: expect.stringMatching(/the outcome is not known/) as string,
    });
    expect(tries()).toBeGreaterThan(1);
  });

  test('throws, if its first try certainly wrote nothing', async () => {
    const { answer, tries } = requestOf(error);
    await expect(answer).rejects.toBe(error);
    expect(tries()).toBe(1);
  });
});

test('a request that retries publishes what was asked for, even if fields and options change meanwhile', async () => {
  const published: string[] = [];
  const client = clientOf(async (type, key, fields, options) => {
    published.push(`${fingerprintOf(type, key, fields)} ${options?.expiresAt?.toISOString()}`);
    throw LOST;
  });
  const fields = transferInOf('invoice');
  const expiresAt = new Date('2026-01-31T12:00:00.000Z');
  const asked = `${fingerprintOf('transfer-in', 'invoice', fields)} ${expiresAt.toISOString()}`;
  const answer = client.request('transfer-in', 'invoice', fields, { timeoutMs: 2_000, expiresAt });
  expiresAt.setFullYear(2030);
  fields.destination.accountId = 'InternalAccount:of-the-next-invoice';
  expect(await answer).toMatchObject({ kind: 'unanswered' });
  expect(published.length).toBeGreaterThan(1);
  expect(new Set(published)).toEqual(new Set([asked]));
});

test('a request that is a conflict does not wait beyond its own time for the result that stands', async () => {
  const live = new LiveEvents();
  const publish: Publish = async (type, key, fields, options) => {
    const headers = {
      'in-reply-to': options?.commandId ?? '',
      'command-fingerprint': fingerprintOf(type, key, fields),
    };
    const value = { outcome: 'CONFLICT', commandType: type };
    live.take({ kind: 'result', key, headers, value } as unknown as PaymentEvent);
    return { key, commandId: '', topic: '', partition: 0, offset: 0n };
  };
  // As one whose subscription takes long to open.
  const read = (): Promise<never> => new Promise(() => undefined);
  const client = clientOf(publish, { results: new ResultAwaiter(live), read });
  const answer = await client.request('transfer-in', 'taken', transferInOf('taken'), { timeoutMs: TIMEOUT_MS });
  const standing = { kind: 'not-read', problem: expect.stringMatching(/could not be read to their end/) as string };
  expect(answer).toMatchObject({ kind: 'conflict', standing });
}, 5_000);

test('what can be awaited no more does not end the process of a caller that publishes before it looks', async () => {
  for (const closesFirst of [true, false]) {
    const results = new ResultAwaiter(new LiveEvents());
    if (closesFirst) await results.close();
    const awaited = results.expect('key-1', { timeoutMs: LONG_MS });
    await results.close();
    await turn();
    await expect(awaited).rejects.toMatchObject({ code: 'CLOSED' });
  }
});

test('requests that threw count no more among those that await a result', async () => {
  let isThere = false;
  const client = clientOf(async () => {
    if (!isThere) throw QUEUE_FULL;
    return {} as never;
  });
  const request = (timeoutMs: number) =>
    client.request('transfer-in', 'invoice', transferInOf('invoice'), { timeoutMs });
  const thrown = await Promise.allSettled(Array.from({ length: AWAITED_MAX }, () => request(LONG_MS)));
  expect(thrown.every(({ status }) => status === 'rejected')).toBe(true);
  isThere = true;
  expect(await request(50)).toMatchObject({ kind: 'unanswered' });
  await client.close();
});

test('a closed client publishes nothing more of a command that may be written', async () => {
  let tries = 0;
  const client = clientOf(() => {
    tries += 1;
    const error = tries === 1 ? new PaymentClientError('NOT_CONFIRMED', 'no answer') : closed;
    return Promise.reject(error);
  });
  const closed = new PaymentClientError('CLOSED', 'the publisher is closed');
  const answer = client.request('transfer-in', 'invoice', transferInOf('invoice'), { timeoutMs: 60_000 });
  while (tries === 0) await turn();
  await client.close();
  expect(await answer).toMatchObject({ kind: 'unanswered' });
  // Longer than two pauses between tries.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(tries).toBeLessThanOrEqual(2);
});
