/** Kafka's own `kafka-consumer-groups --describe` of a group. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { kafkaToolsJava } from 'payment-processor-local-kafka/kafka-tools';

/** Starting a JVM on a busy machine, plus a broker's answer. */
const RUN_MS_MAX = 60_000;

export interface DescribedPartition {
  readonly topic: string;
  readonly partition: number;
  /** Null: the group has committed none. */
  readonly committedOffset: bigint | null;
  readonly endOffset: bigint;
  /** As printed; null where it prints none, without a committed offset. */
  readonly lag: bigint | null;
}

/** @throws Error with the tool's output if it fails */
export async function describeGroup(
  brokers: readonly string[],
  groupId: string,
  onProgress: (line: string) => void,
): Promise<DescribedPartition[]> {
  const { flags, java } = await kafkaToolsJava(onProgress);
  const { stdout } = await promisify(execFile)(
    java,
    [
      ...flags,
      'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand',
      ...['--bootstrap-server', brokers.join(','), '--describe', '--group', groupId],
    ],
    { timeout: RUN_MS_MAX },
  );
  return describedPartitions(stdout);
}

/** Parses the table; pure. */
export function describedPartitions(text: string): DescribedPartition[] {
  const lines = text.split('\n').map((line) => line.trim().split(/\s+/));
  const heading = lines.find((cells) => cells.includes('CURRENT-OFFSET'));
  if (heading === undefined) throw new Error(`not a description of a group: ${text}`);
  const cellOf = (cells: readonly string[], name: string): string => cells[heading.indexOf(name)] ?? '';
  const offset = (cell: string): bigint | null => (cell === '-' ? null : BigInt(cell));
  return lines
    .slice(lines.indexOf(heading) + 1)
    .filter((cells) => cells.length >= heading.length - 1)
    .map((cells) => ({
      topic: cellOf(cells, 'TOPIC'),
      partition: Number(cellOf(cells, 'PARTITION')),
      committedOffset: offset(cellOf(cells, 'CURRENT-OFFSET')),
      endOffset: BigInt(cellOf(cells, 'LOG-END-OFFSET')),
      lag: offset(cellOf(cells, 'LAG')),
    }));
}
