/** The Kafka clients that all lanes of a process share: settings of the consumers, the admin client, and the committer. */
import type { Logger } from 'pino';
import type { Clock } from 'payment-processor-contract/clock';
import type { Config } from 'payment-processor-contract/config';
import type { MemberOptions } from '../consumers/group-member.ts';
import { TopicOffsets } from '../consumers/topic-offsets.ts';
import { createKafka, LANE_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { withoutRepeats, type KafkaLog } from 'payment-processor-contract/kafka/kafka-log';
import { TransactionalProducer } from '../producers/transactional-producer.ts';
import { Committer } from './commits/committer.ts';
import type { LaneSettings } from './lane-settings.ts';

export interface LaneClients {
  readonly consumer: Omit<MemberOptions, 'clientId' | 'topics' | 'address' | 'standing' | 'handlers'>;
  readonly offsets: TopicOffsets;
  readonly committer: Committer;
}

/** @param clientId client id of the process, the prefix of its clients' ids */
export function laneClients(
  config: Config,
  { laneCount, sessionTimeoutMs, topics }: LaneSettings,
  { clientId, clock, log }: { clientId: string; clock: Clock; log: Logger },
): LaneClients {
  const groupId = config.KAFKA_GROUP_ID;
  const kafkaLog: KafkaLog = withoutRepeats(
    ({ level, message, fields }) => log[level]({ event: 'kafka-client', ...fields }, message),
    () => clock.monotonicMs(),
  );
  return {
    consumer: {
      settings: config,
      groupId,
      laneCount,
      sessionTimeoutMs,
      heartbeatIntervalMs: config.KAFKA_HEARTBEAT_INTERVAL_MS,
      clock,
      log: kafkaLog,
    },
    offsets: new TopicOffsets(config, { groupId, clientId: `${clientId}-offsets`, clock, log: kafkaLog }),
    committer: new Committer({
      groupId,
      makeProducer: (transactionalId) =>
        new TransactionalProducer(
          createKafka(config, `${clientId}-ledger-writer`, {
            retry: LANE_RETRY,
            // Retries are normal in a transaction. When one fails, its lanes are lost, and each logs that.
            log: ({ message, fields }) => log.debug({ event: 'kafka-client', ...fields }, message),
          }),
          { transactionalId, compressedTopics: new Set([topics.ledger, topics.observations]) },
        ),
      clock,
    }),
  };
}
