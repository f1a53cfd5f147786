/** Half of a surrogate pair has no UTF-8: strict readers would not get past a record that has one. */
export function wellFormed(value: unknown): unknown {
  // Nearly every record is, and a copy costs more than to look.
  return isWellFormed(value) ? value : mended(value);
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (Array.isArray(value)) return value.every(isWellFormed);
  if (!isRecord(value)) return true;
  for (const name of Object.keys(value)) if (!isWellFormed(value[name])) return false;
  return true;
}

function mended(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(mended);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, mended(part)]));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Buffer.isBuffer(value);
}
