/**
 * A broker of three that is cut off from the other brokers and from the controllers, and that clients still reach: it goes on as
 * the group's coordinator and as a leader, with an outdated view, and commits nothing. Members leave it for the others while it
 * remains so.
 */
import { afterAll, expect, test } from 'vitest';
import { PaymentCommandPublisher } from 'payment-processor-client';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { createKafka, PATIENT_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { publishTransfers } from '../../test/support/commands.ts';
import { Journal } from '../../test/support/journal.ts';
import { eventually } from '../../test/support/watch.ts';
import { BrokerLinks } from './broker-links.ts';
import { coordinatorOf } from './coordinator.ts';
import { useOwnEngine } from './own-engine.ts';

const BROKERS = 3;
const LANES = 6;
const COMMANDS = 60;
const TEST_MS_MAX = 280_000;
const RECOVERED_MS_MAX = 90_000;
const HEALED_MS_MAX = 60_000;

const settings = { KAFKA_SESSION_TIMEOUT_MS: '6000', KAFKA_HEARTBEAT_INTERVAL_MS: '1000' };
let links: BrokerLinks | null = null;
const { engine, stack } = useOwnEngine(
  BROKERS,
  { name: 'isolated', lanes: LANES, settings, isRead: false },
  async () => {
    const made = await BrokerLinks.of(BROKERS);
    links = made;
    return { changesOf: (node) => made.settings(node) };
  },
);
afterAll(() => links?.close());

test(
  'members whose coordinator is cut off from the other brokers, but not from them, go on with those',
  async () => {
    const processors = [
      await stack().startProcessor(),
      await stack().startProcessor({ STATE_DIR: `${stack().environment['STATE_DIR'] ?? ''}-other` }),
    ];
    const share = (): Promise<number[]> =>
      Promise.resolve(processors.map((processor) => processor.assignedLanes().length));
    const isShared = (counts: number[]): boolean => counts.every((count) => count === LANES / processors.length);
    await eventually(share, isShared, 'half of the lanes each');

    const isolated = await coordinatorOf(stack().kafka, stack().environment['KAFKA_GROUP_ID'] ?? '');
    const others = {
      ...stack().settings,
      KAFKA_BROKERS: engine().brokers.filter((_, index) => index !== isolated),
    };
    links?.isolate(isolated);
    // Only clients that begin at the others, and once these have noticed it, never ask it.
    await eventually(
      () => withAdmin(createKafka(others, 'others', { retry: PATIENT_RETRY }), (admin) => admin.describeCluster()),
      ({ brokers }) => brokers.length === BROKERS - 1,
      'the others to go on without it',
    );
    const [publisher, journal] = await Promise.all([PaymentCommandPublisher.connect(others), Journal.open(others)]);
    const keys = await publishTransfers({ publisher }, 'isolated', COMMANDS);
    const results = await journal.resultsOfAll(keys, RECOVERED_MS_MAX);
    expect(new Set(results.map(({ value }) => value.outcome))).toEqual(new Set(['ACCEPTED']));

    links?.heal();
    await eventually(
      () => Promise.all(processors.map((processor) => processor.readiness())),
      (told) => told.every(({ ready }) => ready) && processors.flatMap((one) => one.assignedLanes()).length === LANES,
      'both members at work',
      HEALED_MS_MAX,
    );
    await Promise.all([publisher.close(), journal.close()]);
  },
  TEST_MS_MAX,
);
