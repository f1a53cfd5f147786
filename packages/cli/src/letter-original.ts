/**
 * The message of a dead letter. One that was too large to be copied was buried by reference: the letter has the first
 * bytes of its value alone, and tells its length and SHA-256, by which the message is known again at its first place.
 */
import { createHash } from 'node:crypto';
import { firstRecordsFrom, type RawRecord } from 'payment-processor-client/internal/kafka/record-at';
import { partitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import type { CliKafka } from './context.ts';
import { originalHeaders, summaryOfRaw } from './dead-letter.ts';
import { CliFailure } from './exit-codes.ts';

const BY_REFERENCE = 'dlq-by-reference';
const VALUE_BYTES = 'dlq-value-bytes';
const VALUE_SHA256 = 'dlq-value-sha256';

/**
 * @returns the letter with its message whole
 * @throws CliFailure when the message is not there any more, or is not the one that was buried
 */
export async function wholeLetter(kafka: CliKafka, groupPrefix: string, letter: RawRecord): Promise<RawRecord> {
  if (headerOf(letter, BY_REFERENCE) !== 'true') return letter;
  const { source } = summaryOfRaw(letter);
  const place = `${source.topic ?? '?'}, partition ${source.partition ?? '?'}, offset ${source.offset ?? '?'}`;
  const refused = (why: string): CliFailure =>
    new CliFailure(
      'refused',
      `the dead letter has only the beginning of its message, whose original was at ${place}: ${why}; nothing was sent`,
    );
  const original = await readAt(kafka, groupPrefix, source).catch((error: unknown) => {
    throw refused(`it cannot be read there (${error instanceof Error ? error.message : String(error)})`);
  });
  if (original === null)
    throw refused('it is not there any more, or in a batch that cannot be read; its publisher must send it again');
  const isSame =
    String(original.value?.length ?? 0) === headerOf(letter, VALUE_BYTES) &&
    sha256Of(original.value) === headerOf(letter, VALUE_SHA256);
  if (!isSame) throw refused('what is there has another length or SHA-256 than was buried');
  const ownHeaders = Object.entries(letter.headers).filter(([name]) => name.startsWith('dlq-'));
  const headers = { ...originalHeaders(original), ...Object.fromEntries(ownHeaders) };
  return { ...letter, key: original.key, value: original.value, headers };
}

async function readAt(
  kafka: CliKafka,
  groupPrefix: string,
  source: { topic: string | null; partition: string | null; offset: string | null },
): Promise<RawRecord | null> {
  const { topic } = source;
  const partition = Number(source.partition ?? NaN);
  if (topic === null || !Number.isSafeInteger(partition) || !/^\d{1,18}$/.test(source.offset ?? '')) return null;
  const offset = BigInt(source.offset ?? '');
  const bounds = await withAdmin(kafka, async (admin) => {
    if (!(await admin.listTopics()).includes(topic)) return undefined;
    return (await partitionOffsets(admin, topic)).get(partition);
  });
  if (bounds === undefined || offset < bounds.low) return null;
  const places = [{ topic, partition, offset, endOffset: bounds.high }];
  const [record] = (await firstRecordsFrom(kafka, groupPrefix, places)).values();
  return record?.offset === offset ? record : null;
}

function headerOf(letter: RawRecord, name: string): string | null {
  return letter.headers[name]?.[0]?.toString() ?? null;
}

/** In hex. */
function sha256Of(value: Buffer | null): string {
  return createHash('sha256')
    .update(value ?? '')
    .digest('hex');
}
