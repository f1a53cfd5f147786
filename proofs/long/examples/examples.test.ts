/**
 * examples/: each publisher's command is executed by a real processor, from the lane of its key; each subscriber handles every
 * result once, over copies, restarts and a group that begins anew, and draws no conclusion from UNKNOWN.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { laneOf } from 'payment-processor-contract/keys';
import { ResultWriter, resultOf } from '../../../packages/client/test/fixtures.ts';
import { LANES } from '../../../test/support/stack.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { ExampleProcess } from './example-process.ts';
import { TOOLCHAINS, type Example, type Program } from './toolchains.ts';

const PREPARE_MS_MAX = 600_000;
const stack = useStack({
  name: 'examples',
  sandbox: { settleMs: 2_000 },
  settings: { POLL_INTERVAL_MS: '500', POLL_MAX_CALLS_PER_MINUTE: '6000' },
});
let writer: ResultWriter;
beforeAll(async () => {
  await stack().startProcessor();
  writer = await ResultWriter.open(stack().settings.TOPIC_PREFIX);
});
afterAll(async () => writer.close());

describe.each(TOOLCHAINS)('$language', ({ follows, language, prepare, stoppedCode }) => {
  const running: ExampleProcess[] = [];
  let example: Example;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), `example-${language}-`));
    example = await prepare();
  }, PREPARE_MS_MAX);
  afterEach(() => {
    for (const process of running.splice(0)) process.kill();
  });
  afterAll(async () => {
    await example.remove?.();
    await rm(folder, { recursive: true, force: true });
  });

  async function publish(key: string, amount = '2500'): Promise<{ partition: number }> {
    const { environment } = stack();
    const ended = await new ExampleProcess(example.publish, [key, amount], environment).end();
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const [, partition] = /partition (\d+) offset \d+\n$/.exec(ended.stdout) ?? [];
    return { partition: Number(partition) };
  }

  function subscribe(groupId: string): ExampleProcess {
    const environment = { ...stack().environment, GROUP_ID: groupId };
    const process = new ExampleProcess(example.subscribe, [join(folder, 'handled')], environment);
    running.push(process);
    return process;
  }

  /** From its command to its end, by the key alone: by a process that is started after the first was killed. */
  async function follow(program: Program | undefined, key: string): Promise<void> {
    if (program === undefined) throw new Error(`there is no ${language} program that follows a payment`);
    const first = new ExampleProcess(program, [key], stack().environment);
    running.push(first);
    await first.seen(`following ${key}`);
    first.kill();
    await publish(key);
    const { code, stdout } = await new ExampleProcess(program, [key], stack().environment).end();
    const lines = stdout.split('\n').filter((line) => line !== '');
    expect(code).toBe(0);
    expect(lines.at(-1)).toMatch(new RegExp(`^${key} settled: COMPLETED of Transaction:\\S+$`));
    // Of two topics: in whatever order they are read.
    if (language !== 'python') return;
    expect(lines.filter((line) => line === `${key}: ACCEPTED, revision 1`)).toHaveLength(1);
    const completed = new RegExp(`^${key}: COMPLETED of Transaction:\\S+, seen by POLL$`);
    expect(lines.filter((line) => completed.test(line))).toHaveLength(1);
  }

  test('publishes to the lane of the key, and hears once what came of it', async () => {
    const { journal } = stack();
    const name = (part: string): string => `${language}-${part}`;
    const sourceAt = (offset: bigint) => ({ topic: language, partition: 0, offset });
    const first = subscribe(randomUUID());
    // Amounts keep all their digits, in whatever language.
    expect(await publish(name('one'), '9007199254740993')).toEqual({ partition: laneOf(name('one'), LANES) });
    expect(await first.seen(name('one'))).toBe(`${name('one')} revision 1: ACCEPTED, accepted, not settled yet`);
    expect((await journal.result(name('one'))).value.transaction?.receivedAmount?.amount).toBe(9_007_199_254_740_993n);

    // A copy of the command is answered by the same event again, and that is not news.
    await publish(name('one'), '9007199254740993');
    await publish(name('two'));
    await first.seen(name('two'));
    const answers = await journal.resultsOf(name('one'), 2);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(await first.stop()).toBe(stoppedCode);
    expect(first.lines().filter((line) => line.startsWith(name('one')))).toHaveLength(1);

    // Another group reads all of it from the beginning.
    const second = subscribe(randomUUID());
    expect(await publish(name('three'))).toEqual({ partition: laneOf(name('three'), LANES) });
    await second.seen(name('three'));

    // UNKNOWN is no end; the next revision counts, and an older one that comes late does not.
    const key = name('doubt');
    const source = sourceAt(0n);
    await writer.write(resultOf(key, { source, outcome: 'UNKNOWN', settledBy: 'PROCESSOR', httpStatus: null }));
    expect(await second.seen(`${key} revision 1`)).toBe(
      `${key} revision 1: UNKNOWN, may have been paid: do not pay under another key; an operator decides, and a later revision tells`,
    );
    await writer.write(resultOf(key, { source, revision: 2, settledBy: 'OPERATOR', httpStatus: null }));
    await second.seen(`${key} revision 2: ACCEPTED`);
    await writer.write(resultOf(key, { source, outcome: 'UNKNOWN' }));
    await writer.write(resultOf(key, { source: sourceAt(1n), outcome: 'CONFLICT', revision: 0 }));
    await second.seen(`${key} revision 0: CONFLICT`);
    // A key that was forgotten and used again: the same ce_id, at another time and of another source.
    for (const week of [2n, 3n]) {
      const rent = resultOf(name('rent'), {
        source: sourceAt(week),
        completedAt: 1_700_000_000_000n + week * 604_800_000n,
      });
      await writer.write(rent, { ce_id: name('rent') });
      await writer.write(rent, { ce_id: name('rent'), replayed: 'true' });
    }
    // On a new cluster another command may lie where the first one lay.
    await writer.write(resultOf(name('moved'), { source }));
    await second.seen(`${name('moved')} revision 1: ACCEPTED`);
    // Of a transaction that is aborted nothing is heard.
    await writer.write(resultOf(key, { source, revision: 3, outcome: 'REFUSED' }), {}, 'abort');
    await publish(name('four'));
    await second.seen(name('four'));
    expect(await second.stop()).toBe(stoppedCode);
    const own = second.lines().filter((line) => line.startsWith(`${language}-`));
    expect(own.filter((line) => line.startsWith(key))).toHaveLength(3);
    expect(own.filter((line) => line.startsWith(name('rent')))).toHaveLength(2);
    expect(own.filter((line) => line.startsWith(name('one')) || line.startsWith(name('two')))).toEqual([]);
  });

  if (follows) {
    test('follows a payment by the key of its command', () => follow(example.follow, `${language}-followed`));
  }
});
