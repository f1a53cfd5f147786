/**
 * A processor that cannot reach one broker of three, while its heartbeats reach the group: other members get its lanes, and it has
 * lanes again once that broker answers it.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publishTransfers } from '../../test/support/commands.ts';
import { KafkaGate } from '../../test/support/kafka-gate.ts';
import { eventually } from '../../test/support/watch.ts';
import { coordinatorOf } from './coordinator.ts';
import { useOwnEngine } from './own-engine.ts';

const TEST_MS_MAX = 360_000;
/** A minute of silence, requests that time out, and lanes whose owner could not release them. */
const GIVEN_UP_MS_MAX = 150_000;
const BACK_MS_MAX = 60_000;
const LANES = 6;
const COMMANDS = 60;

// With shorter sessions the group would drop it before it can stand aside.
const settings = { KAFKA_SESSION_TIMEOUT_MS: '6000', KAFKA_HEARTBEAT_INTERVAL_MS: '1000' };
const { engine, stack } = useOwnEngine(3, { name: 'reach', lanes: LANES, settings });
let gates: KafkaGate[] = [];
beforeAll(async () => {
  gates = await KafkaGate.toAll(engine().brokers);
});
afterAll(async () => {
  await Promise.all(gates.map((gate) => gate.close()));
});

const published = (name: string): Promise<string[]> => publishTransfers(stack(), name, COMMANDS);

test.each(['stands still', 'is away'])(
  'a member for which one broker of three %s gives its lanes to those that all brokers answer',
  async (ending) => {
    const name = ending.replaceAll(' ', '-');
    const other = await stack().startProcessor();
    const cutOff = await stack().startProcessor({
      KAFKA_BROKERS: gates.map(({ address }) => address).join(','),
      STATE_DIR: `${stack().environment['STATE_DIR'] ?? ''}-${name}`,
    });
    await eventually(
      async () => [other, cutOff].map((processor) => processor.assignedLanes().length),
      (counts) => counts.every((count) => count === LANES / 2),
      'half of the lanes each',
    );
    await stack().journal.resultsOfAll(await published(`before-${name}`));
    const groupId = stack().environment['KAFKA_GROUP_ID'] ?? '';
    const gate = gates[((await coordinatorOf(stack().kafka, groupId)) + 1) % gates.length];
    if (ending === 'is away') await gate?.vanish();
    else gate?.stall();
    const keys = await published(`cut-off-${name}`);
    const results = await stack().journal.resultsOfAll(keys, GIVEN_UP_MS_MAX);
    expect(new Set(results.map(({ value }) => value.outcome))).toEqual(new Set(['ACCEPTED']));
    await eventually(
      () => cutOff.readiness(),
      ({ reasons }) => reasons.join().includes('stands aside, and other members have the lanes: brokers do not answer'),
      'a member that stands aside',
      GIVEN_UP_MS_MAX,
    );
    expect(other.assignedLanes()).toHaveLength(LANES);

    await gate?.open();
    await eventually(
      () => cutOff.readiness(),
      (told) => told.ready && cutOff.assignedLanes().length === LANES / 2,
      'lanes of the member that is no longer cut off',
      BACK_MS_MAX,
    );
    await stack().journal.resultsOfAll(await published(`after-${name}`));
    await stack().endProcessors();
  },
  TEST_MS_MAX,
);
