/** A record as raw bytes. */
export interface RawRecord {
  topic: string;
  partition: number;
  offset: bigint;
  timestampMs: number;
  key: Buffer | null;
  value: Buffer | null;
  /** Each header with all of its values. */
  headers: Readonly<Record<string, readonly Buffer[]>>;
}

export function placeName({ topic, partition }: { topic: string; partition: number }): string {
  return `${topic}/${partition}`;
}

/** A message as raw bytes, with its place. */
export function rawRecordOf(
  topic: string,
  partition: number,
  message: { offset: string; timestamp: string; key: Buffer | null; value: Buffer | null; headers?: object },
): RawRecord {
  const { headers = {}, key, offset, timestamp, value } = message;
  const place = { topic, partition, offset: BigInt(offset), timestampMs: Number(timestamp) };
  return { ...place, key, value, headers: headersOf(headers) };
}

/**
 * A header without a value becomes an empty one. A header with the name of a built-in member may have a value of any
 * type.
 */
function headersOf(given: object): Record<string, Buffer[]> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]: [string, unknown]) => {
      const values: unknown[] = Array.isArray(value) ? value : [value];
      return [name, values.flatMap(bytesOf)];
    }),
  );
}

function bytesOf(value: unknown): Buffer[] {
  if (Buffer.isBuffer(value)) return [value];
  if (value === null) return [Buffer.alloc(0)];
  return typeof value === 'string' ? [Buffer.from(value)] : [];
}
