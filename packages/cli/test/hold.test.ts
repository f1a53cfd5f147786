/** `hold` and `release` against a real Kafka: whom they wait for, and what the payment service hears meanwhile. */
import { expect, test } from 'vitest';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { partitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { holdRecords, NO_HOLDS, withOrder, type HoldsRecord } from '../../../src/ledger/holds.ts';
import { HOLD_KEY } from '../../../src/ledger/ledger-records.ts';
import { transferInOf } from '../../../test/support/commands.ts';
import { LANES } from '../../../test/support/stack-options.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { sendTo } from '../../client/test/fixtures.ts';
import type { AuditedOrder } from '../src/hold-audit.ts';
import { runCli, startCli, type CliRun } from './run-cli.ts';

const stack = useStack({ name: 'hold' });
/** As an operator has it whose registry is down. */
const environment = (): Record<string, string> => {
  const { KAFKA_BROKERS = '', KAFKA_GROUP_ID = '', TOPIC_PREFIX = '' } = stack().environment;
  return { KAFKA_BROKERS, KAFKA_GROUP_ID, TOPIC_PREFIX };
};
const cli = (...args: string[]): Promise<CliRun> => runCli(environment(), '--output', 'json', ...args);

const keys: string[] = [];

async function publish(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const key = `held-${keys.length}`;
    keys.push(key);
    await stack().publisher.publish('transfer-in', key, transferInOf(key));
  }
}

test('what cannot be held is refused, and a hold that nobody confirms says so', async () => {
  expect(await cli('hold')).toMatchObject({ code: 2 });
  expect(await cli('hold', 'transfers', '--reason', 'x')).toMatchObject({ code: 2 });
  expect(await cli('hold', '--reason', 'x', '--until', '2020-01-01T00:00:00Z')).toMatchObject({ code: 2 });
  const alone = await cli('hold', 'transfer-in', '--reason', 'nobody runs', '--wait-for', '2s');
  expect(alone).toMatchObject({ code: 5, documents: [{ kind: 'hold', reason: 'nobody runs', until: null }] });
  expect(alone.stderr).toMatch(
    /lanes 0, 1, 2 \(KAFKA_GROUP_ID=\S+ has no member, .*the next owner reads the order before its first call\)/,
  );
  expect((await runCli(environment(), 'holds')).stdout).toMatch(/nobody runs {2}\(not released: transfer-in\)/);
});

test('a hold that another order took back in one lane is not waited for there, nor its operator told to repeat it', async () => {
  const { kafka, topics } = stack();
  const ends = await withAdmin(kafka, (admin) => partitionOffsets(admin, topics.operatorHolds));
  const held = startCli(environment(), 'hold', '--reason', 'crossed', '--wait-for', '40s');
  await held.seen('waiting for lane');
  const said = { commandTypes: [], operator: 'a', reason: 'crossed', until: null, at: '2026-01-01T00:00:00Z' };
  const order = { ...said, action: 'HOLD' } as const;
  const offsetIn = (lane: number): bigint => ends.get(lane)?.high ?? 0n;
  const holds = (lane: number): HoldsRecord => withOrder(NO_HOLDS, order, offsetIn(lane));
  const released = withOrder(holds(0), { ...order, action: 'RELEASE' }, offsetIn(0) + 1n);
  // As the owners of the lanes would.
  const records = [holds(0), released, ...Array.from({ length: LANES - 1 }, (_, index) => holds(index + 1))];
  for (const [index, record] of records.entries()) {
    const partition = Math.max(0, index - 1);
    await sendTo(kafka, topics.ledger, [{ key: HOLD_KEY, value: holdRecords.encode(record), partition }]);
  }
  const run = await held.ended;
  expect(run.stderr).toMatch(/a later order replaced it in lane 0: `holds` shows whose\. Ask them before/);
  expect(run.code).toBe(5);
});

