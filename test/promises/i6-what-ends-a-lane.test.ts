/**
 * Invariant I6 where nothing can be caught: a message that ends the process, and one that the broker refuses to take
 * further. The lane's owner at that time finds each and sets it aside by reference; the messages behind it are answered.
 */
import { createHash, randomBytes } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { laneOf } from 'payment-processor-contract/keys';
import { createQuoteOf, keysOfLane, transferInOf } from '../support/commands.ts';
import { LANES } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';
import { changeTopics } from '../support/topic-settings.ts';

const stack = useStack({ name: 'ends-a-lane' });
const JSON_HEADERS = { 'content-type': 'application/json' };
/** Seven starts of a processor, each after the session of the previous one; a busy machine needs ten seconds for one. */
const STARTS_MS_MAX = 240_000;

afterEach(() => stack().endProcessors());

/** A key of the same lane as another. */
function besideOf(key: string, name: string): string {
  return keysOfLane(name, laneOf(key, LANES), 1)[0] ?? '';
}

async function expectSetAside(key: string, value: Buffer | null): Promise<void> {
  const result = await stack().journal.result(key);
  expect(result.value).toMatchObject({ outcome: 'FAILED', attempts: 0, error: { code: 'SET_ASIDE' } });
  const letter = await stack().journal.deadLetter((record) => record.key?.toString() === key, key);
  expect(letter.headers).toMatchObject({
    'dlq-reason': 'SET_ASIDE',
    'dlq-by-reference': 'true',
    'dlq-offset': result.value.source.offset.toString(),
  });
  if (value === null) return;
  expect(letter.value).toEqual(value.subarray(0, 1024));
  expect(letter.headers['dlq-value-bytes']).toBe(String(value.length));
  expect(letter.headers['dlq-value-sha256']).toBe(createHash('sha256').update(value).digest('hex'));
}

test(
  'a message that ends every process which reads it is set aside after a few, and the lane goes on',
  { timeout: STARTS_MS_MAX },
  async () => {
    const key = 'deadly';
    const behind = besideOf(key, 'behind-deadly');
    await stack().publisher.publish('transfer-in', key, transferInOf(key));
    await stack().publisher.publish('transfer-in', behind, transferInOf(behind));
    const hook = {
      DEADLY_TEXT: transferInOf(key).destination.accountId,
      NODE_OPTIONS: `--import ${new URL('../support/deadly-reading.ts', import.meta.url).href}`,
    };
    const endings: string[] = [];
    for (let start = 0; start < 12 && stack().journal.results(behind).length === 0; start += 1) {
      const processor = await stack().spawnProcessor(hook);
      const ending = await Promise.race([processor.ended, stack().journal.result(behind)]);
      endings.push('signal' in ending ? String(ending.signal) : 'answered');
    }
    expect(endings.at(-1)).toBe('answered');
    // Two that committed nothing, and three that were lost at the message they had marked.
    expect(endings.filter((ending) => ending === 'SIGKILL').length).toBeGreaterThanOrEqual(4);
    expect((await stack().journal.result(behind)).value.outcome).toBe('ACCEPTED');
    await expectSetAside(key, null);
    expect((await stack().service.effects()).operations['transfer-in'][key]).toBeUndefined();
  },
);

test('a message that the broker refuses to take further is set aside by reference, and the lane goes on', async () => {
  const processor = await stack().startProcessor();
  await setLedgerBatchBytes(16 * 1024);
  const key = 'refused';
  const behind = besideOf(key, 'behind-refused');
  // Nothing that compression would make small.
  const description = randomBytes(22_500).toString('base64');
  const value = Buffer.from(JSON.stringify({ ...createQuoteOf(key), lockedCurrencyAmount: 1000, description }));
  await stack().publishRaw(
    'create-quote',
    { key, value, headers: JSON_HEADERS },
    {
      key: behind,
      value: JSON.stringify({ ...createQuoteOf(behind), lockedCurrencyAmount: 1000 }),
      headers: JSON_HEADERS,
    },
  );
  expect((await stack().journal.result(behind)).value.outcome).toBe('ACCEPTED');
  await expectSetAside(key, value);
  const { reasons } = await processor.readiness();
  expect(reasons.join('\n')).toMatch(/lost repeatedly: lane \d.*refused/);
  expect(await processor.metrics()).toMatch(/payments_lanes_lost_total\{reason="refused"\} [1-9]/);
  await setLedgerBatchBytes(4 * 1024 * 1024);
});

/** As an operator would, who does not know what it is for. */
async function setLedgerBatchBytes(bytes: number): Promise<void> {
  await changeTopics(stack().kafka, [stack().topics.ledger], { 'max.message.bytes': String(bytes) });
}
