/**
 * Invariant I1 through a real Kafka whose broker lost the end of a topic, as an unclean election or a restored copy does; the topic
 * has grown beyond it again before a processor looks.
 */
import { globSync } from 'node:fs';
import { readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringifyLossless } from 'payment-processor-contract/lossless-json';
import { transferInOf } from '../../test/support/commands.ts';
import { eventually } from '../../test/support/watch.ts';
import { useOwnEngine } from './own-engine.ts';

const TEST_MS_MAX = 120_000;
const COMMANDS = 20;
const KEPT = 15;
/** Of a batch, before its length, and with it. */
const LENGTH_AT = 8;
const LENGTH_END = 12;

const { engine, stack } = useOwnEngine(1, { name: 'cut', lanes: 1 });

/** Each is a batch of its own. */
async function published(name: string): Promise<string[]> {
  const keys = Array.from({ length: COMMANDS }, (_, index) => `${name}-${index}`);
  for (const key of keys) {
    const value = stringifyLossless(transferInOf(key));
    await stack().publishRaw('transfer-in', { key, value, headers: { 'content-type': 'application/json' } });
  }
  return keys;
}

async function cutOff(topic: string): Promise<void> {
  const [file = ''] = globSync(join(engine().directory, `*/data/${topic}-0/*.log`));
  const bytes = await readFile(file);
  let end = 0;
  for (let batch = 0; batch < KEPT; batch += 1) end += LENGTH_END + bytes.readInt32BE(end + LENGTH_AT);
  await truncate(file, end);
}

test(
  'a topic that lost its end and has grown again stops its lane',
  async () => {
    const first = await stack().startProcessor();
    await stack().journal.resultsOfAll(await published('before'));
    await first.stop();
    await engine().broker(0).kill();
    await cutOff(stack().topics.commands['transfer-in']);
    await engine().broker(0).start();
    await published('after');
    const next = await stack().spawnProcessor();
    await next.logged('lanes-assigned');
    const { reasons } = await eventually(
      () => next.readiness(),
      (told) => told.reasons.some((reason) => reason.includes('is stopped')),
      'a stopped lane',
    );
    expect(reasons.join()).toMatch(
      /read up to offset 20, but the topic has records of leader epoch \d+ only up to offset 15/,
    );
  },
  TEST_MS_MAX,
);
