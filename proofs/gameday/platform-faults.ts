/** Faults of Kafka, the registry and the processes themselves. */
import { setTimeout as delay } from 'node:timers/promises';
import { unseenSchemaEncoder } from '../chaos/unseen-schema.ts';
import { keysOfLane, transferInOf } from '../../test/support/commands.ts';
import { LANES } from '../../test/support/stack.ts';
import type { Fault } from './fault.ts';
import { FORBIDDEN } from '../../test/access/registry-door.ts';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { grantCommand, KAFKA_TOOL_OPTIONS } from 'payment-processor-contract/rights';
import { SLOW_CALL_MS, USUAL_SLOTS } from './scene.ts';

/** The owner of this lane is also the poller. */
const POLLING_LANE = 0;
/** Several session timeouts: the group has removed the process, and another has its lanes. */
const FROZEN_MS = 8_000;
/** Its transactional id. */
const OPEN_TRANSACTION = 'game-day-open-transaction';
const HELD_BACK = 'PaymentsCommandsHeldBack';
const DELETED_COMMANDS = 5;
/** For Kafka. */
const UP_TO_THE_END = '-1';
const TRANSACTIONS = `kafka-transactions.sh ${KAFKA_TOOL_OPTIONS}`;
/** For the new prefix and its group. */
const NEW_PREFIX_ENDING = '-moved';

