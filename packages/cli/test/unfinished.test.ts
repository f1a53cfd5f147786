import { beforeAll, describe, expect, test } from 'vitest';
import { laneOf } from 'payment-processor-contract/keys';
import { keyHash } from 'payment-processor-contract/key-hash';
import { transferInOf } from '../../../test/support/commands.ts';
import { LANES } from '../../../test/support/stack.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { eventually } from '../../../test/support/watch.ts';
import { runCli, type CliRun } from './run-cli.ts';

const stack = useStack({ name: 'unfinished' });
const cli = (...args: string[]): Promise<CliRun> => runCli({ ...stack().environment }, '--output', 'json', ...args);

beforeAll(async () => {
  await stack().startProcessor();
  await stack().publisher.publish('transfer-in', 'answered', transferInOf('answered'));
  await stack().journal.result('answered');
  await stack().service.addFaults({
    ...{ kind: 'status', operation: 'transfer-in', key: 'parked', httpStatus: 429, retryAfter: 600 },
  });
  await stack().publisher.publish('transfer-in', 'parked', transferInOf('parked'));
});

const isParked = ({ documents }: CliRun): boolean => documents[0]?.phase === 'PARKED';
const parked = (): Promise<CliRun> => eventually(() => cli('unfinished', 'list'), isParked, 'the command to be parked');

describe('unfinished list', () => {
  test('has what is admitted and not done: key, lane, phase, what comes next and why', async () => {
    const { code, documents, stderr } = await parked();
    expect(code).toBe(0);
    expect(documents).toMatchObject([{ key: 'parked', command: 'transfer-in', phase: 'PARKED' }]);
    expect(documents[0]?.next).toMatch(/^tried again at 2/);
    expect(documents[0]?.why).toContain('429');
    expect(stderr).toMatch(/1 PARKED, .*429/);
  });

  test('of another lane or phase has none, and says so', async () => {
    await parked();
    const other = (laneOf('parked', LANES) + 1) % LANES;
    for (const filter of [
      ['--lane', String(other)],
      ['--phase', 'DOUBTFUL'],
    ]) {
      const run = await cli('unfinished', 'list', ...filter);
      expect(run).toMatchObject({ code: 0, documents: [] });
      expect(run.stderr).toContain('none of this lane and phase');
      expect(run.stderr).not.toContain('every');
    }
    expect(await cli('unfinished', 'list', '--phase', 'doubtful')).toMatchObject({ code: 2 });
  });
});

describe('show', () => {
  test('finds a key by its hash, and by where its command lies', async () => {
    await parked();
    expect(await cli('show', '--hash', keyHash('parked'))).toMatchObject({ code: 0, documents: [{ key: 'parked' }] });
    const { value } = await stack().journal.result('answered');
    const { partition, offset } = value.source;
    const { documents } = await cli('show', '--offset', `${partition}/${offset}`);
    expect(documents.map(({ key }) => key)).toContain('answered');
    expect(await cli('show', '--hash', 'ffffffffffffffff')).toMatchObject({ code: 3 });
  });
});
