/**
 * Notes on dead letters that somebody handled. The tools write them as records to the letter's own partition. A letter
 * without a note is open, unless its reason is REFUSED_DECISION: then it is itself the answer.
 */

/** `dlq-reason` of a note; no dead letter has it, because the processor sets that header itself. */
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