export const PLATFORM_FAULTS: readonly Fault[] = [
  {
    name: 'killed',
    what: 'a process is killed and started again',
    alerts: [],
    inject: ({ slots }) => slots.kill('a'),
    action: 'none: the other takes its lanes over; the orchestrator starts it again',
    act: ({ slots }) => slots.start(['a']),
  },
  {
    name: 'frozen',
    what: `a process stands still for ${FROZEN_MS / 1_000} s (SIGSTOP)`,
    alerts: [],
    inject: async ({ slots }) => {
      slots.of('b').freeze();
      await delay(FROZEN_MS);
    },
    action: 'none: the other takes its lanes over; it wakes and joins again',
    act: async ({ slots }) => slots.of('b').thaw(),
  },
  {
    name: 'stalled',
    what: 'by a bug a process asks for no more of a topic, its lanes being open',
    alerts: ['PaymentsLaneStalled'],
    inject: (scene) => scene.stall(scene.slots.slotOf(POLLING_LANE), scene.stack.topics.commands['transfer-in']),
    action: 'its pod is deleted; another takes the lanes over',
    look: async (scene) => {
      for (const which of ['--unavailable-partitions', '--under-min-isr-partitions'])
        await scene.paste(
          'stalled',
          'PaymentsLaneStalled',
          `kafka-topics.sh ${KAFKA_TOOL_OPTIONS} --describe ${which}`,
        );
    },
    act: async (scene) => {
      const slot = scene.slots.slotOf(POLLING_LANE);
      await scene.endStall(slot);
      await scene.slots.kill(slot);
      await scene.slots.start([slot]);
    },
  },
  {
    name: 'registry down',
    what: 'the registry is down, and commands come in with a schema that no process has seen',
    alerts: ['PaymentsOldestUnansweredTooOld', 'PaymentsMemberNotReady'],
    inject: async ({ engine, stack }) => {
      const encode = await unseenSchemaEncoder(stack);
      await engine.registry.kill();
      for (let lane = 0; lane < LANES; lane += 1) {
        const [key = ''] = keysOfLane('unseen-schema', lane, 1);
        const value = await encode('transfer-in', transferInOf(key));
        await stack.publishRaw('transfer-in', { key, value });
      }
    },
    action: '/api/state: registry; the registry is started with its data',
    look: async (scene) => {
      await scene.doctorFinds('registry down', 'PaymentsOldestUnansweredTooOld', /registry/);
      await scene.stateNames('registry');
    },
    act: async (scene) => {
      await scene.engine.registry.start();
      await scene.paste('registry down', 'PaymentsOldestUnansweredTooOld', 'cli schemas check');
    },
  },
  {
    name: 'registry refuses',
    what: 'the registry answers 403 to everything',
    alerts: ['PaymentsRegistryRefused'],
    inject: async (scene) => scene.registryAnswers(FORBIDDEN),
    action: 'the right is granted; no restart',
    look: (scene) => scene.doctorFinds('registry refuses', 'PaymentsRegistryRefused', /403/),
    act: async (scene) => {
      scene.registryAnswers();
      await scene.paste('registry refuses', 'PaymentsRegistryRefused', 'cli schemas check');
    },
  },
  {
    name: 'Kafka refuses',
    what: 'somebody else is granted a right on the results, which so far were open to everybody',
    alerts: ['PaymentsKafkaRefused'],
    inject: (scene) => {
      const right = {
        resource: 'topic',
        name: scene.stack.topics.results,
        pattern: 'literal',
        operation: 'Read',
      } as const;
      return scene.shell(grantCommand(right, 'User:reporting'));
    },
    action: 'what doctor prints is granted; no restart',
    look: (scene) => scene.doctorFinds('Kafka refuses', 'PaymentsKafkaRefused', /does not allow us/),
    act: async (scene) => {
      const rights = [/does not allow us/, 'cli doctor --rights'] as const;
      const problems = await scene.doctorFinds('Kafka refuses', 'PaymentsKafkaRefused', ...rights);
      for (const grant of problems.flatMap((line) => /kafka-acls\.sh .+/.exec(line) ?? []))
        await scene.run('Kafka refuses', grant);
    },
  },
  {
    name: 'open transaction',
    what: 'a publisher leaves a transaction open, and commands behind it reach nobody',
    alerts: ['PaymentsCommandsHeldBack'],
    inject: async (scene) => {
      const producer = scene.stack.kafka.producer({ transactionalId: OPEN_TRANSACTION, idempotent: true });
      await producer.connect();
      const transaction = await producer.transaction();
      const topic = scene.stack.topics.commands['create-quote'];
      await transaction.send({ topic, messages: [{ partition: POLLING_LANE, value: 'never committed' }] });
      scene.left.set(OPEN_TRANSACTION, async () => {
        // A publisher that is told that its commit succeeded would not publish its commands again.
        const isCommitted = await transaction.commit().then(
          () => true,
          () => false,
        );
        await producer.disconnect();
        if (isCommitted) throw new Error('the publisher committed the transaction that was ended');
      });
    },
    action: 'the transaction is ended by its id; its publisher cannot commit it',
    look: async (scene) => {
      const place = { TOPIC: scene.stack.topics.commands['create-quote'], LANE: String(POLLING_LANE) };
      for (const command of ['describe-producers', 'find-hanging --topic'])
        await scene.paste('open transaction', HELD_BACK, `${TRANSACTIONS} ${command}`, place);
      await scene.paste('open transaction', HELD_BACK, `${TRANSACTIONS} list`);
    },
    act: async (scene) => {
      await scene.paste('open transaction', HELD_BACK, `${TRANSACTIONS} forceTerminateTransaction`, {
        TRANSACTIONAL_ID: OPEN_TRANSACTION,
      });
      await scene.putRight(OPEN_TRANSACTION);
    },
  },
  {
    name: 'Kafka down',
    what: 'all brokers are down',
    alerts: ['PaymentsKafkaNotAnswering', 'PaymentsLanesNotOpen'],
    inject: async ({ engine, load, stack }) => {
      // A broker killed during a commit may leave a hanging transaction (PaymentsCommandsHeldBack): none may be under way.
      await load.settled();
      // A lane with nothing to commit would stay open, so answers arrive only once the brokers are gone.
      await stack.service.addFaults({ kind: 'delay', operation: 'transfer-in', delayMs: SLOW_CALL_MS });
      for (let lane = 0; lane < LANES; lane += 1) {
        const [key = ''] = keysOfLane('under-way', lane, 1);
        await stack.publisher.publish('transfer-in', key, transferInOf(key));
      }
      await delay(SLOW_CALL_MS / 2);
      await engine.broker(0).kill();
      load.begin();
    },
    action: 'the brokers are started',
    look: (scene) => scene.doctorFinds('Kafka down', 'PaymentsKafkaNotAnswering', /kafka/i),
    act: async ({ engine, stack }) => {
      await stack.service.clearFaults();
      await engine.broker(0).start();
    },
  },
  {
    name: 'absent',
    what: 'all processes are stopped',
    alerts: ['PaymentsAbsent'],
    inject: ({ slots }) => slots.stop(...USUAL_SLOTS),
    action: 'the processes are started',
    act: ({ slots }) => slots.start(USUAL_SLOTS),
  },
  // Runs last: after it the prefix must not be used again, as the runbook says.
  {
    name: 'commands deleted',
    what: `commands of lane ${POLLING_LANE} are deleted from their topic before they were admitted`,
    alerts: ['PaymentsLaneStopped'],
    inject: async ({ load, slots, stack }) => {
      await load.settled();
      await slots.stop(...USUAL_SLOTS);
      const keys = keysOfLane('deleted', POLLING_LANE, DELETED_COMMANDS);
      for (const key of keys) await stack.publisher.publish('transfer-in', key, transferInOf(key));
      const topic = stack.topics.commands['transfer-in'];
      await withAdmin(stack.kafka, async (admin) => {
        // Makes the client load the partition's leader, which the deletion itself does not.
        await admin.fetchTopicOffsets(topic);
        await admin.deleteTopicRecords({ topic, partitions: [{ partition: POLLING_LANE, offset: UP_TO_THE_END }] });
      });
      await slots.spawn(USUAL_SLOTS);
    },
    action: 'a new prefix; processes on it; the lost commands are published there',
    look: async (scene) => {
      await scene.doctorFinds('commands deleted', 'PaymentsLaneStopped', /deleted by retention/);
      const TOPIC = scene.stack.topics.commands['transfer-in'];
      await scene.paste('commands deleted', 'offset-reset', 'kafka-configs.sh', { TOPIC });
    },
    act: async (scene) => {
      const { KAFKA_GROUP_ID: group = '', TOPIC_PREFIX: prefix = '' } = scene.stack.environment;
      const moved = {
        TOPIC_PREFIX: `${prefix}${NEW_PREFIX_ENDING}`,
        KAFKA_GROUP_ID: `${group}${NEW_PREFIX_ENDING}`,
      };
      const copied = (beginning: string, words = {}) =>
        scene.paste('commands deleted', 'new-cluster', beginning, words, moved);
      // With one broker.
      await copied('cli topics create', { '3': '1' });
      for (const beginning of ['cli schemas register', 'cli topics check', 'cli schemas check'])
        await copied(beginning);
      await scene.slots.stop(...USUAL_SLOTS);
      await scene.slots.start(USUAL_SLOTS, moved);
      for (const key of keysOfLane('deleted', POLLING_LANE, DELETED_COMMANDS)) {
        const fields = JSON.stringify({ ...transferInOf(key), amount: 100 });
        await scene.shell(`cli publish transfer-in --key ${key} --value '${fields}' --await`, moved);
      }
    },
  },
];
