/**
 * Notes on dead letters that somebody handled: records of the letter's own partition, written by the tools. A letter without
 * one is open.
 */

/** `dlq-reason` of a note; no dead letter has it, for the processor sets that header itself. */
export const HANDLED = { redriven: 'REDRIVEN', acknowledged: 'ACKNOWLEDGED' } as const;

export const NOTE_HEADERS = {
  partition: 'dlq-redriven-partition',
  offset: 'dlq-redriven-offset',
  key: 'dlq-redriven-key',
  operator: 'dlq-redriven-by',
  id: 'dlq-redriven-id',
  because: 'dlq-acknowledged-because',
} as const;

/** @returns the offset of the letter that the record is a note on; null: it is a letter */
export function notedOffset(header: (name: string) => string | undefined): bigint | null {
  const offset = header(NOTE_HEADERS.offset) ?? '';
  const isNote = Object.values<string>(HANDLED).includes(header('dlq-reason') ?? '');
  return isNote && /^\d{1,18}$/.test(offset) ? BigInt(offset) : null;
}
