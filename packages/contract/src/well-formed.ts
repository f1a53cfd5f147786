/**
 * Half of a surrogate pair has no UTF-8. What the service sent of it is written as U+FFFD, for strict readers would not get
 * past a record that has one; a command that has one is INVALID, for that would be another text.
 */
export function wellFormed(value: unknown): unknown {
  // Nearly every record is, and a copy costs more than to look.
  return isWellFormed(value) ? value : mended(value);
}

/** @returns the paths of all texts that are ill-formed, or named so */
export function illFormedPaths(value: unknown, path: readonly string[] = []): string[] {
  if (typeof value === 'string') return value.isWellFormed() ? [] : [path.join('.')];
  if (Array.isArray(value)) return value.flatMap((part, index) => illFormedPaths(part, [...path, String(index)]));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, part]) => {
    const partPath = [...path, name];
    return name.isWellFormed() ? illFormedPaths(part, partPath) : [partPath.join('.')];
  });
}

export function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (Array.isArray(value)) return value.every(isWellFormed);
  if (!isRecord(value)) return true;
  // No list of names is made: this looks at all that is written.
  for (const name in value) if (!name.isWellFormed() || !isWellFormed(value[name])) return false;
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
