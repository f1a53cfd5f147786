/**
 * Kafka's password changes while a processor works. With the new password in its file it goes on without a restart; with the
 * old one it names the fault until the file is changed. No command is lost, or executed twice.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publishTransfers } from '../support/commands.ts';
import { KafkaGate } from '../support/kafka-gate.ts';
import type { RunningProcessor } from '../support/processor.ts';
import { rightsOfRoles, useSecured } from '../access/secured-kafka.ts';

const COMMANDS = 20;
/** New connections, and a look at what Kafka allows. */
const TOLD_MS_MAX = 40_000;

const { secured, stack } = useSecured('password-change');
let gate: KafkaGate;
let directory: string;
let file: string;
let processor: RunningProcessor;

beforeAll(async () => {
  gate = await KafkaGate.to(secured().address('gated'));
  await secured().grant(rightsOfRoles(stack(), 'processor'));
  directory = mkdtempSync(join(tmpdir(), 'password-change-'));
  file = join(directory, 'password');
  writeFileSync(file, secured().password);
  const login = { KAFKA_SASL_PASSWORD: '', KAFKA_SASL_PASSWORD_FILE: file, KAFKA_BROKERS: gate.address };
  processor = await stack().startProcessor(secured().environment('gated', login));
});
afterAll(async () => {
  await stack().endProcessors();
  await gate.close();
  rmSync(directory, { recursive: true });
});

/** The administrator publishes, by a listener without authentication. */
const publish = (name: string): Promise<string[]> => publishTransfers(stack(), name, COMMANDS);

async function expectEachOnce(keys: readonly string[]): Promise<void> {
  for (const key of keys) expect((await stack().journal.result(key)).value.outcome).toBe('ACCEPTED');
  const { operations } = await stack().service.effects();
  for (const key of keys) expect(operations['transfer-in'][key]).toMatchObject({ effects: 1 });
}

/** Readiness mentions recently lost lanes for a while: that reason does not count. */
async function expectReadyUnrefused(): Promise<void> {
  const told = async (): Promise<unknown> => {
    const { ready, reasons } = await processor.readiness();
    return { ready, others: reasons.filter((reason) => !reason.startsWith('lost repeatedly')) };
  };
  await expect.poll(told, { timeout: TOLD_MS_MAX }).toEqual({ ready: true, others: [] });
}

/** As when a broker restarts: from here on the processor has to log in anew. */
async function cutConnections(): Promise<void> {
  await gate.vanish();
  await gate.open();
}

test('with the new password in its file the processor goes on, without a restart', async () => {
  const before = await publish('before');
  await secured().setScramPassword('the-second-secret');
  writeFileSync(file, 'the-second-secret');
  const between = await publish('between');
  await cutConnections();
  const after = await publish('after');
  await expectEachOnce([...before, ...between, ...after]);
  await expectReadyUnrefused();
  expect(processor.log().filter(({ kind }) => kind === 'refused')).toEqual([]);
});

test('with the old password it names the fault, and goes on once the file is changed', async () => {
  const before = await publish('before-refusal');
  // From here on new connections are rejected, and unanswered commands may need one.
  await stack().journal.resultsOfAll(before);
  await secured().setScramPassword('the-third-secret');
  await cutConnections();
  const during = await publish('during-refusal');
  await expect
    .poll(async () => (await processor.readiness()).reasons.join('\n'), { timeout: TOLD_MS_MAX })
    .toMatch(/refused by Kafka: Kafka at \S+ rejected the login \(.+\): check .*KAFKA_SASL_PASSWORD/);
  expect((await processor.readiness()).ready).toBe(false);
  expect(await processor.metrics()).toContain('payments_kafka_refused{cause="authentication"} 1');
  const refused = processor.log().filter(({ event, kind }) => event === 'kafka-access' && kind === 'refused');
  expect(refused).toMatchObject([{ level: 'error', cause: 'authentication' }]);
  expect(
    stack()
      .journal.results()
      .filter(({ key }) => during.includes(key)),
  ).toEqual([]);

  writeFileSync(file, 'the-third-secret');
  const after = await publish('after-refusal');
  await expectEachOnce([...before, ...during, ...after]);
  await expectReadyUnrefused();
  expect(processor.lines.join('\n')).not.toMatch(
    new RegExp(`${secured().password}|the-second-secret|the-third-secret`),
  );
});