test('under load, with a member that stands still and one that joins: no call begins once it has returned; then all are answered', async () => {
  await publish(10);
  const frozen = await stack().startProcessor();
  const other = await stack().startProcessor();
  // Held by the previous order.
  expect(await stack().service.callsMade()).toBe(0);
  expect(await cli('release', '--reason', 'go')).toMatchObject({ code: 0 });
  await stack().journal.resultsOfAll(keys);
  const load = setInterval(() => void publish(1), 20);
  frozen.freeze();
  const held = startCli(environment(), 'hold', '--reason', 'incident 31');
  await held.seen(`waiting for lane`);
  const run = await held.ended;
  const before = await stack().service.callsMade();
  expect(run).toMatchObject({ code: 0 });
  expect(run.stdout).toMatch(new RegExp(`^held .*: no call for any type begins.*all ${LANES} lanes have confirmed`));
  frozen.thaw();
  const joined = await stack().startProcessor();
  await publish(20);
  await other.stop();
  await joined.ready();
  clearInterval(load);
  expect(await stack().service.callsMade()).toBe(before);
  const audit = await cli('holds');
  expect(audit.documents).toMatchObject([
    { action: 'HOLD', commandTypes: ['transfer-in'], inForce: [] },
    { action: 'HOLD', reason: 'crossed', inForce: [] },
    { action: 'RELEASE', reason: 'go' },
    { action: 'HOLD', commandTypes: [], reason: 'incident 31', inForce: COMMAND_TYPES },
  ]);
  expect(audit.documents.at(-1)?.['lanes']).toHaveLength(LANES);
  const doctor = await runCli({ ...stack().environment }, 'doctor');
  expect(doctor.stdout).toMatch(/^problem +holds +.* ordered a hold of create-quote, .*incident 31/m);
  expect(doctor.stdout).toContain(`end it with \`release ${COMMAND_TYPES.join(' ')}\``);
  // Another operator's hold does not end without a word.
  const mine = await cli('hold', 'create-quote', '--reason', 'mine', '--operator', 'bob');
  expect(mine.stderr).toMatch(/ordered a hold of create-quote at \S+ \(incident 31\); this hold ends it/);
  expect(mine.documents).toMatchObject([{ replaced: [{ reason: 'incident 31', inForce: ['create-quote'] }] }]);
  expect((await cli('holds')).stderr).toMatch(/still wanted: .* ordered a hold of create-quote at .*\(incident 31\)/);
  const refused = await cli('release');
  expect(refused).toMatchObject({ code: 7, documents: [] });
  expect(refused.stderr).toMatch(/bob ordered a hold of create-quote .*Ask them; .*--end-others; nothing was sent/);
  const released = await cli('release', '--end-others', '--operator', 'cleo');
  expect(released).toMatchObject({ code: 0, documents: [{ kind: 'release', pending: [] }] });
  expect(released.stderr.match(/; this release ends it/g)).toHaveLength(2);
  expect(released.stderr).toMatch(/incident 31\); a later hold replaced it, and this release ends both/);
  const results = await stack().journal.resultsOfAll(keys);
  expect(results.map(({ value }) => value.outcome)).toEqual(keys.map(() => 'ACCEPTED'));
});

test('a hold whose end has passed by every clock but the operator’s is not said to hold', async () => {
  await stack().endProcessors();
  await stack().startProcessor();
  const behind = {
    CLOCK_AHEAD_MS: String(-2 * 3_600_000),
    NODE_OPTIONS: `--import ${new URL('../../../test/support/wrong-clock.ts', import.meta.url).href}`,
  };
  const until = new Date(Date.now() - 60_000).toISOString();
  const run = await runCli({ ...environment(), ...behind }, 'hold', '--reason', 'a wrong clock', '--until', until);
  expect(run).toMatchObject({ code: 0 });
  expect(run.stdout).toMatch(/^held until \S+, which has passed: calls for any type may begin again/);
});

test('of two holds at once, the later one in each lane says that it replaces the other', async () => {
  const hold = (operator: string): Promise<CliRun> =>
    cli('hold', 'reject-transaction', '--reason', 'at once', '--operator', operator, '--wait-for', '1s');
  const runs = await Promise.all([hold('ada'), hold('bob')]);
  const lanes = runs.flatMap(({ stdout }) => {
    const { replaced } = JSON.parse(stdout) as { replaced: AuditedOrder[] };
    const other = replaced.find(({ reason }) => reason === 'at once');
    return other?.inSomeLanes['reject-transaction'] ?? other?.lanes ?? [];
  });
  expect(lanes.toSorted()).toEqual(Array.from({ length: LANES }, (_, lane) => lane));
});
